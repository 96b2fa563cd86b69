"""A file system of fsspec that the operator has set up, such as SFTP, Google Cloud Storage or SMB.

The operator names the address and its options, with the credentials: organisations choose a folder in it only. The
protocol's package must be installed besides fsspec.
"""

import contextlib
import functools
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TypeVar

import fsspec

from . import folder_walk
from .base import ItemFailed, ItemGone, ListingFailed, OpenedItem, Page
from .bounded_calls import BoundedCalls
from .http_client import TIMEOUT_SECONDS

Result = TypeVar("Result")

READ_BYTES = 256 * 1024
# They read this machine's files, or addresses other than their own.
_FORBIDDEN_PROTOCOLS = {
    "file",
    "local",
    "github",
    "gist",
    "git",
    "reference",
    "dir",
    "data",
    "simplecache",
    "filecache",
}
# What file systems call a text that changes with the content, the best first.
_VERSION_NAMES = ("ETag", "etag", "md5Hash", "md5", "crc32c", "checksum", "generation")
_TIME_NAMES = ("mtime", "modified", "LastModified", "last_modified", "updated", "modify", "last_write_time", "created")


class FileSystemConnector:
    """Reads the files below a folder of a file system.

    Each call, and all calls that read one file together, end after TIMEOUT_SECONDS.
    """

    def __init__(self, url: str, *, options: Mapping[str, object], folder: str) -> None:
        """Connect to a file system.

        Args:
            url: Its address, such as `sftp://files.example.com/export`.
            options: fsspec's options of the protocol.
            folder: A folder below the address, without `..` and links; empty for all.

        Raises:
            ListingFailed: If the address is not allowed, or the file system does not answer.
        """
        protocol = url.partition("://")[0].lower()
        if "::" in url or "://" not in url or protocol in _FORBIDDEN_PROTOCOLS:
            raise ListingFailed("The operator's address of the file system is not allowed (RAG_SYNC_FILE_SYSTEMS).")
        self._calls = BoundedCalls(url)
        # No shared instance, which would keep listings.
        connect = functools.partial(
            fsspec.core.url_to_fs, url, **options, skip_instance_cache=True, use_listings_cache=False
        )
        self._files, root = self._call(connect)
        parts = [part for part in folder.split("/") if part]
        if not folder_walk.is_below(parts):
            raise ListingFailed("The folder must be below the file system's address.")
        self._root = root.rstrip("/")
        for part in parts:
            self._root = f"{self._root}/{part}"
            self._refuse_link(self._root)

    def list_pages(self, cursor: object) -> Iterator[Page]:
        """List all files, one folder after the other.

        Raises:
            ListingFailed: If a folder cannot be listed.
        """
        return folder_walk.list_pages(self._list_folder, cursor)

    @contextlib.contextmanager
    def open(self, path: str, *, validators: Mapping[str, str]) -> Iterator[OpenedItem]:
        """Open a file.

        Raises:
            ItemGone: If it does not exist any more.
            ItemFailed: If it cannot be opened.
        """
        # A path may come from another location, if the connection was changed since it was listed.
        if not folder_walk.is_below(path.split("/")):
            raise ItemGone
        ends_at = time.monotonic() + TIMEOUT_SECONDS
        try:
            file = self._call(lambda: self._files.open(f"{self._root}/{path}", "rb"), ends_at=ends_at)
        except ListingFailed as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise ItemGone from error
            raise ItemFailed(str(error), code="UNREACHABLE", is_location_down=True) from error
        try:
            yield OpenedItem(self._read(file, ends_at), path.rsplit("/", 1)[-1])
        finally:
            with contextlib.suppress(ListingFailed):
                self._call(file.close)

    def _read(self, file: IO[bytes], ends_at: float) -> Iterator[bytes]:
        try:
            while part := self._call(lambda: file.read(READ_BYTES), ends_at=ends_at):
                yield part
        except ListingFailed as error:
            raise ItemFailed(str(error), code="UNREACHABLE", is_location_down=True) from error

    def _refuse_link(self, path: str) -> None:
        info = self._call(lambda: self._files.info(path))
        if info.get("type") == "link" or info.get("islink") or self._call(lambda: self._is_link_of_sftp(path)):
            raise ListingFailed("The folder must not be a link.")

    def _is_link_of_sftp(self, path: str) -> bool:
        """Return whether the path is a link on a server of SFTP: there, `info` describes where a link leads to."""
        read_status = getattr(getattr(self._files, "ftp", None), "lstat", None)
        return read_status is not None and stat.S_ISLNK(read_status(path).st_mode)

    def _list_folder(self, parts: tuple[str, ...]) -> list[folder_walk.Entry]:
        folder = "/".join([self._root, *parts])
        entries = self._call(lambda: self._files.ls(folder, detail=True))
        # Stores without folders list the folder's own marker as well.
        return [_build_entry(entry) for entry in entries if _name(entry) and entry["name"].rstrip("/") != folder]

    def _call(self, function: Callable[[], Result], *, ends_at: float | None = None) -> Result:
        """Return what a call of the file system returns.

        Its exceptions, which have no common class, become ListingFailed without their texts.
        """
        try:
            return self._calls.call(function, ends_at=ends_at)
        except ListingFailed:
            raise
        except Exception as error:
            raise ListingFailed(f"The file system does not answer: {type(error).__name__}.") from error


def _name(entry: Mapping[str, object]) -> str:
    return str(entry["name"]).rstrip("/").rsplit("/", 1)[-1]


def _build_entry(entry: Mapping[str, object]) -> folder_walk.Entry:
    if entry.get("type") == "directory":
        return folder_walk.Entry(_name(entry), is_folder=True, version=None)
    if entry.get("type") != "file" or entry.get("islink"):
        return folder_walk.Entry(_name(entry), is_folder=False, version=None)
    known = [str(entry[name]) for name in (*_VERSION_NAMES, *_TIME_NAMES) if entry.get(name)]
    version = "-".join([str(entry.get("size", "")), *known]) if known else ""
    # Without one that can be stored, the content is read each time and compared by its hash.
    is_usable = folder_walk.is_storable(version)
    return folder_walk.Entry(_name(entry), is_folder=False, version=version if is_usable else "")
