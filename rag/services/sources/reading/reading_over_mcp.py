"""The data sources and documents that an agent lists and reads over MCP: those that its caller may query."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models.functions import Length, Substr

from orgs.access.caller import Caller
from orgs.models import Organization
from rag.errors import UnknownDocument
from rag.models import Action, DataSource, Document
from rag.providers.limits.long_text_limiter import turn_to_read
from rag.services.sources import lookup

PAGE_SIZE = 100
_UNKNOWN = "There is no such document, or it is not visible to you."


@dataclass(frozen=True, slots=True)
class TextPart:
    """A part of a document's text.

    Attributes:
        document: The document, without its text.
        text: The part.
        document_characters: How many characters the whole text has.
    """

    document: Document
    text: str
    document_characters: int


def list_sources(
    caller: Caller, organization: Organization | None, *, page: int = 1
) -> tuple[Sequence[DataSource], bool]:
    """Return a page of the sources that the caller may query, by slug, and whether there are more."""
    sources = lookup.visible_sources(caller, Action.QUERY, organization=organization)
    start = (page - 1) * PAGE_SIZE
    rows = list(sources.select_related("organization").order_by("slug", "pk")[start : start + PAGE_SIZE + 1])
    return rows[:PAGE_SIZE], len(rows) > PAGE_SIZE


def list_documents(
    caller: Caller, organization: Organization | None, *, after: uuid.UUID | None = None
) -> tuple[Sequence[Document], bool]:
    """Return the documents after this id that the caller may read, without their texts, and whether there are more."""
    sources = lookup.visible_sources(caller, Action.QUERY, organization=organization)
    documents = Document.objects.live().filter(source__in=sources.values("pk")).order_by("pk")
    if after:
        documents = documents.filter(pk__gt=after)
    rows = list(documents.only("path", "title", "source_id")[: PAGE_SIZE + 1])
    return rows[:PAGE_SIZE], len(rows) > PAGE_SIZE


def read_text(
    caller: Caller, organization: Organization | None, document_id: uuid.UUID | None, *, start: int, characters: int
) -> TextPart:
    """Return a part of a document's text. Only the part is read: a text may have hundreds of megabytes.

    Args:
        caller: The caller, whose permissions apply.
        organization: The organisation that the request names.
        document_id: The document.
        start: The offset of the part.
        characters: How many characters of the text are read at most.

    Raises:
        UnknownDocument: If the caller may not read a document with this id.
        TooManyLongRequests: If too many very long texts wait to be read.
    """
    sources = lookup.visible_sources(caller, Action.QUERY, organization=organization)
    if document_id is None:
        raise UnknownDocument(_UNKNOWN)
    documents = Document.objects.live().filter(pk=document_id, source__in=sources.values("pk")).without_text()
    document = documents.first()
    if document is None:
        raise UnknownDocument(_UNKNOWN)
    with turn_to_read(document.bytes, caller.user.pk):
        part = documents.values_list(Substr("text", start + 1, characters), Length("text")).first()
    if part is None:
        raise UnknownDocument(_UNKNOWN)  # deleted meanwhile
    return TextPart(document, *part)
