"""Documents on their way in: as they are sent, parsed, cut into chunks and stored."""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Submission:
    """One document as a client sent it."""

    path: str
    title: str
    text: str
    content_type: str = ""
    uri: str = ""
    lang: str = ""
    source_type: str = ""
    tags: tuple[str, ...] = ()
    date: datetime.datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    content_hash: str = ""
    # The row of the file that it was sent as (rag.models.Original); `text` is empty then.
    original_id: uuid.UUID | None = None
    # Why nothing can read it, where that is known already: the document fails, and the others of its job go on.
    unreadable: str = ""
    unreadable_code: str = "PARSE_ERROR"
    # Parsed, cut and embedded anew though nothing of it has changed.
    again: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """`start`: offset in characters of the first character it stands over."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """`start`: offset in characters of its first character. number: from 1."""

    start: int
    number: int


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What a parser found: the text that is searched, shown and cited; headings and pages in it, by offset.

    title: what the file calls itself, if it does. media_type: the MIME type that it was read as.
    """

    text: str
    is_markdown: bool = False
    headings: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    title: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """In OpenAI tokens (cl100k_base). `overlap < size`."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A passage before it is stored: `text == document_text[start:end]`, offsets in characters."""

    position: int
    start: int
    end: int
    text: str
    headings: tuple[str, ...]
    tokens: int
    # Of its first and its last character, where the format has pages.
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class IndexOutcome:
    """`status`: created, updated or unchanged. document_id: None if it was deleted meanwhile: nothing was written."""

    status: str
    document_id: uuid.UUID | None
    chunk_count: int
