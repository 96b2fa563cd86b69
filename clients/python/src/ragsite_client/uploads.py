"""Files of a folder in batches, and forms that report how much of them was sent."""

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

# Files and bytes of one form. The server accepts 1,000 files and 1 GiB, unless its operator changed it.
MAX_FILES, MAX_BYTES = 200, 64 * 1024 * 1024

# Called with the number of bytes that were sent since the last call.
OnProgress = Callable[[int], None]


class _CountedFile:
    """An open file that reports what is read of it."""

    def __init__(self, file: BinaryIO, on_progress: OnProgress) -> None:
        self._file, self._on_progress = file, on_progress

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(size)
        self._on_progress(len(content))
        return content

    def __iter__(self) -> Iterator[bytes]:
        while content := self.read(64 * 1024):
            yield content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._on_progress(-self._file.tell())  # sent again from the beginning
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()


def find_files(folder: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, without hidden ones, in the order of their paths."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def set_empty_files_aside(files: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Return the files with content, and the empty ones: the server refuses a whole form because of one of them."""
    sent: list[Path] = []
    empty: list[Path] = []
    for file in files:
        (sent if file.stat().st_size else empty).append(file)
    return sent, empty


def batches(files: Iterable[Path]) -> Iterator[list[Path]]:
    """Divide files into forms of at most MAX_FILES files and, unless one file is larger, MAX_BYTES bytes."""
    batch: list[Path] = []
    size = 0
    for file in files:
        bytes_of_file = file.stat().st_size
        if batch and (len(batch) == MAX_FILES or size + bytes_of_file > MAX_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += bytes_of_file
    if batch:
        yield batch


@contextlib.contextmanager
def form(source: str, files: Sequence[Path], folder: Path | None, on_progress: OnProgress) -> Iterator[dict[str, Any]]:
    """Open the files, and yield the arguments of a request that uploads them.

    Args:
        source: The id or slug of the data source.
        files: The files.
        folder: The paths of the documents are relative to it; None for the names of the files.
        on_progress: Called while the files are sent.
    """
    paths = [file.relative_to(folder).as_posix() if folder else file.name for file in files]
    with contextlib.ExitStack() as stack:
        opened = [_CountedFile(stack.enter_context(file.open("rb")), on_progress) for file in files]
        yield {
            "data": {"dataSourceId": source, "documents": json.dumps([{"path": path} for path in paths])},
            "files": [("files", (file.name, content)) for file, content in zip(files, opened, strict=True)],
        }
