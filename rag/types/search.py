"""Questions, where they may look, and the passages that are found."""

import datetime
import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A question is embedded while the caller waits.
MAX_QUESTION_CHARACTERS = 2_000


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


class Mode(enum.StrEnum):
    """What passages are found by: their meaning, their words, or both. The gears of retrieval."""

    DENSE = "dense"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for.

    min_score: cosine similarity, 0…1, below which a passage does not count. rerank: order by more than what it was
    found by. rerank_model: by name; its failure is then an error instead of a warning. Empty: the configured one. mode:
    None for the configured one (RAG_RETRIEVAL_MODE). distinct: of copies of a passage only the best one, unless it is
    by meaning alone that they are found.
    """

    text: str
    top_k: int
    filters: Filters = Filters()
    min_score: float = 0.0
    rerank: bool = False
    rerank_model: str = ""
    mode: Mode | None = None
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """The chunks a search may look at: open sources, all embedded by one model, narrowed by filters."""

    source_ids: tuple[uuid.UUID, ...]
    model_id: uuid.UUID
    filters: Filters = Filters()


@dataclass(frozen=True, slots=True)
class Hit:
    """score: cosine similarity, -1…1. relevance, 0…1, and coverage: as a Passage has them; without them the score is
    all that is known."""

    chunk_id: uuid.UUID
    score: float
    relevance: float | None = None
    coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that answers a question, with what a contract may show of its document.

    score: cosine similarity, 0…1. relevance: the ranking's own figure, 0…1, by which passages are ordered; the cosine
    where nothing else ranked them. rank: 1-based. start, end: character offsets into the document's text.

    What else is known of how it fits the question. coverage: 0…1, how many of the question's terms it has, each
    weighted by its rarity in the scope. maxsim: how near its pieces come to each of the question's, on average, about
    -1…1 (late interaction); None if it was not compared. telling: as maxsim, but each piece counts by how much
    the candidates differ in it. contrast: how far cosine and telling stand out among all candidates, about -1…3
    (pipeline/contrast.py); None if it was not found among others.
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
    # Where the document has pages: those of its first and its last character, from 1.
    first_page: int | None = None
    last_page: int | None = None
    coverage: float = 0.0
    maxsim: float | None = None
    telling: float | None = None
    contrast: float | None = None

    @property
    def described(self) -> dict[str, Any]:
        """The document's metadata; with `page` and `lastPage`, where the passage begins and ends, if it has pages."""
        pages = {"page": self.first_page, "lastPage": self.last_page} if self.first_page else {}
        return {**pages, **self.metadata}

    @property
    def searched_text(self) -> str:
        """Its text under the title and headings that say what it is about."""
        return "\n".join([self.title, *self.headings, self.text])

    @property
    def snippet(self) -> str:
        """The first 200 characters of its text (v3, 2.3; retrieval, Endpoint 1)."""
        return self.text[:200]


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """The chunks that each step of a search left, by their ids: for those alone who manage what was searched.

    by_meaning, by_words: the candidates, of which some are in both. above_threshold: those that are near enough, best
    first. distinct: the best of them that were looked at, without copies. ranked: the same in their last order, before
    the cut to top_k.
    """

    by_meaning: tuple[uuid.UUID, ...] = ()
    by_words: tuple[uuid.UUID, ...] = ()
    above_threshold: tuple[uuid.UUID, ...] = ()
    distinct: tuple[uuid.UUID, ...] = ()
    ranked: tuple[uuid.UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """passages: best first, at most top_k. total_found: candidates before that cut. source_ids: what was searched.

    warnings: codes of steps that failed and were done without (RERANK_FAILED, EMBEDDING_FAILED). funnel: how it came to
    these passages.
    """

    passages: tuple[Passage, ...]
    total_found: int
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...] = ()
    funnel: SearchTrace = SearchTrace()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search that can be asked for again by its id. passages: what its asker may read now, best first.

    time_ms: milliseconds that the search took.
    """

    query_id: uuid.UUID
    text: str
    passages: tuple[Passage, ...]
    time_ms: float
    created_at: datetime.datetime
