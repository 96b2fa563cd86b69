"""A file system of fsspec that the operator has set up, such as SFTP, Google Cloud Storage or SMB.

The operator names the address and its options, with the credentials: organisations choose a folder in it only. The
protocol's package must be installed besides fsspec.
"""

import contextlib
import stat
from collections.abc import Iterator, Mapping
from typing import IO

import fsspec

from . import folder_walk
from .base import ItemFailed, ItemGone, ListingFailed, OpenedItem, Page

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
    """Reads the files below a folder of a file system."""

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
        with _translated_errors():
            # No shared instance, which would keep listings.
            self._files, root = fsspec.core.url_to_fs(
                url, **options, skip_instance_cache=True, use_listings_cache=False
            )
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
        full_path = f"{self._root}/{path}"
        try:
            with _translated_errors():
                file = self._files.open(full_path, "rb")
        except ListingFailed as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise ItemGone from error
            raise ItemFailed(str(error), code="UNREACHABLE", is_location_down=True) from error
        with file:
            yield OpenedItem(_read(file), path.rsplit("/", 1)[-1])

    def _refuse_link(self, path: str) -> None:
        with _translated_errors():
            info = self._files.info(path)
            is_link = info.get("type") == "link" or info.get("islink") or self._is_link_of_sftp(path)
        if is_link:
            raise ListingFailed("The folder must not be a link.")

    def _is_link_of_sftp(self, path: str) -> bool:
        """Return whether the path is a link on a server of SFTP: there, `info` describes where a link leads to."""
        read_status = getattr(getattr(self._files, "ftp", None), "lstat", None)
        return read_status is not None and stat.S_ISLNK(read_status(path).st_mode)

    def _list_folder(self, parts: tuple[str, ...]) -> list[folder_walk.Entry]:
        folder = "/".join([self._root, *parts])
        with _translated_errors():
            entries = self._files.ls(folder, detail=True)
        # Stores without folders list the folder's own marker as well.
        return [_build_entry(entry) for entry in entries if _name(entry) and entry["name"].rstrip("/") != folder]


def _name(entry: Mapping[str, object]) -> str:
    return str(entry["name"]).rstrip("/").rsplit("/", 1)[-1]


def _build_entry(entry: Mapping[str, object]) -> folder_walk.Entry:
    if entry.get("type") == "directory":
        return folder_walk.Entry(_name(entry), is_folder=True, version=None)
    if entry.get("type") != "file" or entry.get("islink"):
        return folder_walk.Entry(_name(entry), is_folder=False, version=None)
    known = [str(entry[name]) for name in (*_VERSION_NAMES, *_TIME_NAMES) if entry.get(name)]
    # Without any, the content is read each time and compared by its hash.
    version = "-".join([str(entry.get("size", "")), *known]) if known else ""
    return folder_walk.Entry(_name(entry), is_folder=False, version=version)


def _read(file: IO[bytes]) -> Iterator[bytes]:
    try:
        with _translated_errors():
            while part := file.read(READ_BYTES):
                yield part
    except ListingFailed as error:
        raise ItemFailed(str(error), code="UNREACHABLE", is_location_down=True) from error


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    """Turn the exceptions of file systems, which have no common class, into ListingFailed without their texts."""
    try:
        yield
    except (ItemFailed, ItemGone, ListingFailed, GeneratorExit):
        raise
    except Exception as error:
        raise ListingFailed(f"The file system does not answer: {type(error).__name__}.") from error
