"""Walks trees of folders: in the order of their names, so that a listing can continue after any item."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from rag.models.content.documents import MAX_PATH_BYTES

from .base import ListedItem, ListingFailed, Page

# A page ends after so many files and folders, or after so long, so that other syncs have their turn: a tree may have
# folders without end and no file.
MAX_PAGE_ENTRIES = 500
_MAX_PAGE_SECONDS = 5.0
_MAX_FOLDERS = 200_000
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder. `version` is None for what is neither a file nor a folder, such as a link."""

    name: str
    is_folder: bool
    version: str | None


ListFolder = Callable[[tuple[str, ...]], Iterable[Entry]]


def list_pages(list_folder: ListFolder, cursor: Any) -> Iterator[Page]:
    """Walk the tree. The cursor has the path of the last file or folder, and the number of folders so far.

    Args:
        list_folder: Returns the entries of a folder, whose parts it gets. It raises ListingFailed if it cannot.
        cursor: Where to continue; None to begin.

    Raises:
        ListingFailed: If a folder cannot be listed, or there are too many.
    """
    after, folders = _read_cursor(cursor)
    items: list[ListedItem] = []
    entries = skipped = 0
    ends_at = time.monotonic() + _MAX_PAGE_SECONDS
    for parts, entry in _walk(list_folder, (), after):
        after, path = parts, "/".join(parts)
        entries += 1
        if entry.is_folder:
            folders += 1
            if folders > _MAX_FOLDERS:
                raise ListingFailed(f"There are more than {_MAX_FOLDERS:,} folders. Choose a narrower location.")
        elif entry.version is None or not is_below(parts) or not is_storable(path):
            skipped += 1
        else:
            items.append(ListedItem(path, entry.version))
        if entries >= MAX_PAGE_ENTRIES or time.monotonic() > ends_at:
            yield Page(items, _build_cursor(after, folders), is_last=False, skipped=skipped)
            items, entries, skipped = [], 0, 0
            ends_at = time.monotonic() + _MAX_PAGE_SECONDS
    yield Page(items, _build_cursor(after, folders), is_last=True, skipped=skipped)


def _build_cursor(after: tuple[str, ...], folders: int) -> dict[str, object]:
    """Return a cursor, with the path encoded: names may have characters that cannot be stored."""
    return {"after": quote("/".join(after), errors="surrogatepass"), "folders": folders}


def _read_cursor(cursor: Any) -> tuple[tuple[str, ...], int]:
    if isinstance(cursor, dict):
        path, folders = unquote(cursor["after"], errors="surrogatepass"), int(cursor["folders"])
    else:  # of an earlier version, which stored the path of the last file
        path, folders = cursor or "", 0
    return tuple(path.split("/")) if path else (), folders


def is_storable(path: str) -> bool:
    """Return whether the path can be the path of a document."""
    try:
        return 0 < len(path.encode()) <= MAX_PATH_BYTES and path.isprintable()
    except UnicodeEncodeError:  # a file name that is not UTF-8
        return False


def is_below(parts: Iterable[str]) -> bool:
    """Return whether these parts of a path lead down only, on servers of every kind: SMB separates with backslashes."""
    return all(part not in ("", ".", "..") and "\\" not in part and part.isprintable() for part in parts)


def _walk(
    list_folder: ListFolder, folder: tuple[str, ...], after: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Yield each file and folder after `after` with its path, in the order of the paths: folders before their content.

    Paths are tuples of the names of folders and of the file. Names that begin with a dot are hidden.
    """
    if len(folder) > _MAX_DEPTH:
        raise ListingFailed(f"There are more than {_MAX_DEPTH} folders within each other.")
    for entry in sorted(list_folder(folder), key=lambda entry: entry.name):
        parts = (*folder, entry.name)
        if entry.name.startswith("."):
            continue
        if parts > after:
            yield parts, entry
        if entry.is_folder and parts >= after[: len(parts)]:  # otherwise all of its files come before `after`
            yield from _walk(list_folder, parts, after if parts == after[: len(parts)] else ())
