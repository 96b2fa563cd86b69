"""Reads the text of a document in parts, for those who may query its data source."""

import bisect
import uuid
from dataclasses import dataclass

from django.db.models.functions import Length, Substr

from orgs.access.caller import Caller
from rag.errors import UnknownDocument
from rag.models import Action, Chunk, Document
from rag.providers.limits.long_text_limiter import turn_to_read

# How many characters of a document's text are read at once.
PART_CHARACTERS = 20_000
# How many chunks are listed at once.
PAGE_CHUNKS = 50


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of a document's text, with a marked range.

    Attributes:
        document: The document, without its text.
        part: The number of this part, from 1.
        parts: How many parts the text has.
        before: The text before the marked range.
        marked: The text of the marked range, as far as this part has it.
        after: The text after the marked range.
        first_page: The page of the marked range, from 1; None for formats without pages.
        last_page: The page of the end of the range.
        start: Where the marked range starts in the document's text.
        end: Where it ends.
        is_changed: Whether the passage that was asked for does not exist any more.
    """

    document: Document
    part: int
    parts: int
    before: str
    marked: str
    after: str
    first_page: int | None
    last_page: int | None
    start: int
    end: int
    is_changed: bool


def read_excerpt(
    caller: Caller,
    document_id: uuid.UUID,
    *,
    chunk_id: uuid.UUID | None = None,
    marked: tuple[int, int] = (0, 0),
    part: int = 0,
) -> Excerpt:
    """Return a part of the text of a document that the caller may query.

    Args:
        caller: The caller, whose permissions apply.
        document_id: The document.
        chunk_id: The chunk that contains the marked range. Nothing is marked if the document no longer has it.
        marked: Start and end of the marked range in the text.
        part: The part to read, from 1; 0 for the one where the marked range starts.

    Raises:
        UnknownDocument: If the document does not exist for the caller.
        TooManyLongRequests: If too many very long texts wait to be read.
    """
    readable = Document.objects.live().visible_to(caller, Action.QUERY).filter(pk=document_id)
    selected = readable.select_related("source", "source__organization", "original").defer(
        "text", "line_boxes", "original__content"
    )
    document: Document | None = selected.first()
    if document is None:
        raise UnknownDocument
    chunk = None
    if chunk_id:
        chunk = Chunk.objects.visible_to(caller, Action.QUERY).filter(document=document, pk=chunk_id).first()
    start, end = marked if chunk or not chunk_id else (0, 0)
    with turn_to_read(document.bytes, caller.user.pk):
        size: int = readable.values_list(Length("text"), flat=True).first() or 0
        parts = max(1, -(-size // PART_CHARACTERS))
        number = part or min(parts, start // PART_CHARACTERS + 1)
        offset = (number - 1) * PART_CHARACTERS
        text: str = readable.values_list(Substr("text", offset + 1, PART_CHARACTERS), flat=True).first() or ""
    first, last = (max(0, min(len(text), position - offset)) for position in (start, end))
    first_page, last_page = _find_pages(document, chunk, start, end)
    return Excerpt(
        document,
        part=number,
        parts=parts,
        before=text[:first],
        marked=text[first:last],
        after=text[last:],
        first_page=first_page,
        last_page=last_page,
        start=start,
        end=end,
        is_changed=chunk_id is not None and chunk is None,
    )


def _find_pages(document: Document, chunk: Chunk | None, start: int, end: int) -> tuple[int | None, int | None]:
    """Return the pages of a range; those of its chunk if it is not stored where the document's pages start."""
    if document.page_starts and end > start:
        first, last = (bisect.bisect_right(document.page_starts, offset) for offset in (start, end - 1))
        return first, last
    return (chunk.first_page, chunk.last_page) if chunk else (None, None)


def list_chunks(caller: Caller, document_id: uuid.UUID, *, first: int = 0) -> list[Chunk]:
    """Return chunks of a document from a position on, at most PAGE_CHUNKS; none if the caller may not query it."""
    chunks = Chunk.objects.visible_to(caller, Action.QUERY).filter(document=document_id, position__gte=first)
    return list(chunks.filter(document__deleted_at=None).order_by("position")[:PAGE_CHUNKS])
