"""Uploaded files: the files of a request share one temporary file, and the size of each is limited."""

import contextlib
import io
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile
from typing import IO, Any, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler
from django.http import HttpRequest
from rest_framework import exceptions, status

# Forms of pages. Everybody may send one: its body is read before the sender is known, for the CSRF token in it.
MAX_FORM_BYTES = 256 * 1024


class PayloadTooLarge(exceptions.APIException):
    """413: the body or a file is too large (RFC 9110, 15.5.14)."""

    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "payload_too_large"


class BoundedBody(io.RawIOBase):
    """A request body of unknown length. Reading beyond the limit raises PayloadTooLarge."""

    def __init__(self, body: IO[bytes], limit: int, setting: str) -> None:
        self._body, self._left, self._limit, self._setting = body, limit, limit, setting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._body.read(len(buffer))
        self._left -= len(data)
        if self._left < 0:
            raise PayloadTooLarge(body_too_large_message(self._limit, self._setting))
        buffer[: len(data)] = data
        return len(data)


class CountedForm:
    """The body of a form, which counts its parts while it is read.

    Django's parser leaves out parts whose names it cannot read, and a file that does not end.
    """

    # The closing delimiter stands here, and rarely anything after it.
    _END_BYTES = 1000

    def __init__(self, body: IO[bytes], boundary: str) -> None:
        self._body, self._delimiter = body, b"--" + boundary.encode()
        self._delimiters, self._overlap, self._end = 0, b"", b""

    def read(self, size: int = -1) -> bytes:
        data = self._body.read(size)
        seen = self._overlap + data
        self._delimiters += seen.count(self._delimiter)
        self._overlap = seen[max(0, len(seen) - len(self._delimiter) + 1) :]
        self._end = (self._end + data)[-self._END_BYTES :]
        return data

    @property
    def is_complete(self) -> bool:
        """Whether the form has its closing delimiter (RFC 2046, 5.1.1)."""
        return self._delimiter + b"--" in self._end

    @property
    def part_count(self) -> int:
        """The number of parts of a complete form."""
        return self._delimiters - 1


def body_too_large_message(limit: int, setting: str, length: int | None = None) -> str:
    """Return the message for a body over the limit. Limit and length are in bytes; `setting` names the limit."""
    beginning = f"The body has {length:,} bytes; at" if length else "At"
    return f"{beginning} most {limit:,} are accepted here ({setting}). Send less data per request."


class _Part:
    """A section of the request's temporary file, readable as a file. Closing it closes the temporary file."""

    def __init__(self, spool: IO[bytes], start: int, size: int) -> None:
        self._spool, self._start, self.size, self._position = spool, start, size, 0

    def read(self, size: int = -1) -> bytes:
        left = self.size - self._position
        self._spool.seek(self._start + self._position)
        data: bytes = self._spool.read(left if size is None or size < 0 else min(size, left))
        self._position += len(data)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = min(max(0, base + offset), self.size)
        return self._position

    def tell(self) -> int:
        return self._position

    @property
    def closed(self) -> bool:
        return bool(self._spool.closed)

    def close(self) -> None:
        self._spool.close()


class SpooledUploadHandler(FileUploadHandler):
    """Writes all files of a request to one temporary file.

    It is in memory up to FILE_UPLOAD_MAX_MEMORY_SIZE and then on disk, without a name, so that nothing remains when the
    process ends unexpectedly.
    """

    def __init__(self, request: HttpRequest | None = None) -> None:
        super().__init__(request)
        # Django closes the uploaded files at the end of the request, and so this one.
        self.file: IO[bytes] = io.BytesIO()
        self._start = self._end = self._completed_files = 0

    def new_file(self, *args: Any, **kwargs: Any) -> None:
        super().new_file(*args, **kwargs)
        self._start = self._end
        if isinstance(self.file, io.BytesIO):
            self.file = SpooledTemporaryFile(  # noqa: SIM115 (closed with the request)
                max_size=settings.FILE_UPLOAD_MAX_MEMORY_SIZE, dir=settings.FILE_UPLOAD_TEMP_DIR
            )

    def receive_data_chunk(self, raw_data: bytes, start: int) -> None:
        limit = settings.RAG_MAX_FILE_BYTES
        if start + len(raw_data) > limit:
            raise PayloadTooLarge(f"{self.file_name} has more than {limit:,} bytes (RAG_MAX_FILE_BYTES).")
        self.file.write(raw_data)
        self._end += len(raw_data)

    def file_complete(self, file_size: int) -> "UploadedFile[bytes]":
        self._completed_files += 1
        part = cast("IO[bytes]", _Part(self.file, self._start, file_size))
        return UploadedFile(part, self.file_name, self.content_type, file_size, self.charset, self.content_type_extra)

    def upload_interrupted(self) -> None:
        self._end = self._start
        self.file.seek(self._end)

    def upload_complete(self) -> None:
        if not self._completed_files:
            self.file.close()

    @contextlib.contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Close the temporary file if the block, which parses a form, fails."""
        try:
            yield
        except BaseException:
            self.file.close()
            raise
