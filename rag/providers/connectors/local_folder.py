"""A folder on the server, below a folder that the operator allows. Links are not followed."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from . import folder_walk
from .base import ItemFailed, ItemGone, ListingFailed, OpenedItem, Page

READ_BYTES = 256 * 1024
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
    """

    def __init__(self, location: str, *, allowed: Sequence[str]) -> None:
        self._location, self._allowed = location, allowed

    def list_pages(self, cursor: object) -> Iterator[Page]:
        """List all files, one folder after the other.

        Raises:
            ListingFailed: If a folder cannot be listed.
        """
        return folder_walk.list_pages(self._list_folder, cursor)

    def _list_folder(self, parts: tuple[str, ...]) -> list[folder_walk.Entry]:
        try:
            with self._open_folder(parts) as descriptor, os.scandir(descriptor) as entries:
                return [_build_entry(entry) for entry in entries]
        except OSError as error:
            name = "/".join(parts).encode(errors="replace").decode() or "The folder"
            raise ListingFailed(f"{name} cannot be read: {os.strerror(error.errno or 0)}.") from error

    @contextlib.contextmanager
    def open(self, path: str, *, validators: Mapping[str, str]) -> Iterator[OpenedItem]:
        """Open a file, without following links.

        Raises:
            ItemGone: If it does not exist any more, or is no file.
            ItemFailed: If it cannot be opened.
        """
        # A path may come from another location, if the connection was changed since it was listed.
        if not folder_walk.is_below(path.split("/")):
            raise ItemGone
        *folder, name = path.split("/")
        try:
            with self._open_folder(folder) as descriptor:
                file = os.fdopen(os.open(name, _FILE_FLAGS, dir_fd=descriptor), "rb")
        except (FileNotFoundError, NotADirectoryError) as error:
            raise ItemGone from error
        except OSError as error:
            raise ItemFailed(f"The file cannot be opened: {os.strerror(error.errno or 0)}.") from error
        with file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ItemGone
            yield OpenedItem(_read(file), name)

    @contextlib.contextmanager
    def _open_folder(self, parts: Sequence[str]) -> Iterator[int]:
        located = _locate(self._location, self._allowed)
        if located is None:
            raise ListingFailed("The operator does not allow this folder (RAG_SYNC_FOLDERS).")
        root, way = located
        descriptor = os.open(root, _FOLDER_FLAGS)
        try:
            for part in (*way, *parts):
                child = os.open(part, _FOLDER_FLAGS, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = child
            yield descriptor
        finally:
            os.close(descriptor)


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


def _read(file: IO[bytes]) -> Iterator[bytes]:
    try:
        while part := file.read(READ_BYTES):
            yield part
    except OSError as error:
        raise ItemFailed(f"The file cannot be read: {os.strerror(error.errno or 0)}.") from error
