"""The protocol of connectors, and the values and errors that they exchange with a sync."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol


class ListingFailed(Exception):
    """The location cannot be listed completely. The text says why, for the people who manage the source."""


class ItemFailed(Exception):
    """An item cannot be read. The text says why.

    Attributes:
        code: A stable, machine-readable code.
        is_location_down: Whether other items of the location would fail in the same way now.
    """

    def __init__(self, message: str, *, code: str = "UNREADABLE", is_location_down: bool = False) -> None:
        super().__init__(message)
        self.code, self.is_location_down = code, is_location_down


class ItemGone(Exception):
    """The item was listed and does not exist any more."""


@dataclass(frozen=True, slots=True)
class ListedItem:
    """An item of a listing.

    Attributes:
        path: Its name at the location, which becomes the path of its document.
        version: A text that changes whenever the content does. Empty if the listing has none.
    """

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a listing.

    Attributes:
        items: A bounded number of items.
        cursor: A JSON value with which the listing continues after this page, even in another process.
        is_last: Whether the listing is complete with this page.
        skipped: Items that can be no documents: links, hidden files, names that are too long, pages of other hosts.
    """

    items: list[ListedItem]
    cursor: object
    is_last: bool
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class OpenedItem:
    """The content of an item.

    Attributes:
        parts: The content in parts of a bounded size.
        name: A file name, by whose ending the format is recognised.
        uri: The address that citations link to; may be empty.
        content_type: The MIME type that the location declares; may be empty.
        validators: What `open` gets at the next sync, to ask only for a changed content.
    """

    parts: Iterator[bytes]
    name: str
    uri: str = ""
    content_type: str = ""
    validators: Mapping[str, str] = field(default_factory=dict)


class Connector(Protocol):
    """Reads one synced location. The calls raise only the exceptions of this module."""

    def list_pages(self, cursor: object) -> Iterator[Page]:
        """List all items, in an order that stays the same.

        Args:
            cursor: The cursor of the last page that was stored; None to begin.

        Raises:
            ListingFailed: If a part of the location cannot be listed.
        """
        ...

    def open(self, path: str, *, validators: Mapping[str, str]) -> AbstractContextManager[OpenedItem | None]:
        """Open a listed item; None if its content is still the one that the validators belong to.

        Raises:
            ItemGone: If it does not exist any more.
            ItemFailed: If it cannot be read. Reading its parts may raise it as well.
        """
        ...
