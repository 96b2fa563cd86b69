"""Walks trees of folders: in the order of their names, so that a listing can continue after any item."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rag.models.content.documents import MAX_PATH_BYTES

from .base import ListedItem, ListingFailed, Page

MAX_PAGE_ITEMS = 500
_MAX_DEPTH = 50


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a folder. `version` is None for what is neither a file nor a folder, such as a link."""

    name: str
    is_folder: bool
    version: str | None


ListFolder = Callable[[tuple[str, ...]], Iterable[Entry]]


def list_pages(list_folder: ListFolder, cursor: Any) -> Iterator[Page]:
    """Walk the tree, with the path of the last stored item as the cursor.

    Args:
        list_folder: Returns the entries of a folder, whose parts it gets. It raises ListingFailed if it cannot.
        cursor: The path after which to continue; None to begin.
    """
    items: list[ListedItem] = []
    skipped = 0
    for parts, version in _walk(list_folder, (), tuple(cursor.split("/")) if cursor else ()):
        if version is None or not is_below(parts) or not is_storable("/".join(parts)):
            skipped += 1
        else:
            items.append(ListedItem("/".join(parts), version))
        if len(items) == MAX_PAGE_ITEMS:
            yield Page(items, items[-1].path, is_last=False, skipped=skipped)
            items, skipped = [], 0
    yield Page(items, items[-1].path if items else cursor, is_last=True, skipped=skipped)


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
) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the path and the version of each file after `after`, in the order of the paths.

    Paths are tuples of the names of folders and of the file. Names that begin with a dot are hidden.
    """
    if len(folder) > _MAX_DEPTH:
        raise ListingFailed(f"There are more than {_MAX_DEPTH} folders within each other.")
    for entry in sorted(list_folder(folder), key=lambda entry: entry.name):
        parts = (*folder, entry.name)
        if entry.name.startswith("."):
            continue
        if entry.is_folder:
            if parts >= after[: len(parts)]:  # otherwise all of its files come before `after`
                yield from _walk(list_folder, parts, after if parts == after[: len(parts)] else ())
        elif parts > after:
            yield parts, entry.version
