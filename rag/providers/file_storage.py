"""Uploaded files in Django's storage, a folder or a bucket: hashed while they are written, read by a local path.

Small files are in their rows, and are read here, too.

All exceptions of a storage are translated into StorageFailed.
"""

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files.base import ContentFile, File
from django.core.files.storage import default_storage

from rag.errors import DocumentTooLarge, StorageFailed
from rag.models import Original
from rag.models.content.originals import storage_path

READ_BYTES = 256 * 1024
# Only the product's own user reads and writes a file, as STORAGES says.
_PRIVATE = 0o600
# The libraries of S3-compatible storages, whose exceptions have no common class.
_BUCKET_LIBRARIES = ("botocore.", "boto3.", "s3transfer.", "urllib3.")
_MAX_COPY_AGE_SECONDS = 24 * 3600
_LOST = "The stored file is missing or incomplete. Send the document again."


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A written file: its size in bytes and its SHA-256 in hexadecimal."""

    size: int
    sha256: str


def write(name: str, content: IO[bytes], *, max_bytes: int) -> StoredFile:
    """Store the content under this name, which must be free.

    Args:
        name: The name of the file.
        content: The content, which is read from its current position to its end.
        max_bytes: The maximum size of the content.

    Raises:
        DocumentTooLarge: If the content is larger. A part of it may have been stored.
        StorageFailed: If the storage does not answer; a part of the content may have been stored. Or if the name is not
            free; the whole content stays stored under another name.
    """
    reader = _HashingReader(content, max_bytes)
    with _translated_errors():
        stored_name = _save(name, reader)
    if stored_name != name:
        raise StorageFailed(f"The storage has a file named {name} already.", is_retryable=False)
    return StoredFile(reader.count, reader.sha256.hexdigest())


def _save(name: str, reader: "_HashingReader") -> str:
    """Store the content, and return its name in the storage.

    In a folder that exists the file is written here: Django's storage first looks for a free name, and locks the file,
    which takes as long again as writing a small file.
    """
    try:
        descriptor = os.open(default_storage.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    except (NotImplementedError, FileNotFoundError, FileExistsError):  # a bucket, a new folder, a name that is not free
        return default_storage.save(name, reader)
    with open(descriptor, "wb") as file:
        for data in reader.chunks():
            file.write(data)
    return name


def delete(name: str) -> None:
    """Delete a file, or do nothing if it does not exist.

    Raises:
        StorageFailed: If the storage does not answer.
    """
    with _translated_errors():
        default_storage.delete(name)


def has_originals() -> bool:
    """Return whether the storage has an original file.

    Raises:
        StorageFailed: If the storage does not answer.
    """
    with _translated_errors():
        try:
            folders, files = default_storage.listdir("originals")
        except FileNotFoundError:
            return False
    return bool(folders or files)


def open_original(original: Original) -> "File[bytes]":
    """Open a file for reading; the calling code closes it.

    Raises:
        StorageFailed: If the file is missing, or the storage does not answer.
    """
    if original.content is not None:
        return ContentFile(bytes(original.content))
    with _translated_errors():
        file: File[bytes] = default_storage.open(storage_path(original))
        file.seek(0)  # a bucket fetches the file only now
        return file


def _local_path(original: Original) -> Path | None:
    """Return the path of a file in a folder; None for a file in a bucket or in its row."""
    try:
        return None if original.content is not None else Path(default_storage.path(storage_path(original)))
    except NotImplementedError:  # a bucket
        return None


@contextlib.contextmanager
def local_copy(original: Original) -> Iterator[Path]:
    """Yield a local path to read the file from: the storage's own, or a copy that is deleted after the block.

    Raises:
        StorageFailed: If the storage does not answer, or the file differs from what was stored, which is not retryable.
    """
    path = _local_path(original)
    if path is None:
        with tempfile.NamedTemporaryFile(dir=settings.RAG_TEMP_FOLDER, prefix="copy-") as copy:
            _download(original, copy)
            yield Path(copy.name)
        return
    if not path.is_file():
        raise StorageFailed(_LOST, is_retryable=False)
    yield path


def delete_expired_copies() -> None:
    """Delete copies, and folders of parsers, that killed processes of this machine left behind more than a day ago."""
    for path in [*settings.RAG_TEMP_FOLDER.glob("copy-*"), *settings.RAG_TEMP_FOLDER.glob("ragsite-*")]:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime >= time.time() - _MAX_COPY_AGE_SECONDS:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()


def _download(original: Original, copy: IO[bytes]) -> None:
    count, digest = 0, hashlib.sha256()
    with open_original(original) as file:
        for data in file.chunks(READ_BYTES):
            count += len(data)
            if count > original.size:
                break
            digest.update(data)
            copy.write(data)
    copy.flush()
    if count != original.size or digest.hexdigest() != original.sha256:
        raise StorageFailed(_LOST, is_retryable=False)


class _HashingReader(File):  # type: ignore[type-arg]  # not subscriptable at runtime
    """Counts and hashes the bytes that are read. It cannot seek: bytes that are read twice would count twice."""

    def __init__(self, content: IO[bytes], max_bytes: int) -> None:
        super().__init__(content, "content")
        self._content, self._max_bytes = content, max_bytes
        self.count, self.sha256 = 0, hashlib.sha256()

    def read(self, size: int | None = -1) -> bytes:
        data: bytes = self._content.read(-1 if size is None else size)
        self.count += len(data)
        if self.count > self._max_bytes:
            raise DocumentTooLarge(
                f"A file may have {self._max_bytes:,} bytes (RAG_MAX_FILE_BYTES), and this one has more."
            )
        self.sha256.update(data)
        return data

    def chunks(self, chunk_size: int | None = None) -> Iterator[bytes]:
        while data := self.read(chunk_size or READ_BYTES):
            yield data

    def seekable(self) -> bool:
        return False


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise StorageFailed instead of what the storage raises in this block."""
    try:
        yield
    except FileNotFoundError as error:
        raise StorageFailed(_LOST, is_retryable=False) from error
    except Exception as error:
        if isinstance(error, OSError) or type(error).__module__.startswith(_BUCKET_LIBRARIES):
            raise StorageFailed("The file storage does not answer. Try again in a moment.") from error
        raise
