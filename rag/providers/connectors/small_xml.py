"""Checks XML of foreign servers before it is parsed: each element and attribute needs a hundred bytes of memory."""

from .base import ListingFailed

# libxml2 reads many encodings, in some of which `<` and `=` are other bytes than those that are counted here. Parsers
# are made to use this one.
ENCODING = "utf-8"


def require_small(content: bytes, *, max_elements: int) -> None:
    """Check that the XML has few elements and attributes. Their characters in comments and texts are counted too.

    Raises:
        ListingFailed: If there are too many.
    """
    if content.count(b"<") > 2 * max_elements or content.count(b"=") > 2 * max_elements:
        raise ListingFailed("The listing has too many elements.")
