"""The values that travel between the floors. Frozen: a step returns a new one."""

import datetime
import uuid
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar


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
    content_types: tuple[str, ...] = ()
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
    """What is searched for.

    min_score: cosine similarity, 0…1, below which a passage does not count. rerank: order by more than the cosine.
    rerank_model: by name; its failure is then an error instead of a warning. Empty: the configured one.
    """

    text: str
    top_k: int
    filters: Filters = Filters()
    min_score: float = 0.0
    rerank: bool = False
    rerank_model: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers a question, with what a contract may show of its document.

    score: cosine similarity, 0…1. relevance: the ranking's own figure, 0…1, by which passages are ordered; the cosine
    where nothing else ranked them. rank: 1-based. start, end: character offsets into the document's text.
    """

    chunk_id: uuid.UUID
    document_id: uuid.UUID
    source_id: uuid.UUID
    source_slug: str
    organization_id: uuid.UUID
    rank: int
    score: float
    relevance: float
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
    """passages: best first, at most top_k. total_found: candidates before that cut. source_ids: what was searched.

    warnings: codes of steps that failed and were done without (RERANK_FAILED).
    """

    passages: tuple[Passage, ...]
    total_found: int
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that can be asked for again by its id. passages: what its asker may read now, best first.

    time_ms: milliseconds that the search took.
    """

    query_id: uuid.UUID
    text: str
    passages: tuple[Passage, ...]
    time_ms: float
    created_at: datetime.datetime


@dataclass(frozen=True, slots=True)
class Message:
    """One turn for a language model. role: system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Generation:
    """How to generate. model: empty for the configured one. temperature: 0…2, None for the model's own default.

    stream: hand the text on in pieces as they are made.
    """

    model: str = ""
    temperature: float | None = None
    stream: bool = False


@dataclass(frozen=True, slots=True)
class Citation:
    """number: 1-based, as the prompt numbers its passages. quote: the part of the passage that is relied on."""

    number: int
    passage: Passage
    quote: str


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt within its token budget. passages: those that fit, best first; the n-th is cited as [n].

    token_count: of the whole prompt, in OpenAI tokens (cl100k_base).
    """

    prompt: str
    passages: tuple[Passage, ...]
    token_count: int


@dataclass(frozen=True, slots=True)
class Grounding:
    """Whether the passages can carry an answer. score: 0…1. gaps: words of the question that no passage holds."""

    is_groundable: bool
    score: float
    relevant: tuple[Passage, ...]
    gaps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """confidence: 0…1. model: what wrote it ("extractive" for quoted sentences); empty if nothing was generated."""

    text: str
    citations: tuple[Citation, ...]
    confidence: float
    model: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Validation:
    """Whether an answer is carried by its context. score: 0…1. details: a sentence for people."""

    is_valid: bool
    score: float
    details: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A question's whole way (the pipeline contract, sub-contracts 2 to 5)."""

    retrieval: Retrieval
    context: Context
    grounding: Grounding
    answer: Answer


@dataclass(frozen=True, slots=True)
class Confidence:
    """mean: of the best passages' cosines, 0…1. level: high, medium or low (the retrieval contract)."""

    mean: float
    level: str


@dataclass(frozen=True, slots=True)
class ConfidentAnswer:
    """model: empty if nothing was generated, because confidence is low."""

    retrieval: Retrieval
    confidence: Confidence
    text: str
    model: str


@dataclass(frozen=True, slots=True)
class ChatReply:
    """retrieval: None if the chat did not ask for it."""

    text: str
    conversation_id: uuid.UUID
    retrieval: Retrieval | None


@dataclass(frozen=True, slots=True)
class AgentTool:
    """What a model may call. The schemas are JSON Schema; `call` takes the arguments and returns the result, as JSON
    objects. It raises InvalidRequest for arguments that are wrong, which the model is told; all else ends the run."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    call: Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AgentReply:
    """sources: links (or paths) of the documents that the answer rests on. confidence: 0…1, 0 unless is_grounded.

    passages: everything that was retrieved, in that order. seconds: what it took. model: "extractive" for quoted
    sentences, empty if nothing was answered.
    """

    text: str
    confidence: float
    is_grounded: bool
    sources: tuple[str, ...]
    passages: tuple[Passage, ...]
    seconds: float
    model: str


Whole = TypeVar("Whole")
# An answer on its way: yields the Retrieval once it is there, then the text in pieces; returns everything.
Events = Generator[Retrieval | str, None, Whole]
