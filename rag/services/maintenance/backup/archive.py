"""The archive of a backup: a tar file with tables, original files and, as its last files, a manifest and its hash.

An archive without a manifest is incomplete. Tables are compressed parts `database/TABLE/NUMBER`; originals have the
path that they have in the storage.
"""

import hashlib
import io
import itertools
import json
import os
import re
import tarfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, Self

from .manifest import FileTotals, Manifest, TableContent, is_manifest

FORMAT = 1
_MANIFEST, _MANIFEST_HASH = "manifest.json", "manifest.sha256"
_PART_BYTES = 16 * 1024 * 1024
_READ_BYTES = 256 * 1024
_ORIGINAL = re.compile(r"originals/[0-9a-f-]{36}/[0-9a-f-]{36}")
_MAX_MANIFEST_BYTES = 16 * 1024 * 1024
_ORDINARY = (tarfile.REGTYPE, tarfile.AREGTYPE)
_TYPE_OFFSET = 156


class InvalidArchive(Exception):
    """The file is incomplete, damaged or not a backup of ragsite. The message says which."""


class HashingReader:
    """Reads a stream, and hashes and counts what was read."""

    def __init__(self, content: IO[bytes]) -> None:
        self._content = content
        self._sha256 = hashlib.sha256()
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, or all with -1, as files do."""
        data = self._content.read(size)
        self._sha256.update(data)
        self.size += len(data)
        return data

    @property
    def sha256(self) -> str:
        """The hash of what was read so far, in hexadecimal."""
        return self._sha256.hexdigest()


class _PlainEntry(tarfile.TarInfo):
    """An entry with an ordinary header.

    Longer names and sizes come in further headers before it, of any number and size: tarfile reads each of them into
    memory, and calls itself for the next one. Ours have none.
    """

    @classmethod
    def fromtarfile(cls, tar: tarfile.TarFile) -> Self:
        file: Any = tar.fileobj
        header = file.read(tarfile.BLOCKSIZE)
        file.seek(-len(header), os.SEEK_CUR)
        if header[_TYPE_OFFSET : _TYPE_OFFSET + 1] not in (*_ORDINARY, b""):
            raise InvalidArchive("An entry is not an ordinary file.")
        return super().fromtarfile(tar)


class ArchiveWriter:
    """Writes an archive that only its owner may read. The file gets its final name when it is complete."""

    def __init__(self, path: Path) -> None:
        self._path, self._partial = path, path.with_name(f"{path.name}.partial")
        descriptor = os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(descriptor, "wb")
        self._tar = tarfile.TarFile(fileobj=self._file, mode="w")

    def add_table(self, name: str, rows: Iterable[bytes]) -> TableContent:
        """Add a table, and return its size and hash for the manifest."""
        compressor, buffer, digest, count, size = zlib.compressobj(1), bytearray(), hashlib.sha256(), 0, 0
        for part in rows:
            buffer += compressor.compress(part)
            while len(buffer) >= _PART_BYTES:
                count, size = count + 1, size + _PART_BYTES
                digest.update(buffer[:_PART_BYTES])
                self._add(f"database/{name}/{count:06}", bytes(buffer[:_PART_BYTES]))
                del buffer[:_PART_BYTES]
        buffer += compressor.flush()
        digest.update(buffer)
        self._add(f"database/{name}/{count + 1:06}", bytes(buffer))
        return {"bytes": size + len(buffer), "sha256": digest.hexdigest()}

    def add_file(self, name: str, content: IO[bytes], size: int) -> str:
        """Add a file of this size, and return its SHA-256."""
        reader = HashingReader(content)
        entry = tarfile.TarInfo(name)
        entry.size = size
        self._tar.addfile(entry, reader)
        _free_tarfile_memory(self._tar)
        return reader.sha256

    def finish(self, manifest: Manifest) -> None:
        """Add the manifest, wait until everything is on the disk, and give the archive its name."""
        content = json.dumps(manifest, indent=1).encode()
        self._add(_MANIFEST, content)
        self._add(_MANIFEST_HASH, hashlib.sha256(content).hexdigest().encode())
        self._tar.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.rename(self._path)

    def discard(self) -> None:
        """Remove the incomplete archive. Does nothing after `finish`."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _add(self, name: str, content: bytes) -> None:
        self.add_file(name, io.BytesIO(content), len(content))


class ArchiveReader:
    """Reads an archive from its beginning to its end, as often as necessary."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.manifest = self._read_manifest()

    def entries(self) -> Iterator[tuple[str, int, IO[bytes]]]:
        """Yield the name, the size and the content of each table part and original, in their order.

        Raises:
            InvalidArchive: The file ends too early or is not a tar file.
        """
        try:
            with tarfile.open(self._path, "r:", tarinfo=_PlainEntry) as tar:
                while entry := tar.next():
                    _free_tarfile_memory(tar)
                    # Links lead to other entries, and sparse files have sizes that the archive does not have.
                    content = tar.extractfile(entry) if entry.type in _ORDINARY else None
                    if content is None:
                        raise InvalidArchive(f"{entry.name} is not an ordinary file.")
                    yield entry.name, entry.size, content
        except (tarfile.TarError, EOFError, ValueError) as error:  # ValueError: an impossible header
            raise InvalidArchive(f"The archive cannot be read: {error}") from error

    def _read_manifest(self) -> Manifest:
        last = {name: content.read() for name, size, content in self.entries() if _is_manifest(name, size)}
        if set(last) != {_MANIFEST, _MANIFEST_HASH}:
            raise InvalidArchive("The archive has no manifest: it is incomplete, or not a backup of ragsite.")
        if hashlib.sha256(last[_MANIFEST]).hexdigest().encode() != last[_MANIFEST_HASH]:
            raise InvalidArchive("The manifest is damaged.")
        try:
            manifest: object = json.loads(last[_MANIFEST])
        except (ValueError, RecursionError):
            manifest = None
        known = manifest.get("format") if isinstance(manifest, dict) else None
        if isinstance(known, int) and known != FORMAT:
            raise InvalidArchive(f"The archive has the format {known}, this version reads {FORMAT}.")
        if not is_manifest(manifest):
            raise InvalidArchive("The manifest is not one of ragsite.")
        return manifest

    def tables(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the name and the rows of each table. Read the rows before the next table."""
        parts = itertools.takewhile(lambda entry: entry[0].startswith("database/"), self.entries())
        for table, contents in itertools.groupby(parts, key=lambda entry: entry[0].split("/")[1]):
            yield table, _decompress(content for _, _, content in contents)

    def originals(self) -> Iterator[tuple[str, int, IO[bytes]]]:
        """Yield the path, the size and the content of each original file."""
        return (entry for entry in self.entries() if entry[0].startswith("originals/"))

    def verify(self) -> None:
        """Compare sizes and hashes of everything with the manifest.

        Raises:
            InvalidArchive: Something is missing, added or damaged.
        """
        sizes: Counter[str] = Counter()
        digests: defaultdict[str, hashlib._Hash] = defaultdict(hashlib.sha256)
        originals = OriginalsDigest()
        for name, size, content in self.entries():
            if _is_manifest(name, size):
                continue
            kind, _, path = name.partition("/")
            if _ORIGINAL.fullmatch(name):
                reader = HashingReader(content)
                while reader.read(_READ_BYTES):
                    pass
                originals.add(name, reader.size, reader.sha256)
            elif kind == "database":
                table = path.split("/")[0]
                while data := content.read(_READ_BYTES):
                    digests[table].update(data)
                    sizes[table] += len(data)
            else:
                raise InvalidArchive(f"The archive has an unknown file: {name}")
        stored = {name: (sizes[name], digest.hexdigest()) for name, digest in digests.items()}
        expected = {entry["name"]: (entry["bytes"], entry["sha256"]) for entry in self.manifest["tables"]}
        if damaged := sorted(name for name in stored | expected if stored.get(name) != expected.get(name)):
            raise InvalidArchive(f"Damaged or missing tables: {', '.join(damaged)}.")
        files = self.manifest["originals"]
        if originals.summary() != {"count": files["count"], "bytes": files["bytes"], "sha256": files["sha256"]}:
            raise InvalidArchive("The original files differ from those that the backup stored.")


class OriginalsDigest:
    """The number, the size and one hash of all original files, in the order of the archive."""

    def __init__(self) -> None:
        self._count = self._bytes = 0
        self._sha256 = hashlib.sha256()

    def add(self, path: str, size: int, sha256: str) -> None:
        """Add the next file: its path, its bytes and its hash in hexadecimal."""
        self._count += 1
        self._bytes += size
        self._sha256.update(f"{path} {size} {sha256}\n".encode())

    def summary(self) -> FileTotals:
        """Return what the manifest says about the files."""
        return {"count": self._count, "bytes": self._bytes, "sha256": self._sha256.hexdigest()}


def _free_tarfile_memory(tar: tarfile.TarFile) -> None:
    """Forget the entries so far: tarfile would keep an object for each of them."""
    tar.members = []  # type: ignore[attr-defined]  # not in the stubs


def _decompress(contents: Iterable[IO[bytes]]) -> Iterator[bytes]:
    """Yield the rows in pieces of at most _READ_BYTES, though a compressed piece can hold a thousand times as much."""
    decompressor = zlib.decompressobj()
    try:
        for content in contents:
            while data := content.read(_READ_BYTES):
                while data:
                    yield decompressor.decompress(data, _READ_BYTES)
                    data = decompressor.unconsumed_tail
        yield decompressor.flush()
    except zlib.error as error:
        raise InvalidArchive(f"A table cannot be decompressed: {error}") from error


def _is_manifest(name: str, size: int) -> bool:
    return name in (_MANIFEST, _MANIFEST_HASH) and size <= _MAX_MANIFEST_BYTES
