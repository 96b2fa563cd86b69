"""Files in Django's storage, a folder or a bucket: written in pieces, counted and hashed on the way; read by a path.

Whatever a storage raises leaves here as StorageFailed.
"""

import contextlib
import hashlib
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage

from rag.errors import DocumentTooLarge, StorageFailed
from rag.models import Original
from rag.models.content.originals import place

PIECE = 256 * 1024
# What the libraries of S3-compatible storages are called: their errors have no common class.
_BUCKET_LIBRARIES = ("botocore.", "boto3.", "s3transfer.", "urllib3.")
_FORGOTTEN = 24 * 3600


@dataclass(frozen=True, slots=True)
class Written:
    size: int
    sha256: str


def write(name: str, content: IO[bytes], *, most: int) -> Written:
    """Store the content under this name, which must be free.

    Raises DocumentTooLarge beyond `most` bytes and StorageFailed; then a part of it may be stored.
    """
    counted = _Counted(content, most)
    with _translated():
        stored = default_storage.save(name, counted)
    if stored != name:
        raise StorageFailed(f"The storage has something called {name} already.", is_retryable=False)
    return Written(counted.count, counted.sha256.hexdigest())


def remove(name: str) -> None:
    """What is not there is removed already. Raises StorageFailed."""
    with _translated():
        default_storage.delete(name)


def opened(original: Original) -> File:
    """To be read and closed. Raises StorageFailed, also while it is not read yet."""
    with _translated():
        file: File = default_storage.open(place(original))
        file.seek(0)  # a bucket's is fetched only now
        return file


@contextlib.contextmanager
def local_copy(original: Original) -> Iterator[Path]:
    """The file under a path of this machine, only to be read: the storage's own, else a copy that goes with the block.

    Raises StorageFailed; retry is False if the file is not what was stored.
    """
    try:
        path = Path(default_storage.path(place(original)))
    except NotImplementedError:  # a bucket
        with tempfile.NamedTemporaryFile(dir=settings.RAG_TEMP_FOLDER, prefix="copy-") as copy:
            _download(original, copy)
            yield Path(copy.name)
        return
    if not path.is_file():
        raise StorageFailed(_LOST, is_retryable=False)
    yield path


def forget_copies() -> None:
    """Remove the copies, and the folders of readers, that killed processes of this machine left behind a day ago."""
    for path in [*settings.RAG_TEMP_FOLDER.glob("copy-*"), *settings.RAG_TEMP_FOLDER.glob("ragsite-*")]:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime >= time.time() - _FORGOTTEN:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


_LOST = "The stored file is not there any more, or not whole. Send the document again."


def _download(original: Original, copy: IO[bytes]) -> None:
    count, digest = 0, hashlib.sha256()
    with opened(original) as file:
        for piece in file.chunks(PIECE):
            count += len(piece)
            if count > original.size:
                break
            digest.update(piece)
            copy.write(piece)
    copy.flush()
    if count != original.size or digest.hexdigest() != original.sha256:
        raise StorageFailed(_LOST, is_retryable=False)


class _Counted(File):
    """Read once, from where it stands to its end. No seeking: bytes that a storage read twice would count twice."""

    def __init__(self, content: IO[bytes], most: int) -> None:
        super().__init__(content, "content")
        self._content, self._most = content, most
        self.count, self.sha256 = 0, hashlib.sha256()

    def read(self, size: int | None = -1) -> bytes:
        data: bytes = self._content.read(-1 if size is None else size)
        self.count += len(data)
        if self.count > self._most:
            raise DocumentTooLarge(f"A file may have {self._most:,} bytes (RAG_MAX_FILE_BYTES), and this has more.")
        self.sha256.update(data)
        return data

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while data := self.read(chunk_size or PIECE):
            yield data

    def seekable(self) -> bool:
        return False


@contextlib.contextmanager
def _translated() -> Iterator[Any]:
    try:
        yield
    except FileNotFoundError as error:
        raise StorageFailed(_LOST, is_retryable=False) from error
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__.startswith(_BUCKET_LIBRARIES):
            raise StorageFailed("The storage of files does not answer. Try again in a moment.") from error
        raise
