"""Says what of a document could not be read, although the rest of it was ingested."""

from collections.abc import Sequence

from django.conf import settings

from rag.types import ParsedDocument

# The code of the warning, stored where an error would be.
PAGES_NOT_READ = "PAGES_NOT_READ"
_MAX_LISTED_RANGES = 10


def describe_unread_pages(parsed: ParsedDocument) -> str:
    """Return which pages have no text and which setting limits them; empty without such pages."""
    if not parsed.unread_pages:
        return ""
    return (
        f"These pages are pictures and have no text, so they cannot be searched: {_ranges(parsed.unread_pages)}. "
        f"At most {settings.RAG_OCR_MAX_PAGES} pages of a file are recognised (RAG_OCR_MAX_PAGES). Send the file in "
        "parts or with a text layer, or have the limit raised and parse the document again."
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges, such as `3–5, 9`. If there are many ranges, only the first ones are named."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    listed = [f"{first}–{last}" if last > first else str(first) for first, last in ranges[:_MAX_LISTED_RANGES]]
    return ", ".join(listed) + (", …" if len(ranges) > _MAX_LISTED_RANGES else "")
