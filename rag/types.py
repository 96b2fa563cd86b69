"""The values that travel between the floors. Frozen: a step returns a new one."""

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
    # Why its bytes are no text, where they are not: the document fails, and the others of its job go on.
    unreadable: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """`start`: offset in characters of the first character it stands over."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a parser found: the text that is searched, shown and cited, and the headings in it, by offset."""

    text: str
    is_markdown: bool = False
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A passage before it is stored: `text == document_text[start:end]`, offsets in characters."""

    position: int
    start: int
    end: int
    text: str
    headings: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """In OpenAI tokens (cl100k_base). `overlap < size`."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class IndexOutcome:
    """`status`: created, updated or unchanged."""

    status: str
    document_id: uuid.UUID
    chunk_count: int


@dataclass(frozen=True, slots=True)
class Filters:
    """What a question may be narrowed to, on top of what its asker may see. Empty means no limit.

    tags: any of them. The dates are compared with the document's own; a document without one is outside.
    """

    tags: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    date_from: datetime.datetime | None = None
    date_to: datetime.datetime | None = None


@dataclass(frozen=True, slots=True)
class Scope:
    """The chunks a search may look at: open sources, all embedded by one model, narrowed by filters."""

    source_ids: tuple[uuid.UUID, ...]
    model_id: uuid.UUID
    filters: Filters = Filters()


@dataclass(frozen=True, slots=True)
class Hit:
    """`score`: cosine similarity, -1…1."""

    chunk_id: uuid.UUID
    score: float


@dataclass(frozen=True, slots=True)
class Question:
    """`min_score`: cosine similarity, 0…1, below which a passage does not count."""

    text: str
    top_k: int
    filters: Filters = Filters()
    min_score: float = 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers a question, with what a contract may show of its document.

    score: cosine similarity, 0…1. rank: 1-based. start, end: character offsets into the document's text.
    """

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    source_id: uuid.UUID
    source_slug: str
    rank: int
    score: float
    text: str
    position: int
    start: int
    end: int
    headings: tuple[str, ...]
    title: str
    path: str
    uri: str
    content_type: str
    source_type: str
    lang: str
    tags: tuple[str, ...]
    metadata: Mapping[str, Any]
    date: datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Retrieval:
    """passages: best first, at most top_k. total_found: candidates before that cut. source_ids: what was searched."""

    passages: tuple[Passage, ...]
    total_found: int
    source_ids: tuple[uuid.UUID, ...]
