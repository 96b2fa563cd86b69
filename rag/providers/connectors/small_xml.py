"""Checks XML of foreign servers before it is parsed: each element and attribute needs a hundred bytes of memory."""

from .base import ListingFailed

# libxml2 knows many encodings, in which the signs that are counted have other bytes. Parsers use this one.
ENCODING = "utf-8"


def require_small(content: bytes, *, max_elements: int) -> None:
    """Check how many elements and attributes there are at most, with comments and texts that have such signs.

    Raises:
        ListingFailed: If there are too many.
    """
    if content.count(b"<") > 2 * max_elements or content.count(b"=") > 2 * max_elements:
        raise ListingFailed("The listing has too many elements.")
