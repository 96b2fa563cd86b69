"""A folder on the server, below a folder that the operator allows. Links are not followed."""

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

from . import folder_walk
from .base import ItemFailed, ItemGone, ListingFailed, OpenedItem, Page
from .bounded_calls import BoundedCalls

READ_BYTES, _ENTRIES_PER_CALL = 256 * 1024, 1_000
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK: opening a pipe does not wait for its other end.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_folder(location: str, allowed: Sequence[str]) -> Path | None:
    """Return the folder without links in its path; None if it is not below an allowed one.

    Args:
        location: An absolute path.
        allowed: The folders that the operator allows.
    """
    located = _locate(location, allowed)
    return located and located[0].joinpath(*located[1])


def _locate(location: str, allowed: Sequence[str]) -> tuple[Path, tuple[str, ...]] | None:
    """Return the allowed folder that the location is below, and the way from there, both without links."""
    if "\0" in location or not os.path.isabs(location):
        return None
    folder = Path(os.path.realpath(location))
    for root in (Path(os.path.realpath(root)) for root in allowed if os.path.isabs(root)):
        if folder.is_relative_to(root):
            return root, folder.relative_to(root).parts
    return None


class FolderConnector:
    """Reads the files below a folder.

    Every part of a path below the folder that the operator allows is opened by itself, relative to the one before and
    without following links. So a folder that is exchanged for a link meanwhile leads nowhere.

    Each call of the operating system ends after TIMEOUT_SECONDS: the folder may be that of a server that is down. An
    abandoned call still uses its folder or file, which stays open then.
    """

    def __init__(self, location: str, *, allowed: Sequence[str]) -> None:
        self._location, self._allowed = location, allowed
        above = [root for root in allowed if Path(location).is_relative_to(root)]
        self._calls = BoundedCalls(f"folder {max(above, key=len, default=location)}")

    def list_pages(self, cursor: object) -> Iterator[Page]:
        """List all files, one folder after the other.

        Raises:
            ListingFailed: If a folder cannot be listed.
        """
        return folder_walk.list_pages(self._list_folder, cursor)

    def _list_folder(self, parts: tuple[str, ...]) -> list[folder_walk.Entry]:
        try:
            descriptor = self._calls.call(lambda: self._open_folder(parts))
            try:
                scanned = iter(self._calls.call(lambda: _scan(descriptor)))
                entries = list[folder_walk.Entry]()
                while some := list(itertools.islice(scanned, _ENTRIES_PER_CALL)):
                    entries += self._calls.call(partial(_build_entries, some))
                return entries
            finally:
                self._close(lambda: os.close(descriptor))
        except OSError as error:
            name = "/".join(parts).encode(errors="replace").decode() or "The folder"
            raise ListingFailed(f"{name} cannot be read: {os.strerror(error.errno or 0)}.") from error

    @contextlib.contextmanager
    def open(self, path: str, *, validators: Mapping[str, str]) -> Iterator[OpenedItem]:
        """Open a file, without following links.

        Raises:
            ItemGone: If it does not exist any more, or is no file.
            ItemFailed: If it cannot be opened.
            ListingFailed: If the operator does not allow the folder, or it does not answer.
        """
        # A path may come from another location, if the connection was changed since it was listed.
        if not folder_walk.is_below(path.split("/")):
            raise ItemGone
        try:
            file = self._calls.call(lambda: self._open_file(path))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ItemGone from error
        except OSError as error:
            raise ItemFailed(f"The file cannot be opened: {os.strerror(error.errno or 0)}.") from error
        if file is None:
            raise ItemGone
        try:
            yield OpenedItem(self._read(file), path.rsplit("/", 1)[-1])
        finally:
            self._close(file.close)

    def _read(self, file: IO[bytes]) -> Iterator[bytes]:
        try:
            while part := self._calls.call(lambda: file.read(READ_BYTES)):
                yield part
        except OSError as error:
            raise ItemFailed(f"The file cannot be read: {os.strerror(error.errno or 0)}.") from error

    def _close(self, close: Callable[[], None]) -> None:
        with contextlib.suppress(ListingFailed):
            self._calls.call(close)

    def _open_file(self, path: str) -> IO[bytes] | None:
        """Return a file; None if it is none, such as a pipe."""
        *folder, name = path.split("/")
        descriptor = self._open_folder(folder)
        try:
            file = os.fdopen(os.open(name, _FILE_FLAGS, dir_fd=descriptor), "rb")
        finally:
            os.close(descriptor)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
        return None

    def _open_folder(self, parts: Sequence[str]) -> int:
        """Return the descriptor of a folder."""
        located = _locate(self._location, self._allowed)
        if located is None:
            raise ListingFailed("The operator does not allow this folder (RAG_SYNC_FOLDERS).")
        root, way = located
        descriptor = os.open(root, _FOLDER_FLAGS)
        for part in (*way, *parts):
            try:
                child = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
            finally:
                os.close(descriptor)
            descriptor = child
        return descriptor


def _scan(descriptor: int) -> list[os.DirEntry[str]]:
    with os.scandir(descriptor) as entries:
        return list(entries)


def _build_entries(entries: Sequence[os.DirEntry[str]]) -> list[folder_walk.Entry]:
    return [_build_entry(entry) for entry in entries]


def _build_entry(entry: os.DirEntry[str]) -> folder_walk.Entry:
    if entry.is_dir(follow_symlinks=False):
        return folder_walk.Entry(entry.name, is_folder=True, version=None)
    if not entry.is_file(follow_symlinks=False):
        return folder_walk.Entry(entry.name, is_folder=False, version=None)
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:  # deleted meanwhile
        return folder_walk.Entry(entry.name, is_folder=False, version=None)
    # The time of the last change of the entry finds a file whose old time of modification was restored.
    version = f"{status.st_size}-{status.st_mtime_ns}-{status.st_ctime_ns}"
    return folder_walk.Entry(entry.name, is_folder=False, version=version)
