"""Questions, the scopes that they search, and the passages that a search returns."""

import datetime
import enum
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

# Bounded, because a question is embedded while the client waits.
MAX_QUESTION_CHARACTERS = 2_000
# The document fields that `Filters` restricts. A chunk store keeps a copy of them with each vector.
FILTER_FIELDS = ("source_type", "content_type", "lang", "tags", "date")


@dataclass(frozen=True, slots=True)
class FilterCondition:
    """One condition on a field of a document. `lookup` is a lookup of Django; "overlap" is a lookup of arrays."""

    field: str
    lookup: Literal["overlap", "in", "gte", "lte"]
    value: list[str] | datetime.datetime | None


@dataclass(frozen=True, slots=True)
class Filters:
    """Restrictions of a search on top of the caller's permissions. An empty field does not restrict.

    Attributes:
        tags: Documents that have at least one of these tags.
        date_from: Earliest date of a document, inclusive. Documents without a date do not match.
        date_to: Latest date of a document, inclusive. Documents without a date do not match.
    """

    tags: tuple[str, ...] = ()
    source_types: tuple[str, ...] = ()
    content_types: tuple[str, ...] = ()
    langs: tuple[str, ...] = ()
    date_from: datetime.datetime | None = None
    date_to: datetime.datetime | None = None

    @property
    def conditions(self) -> tuple[FilterCondition, ...]:
        """The conditions that a document must meet, all of them. Stores and querysets both render these."""
        conditions = (
            FilterCondition("tags", "overlap", list(self.tags)),
            FilterCondition("source_type", "in", list(self.source_types)),
            FilterCondition("content_type", "in", list(self.content_types)),
            FilterCondition("lang", "in", list(self.langs)),
            FilterCondition("date", "gte", self.date_from),
            FilterCondition("date", "lte", self.date_to),
        )
        return tuple(condition for condition in conditions if condition.value)


class Mode(enum.StrEnum):
    """The retrieval mode: by embeddings (dense), by terms (lexical), or by both (hybrid)."""

    DENSE = "dense"
    LEXICAL = "lexical"
    HYBRID = "hybrid"


@dataclass(frozen=True, slots=True)
class Question:
    """A query and its options.

    Attributes:
        top_k: The maximum number of passages to return.
        min_score: Minimum cosine similarity of a passage, 0…1.
        rerank: Whether to rerank the best candidates.
        rerank_model: The name of the reranker; if it fails, the search fails. Empty for the configured reranker, whose
            failure is only a warning.
        mode: The retrieval mode; None for the configured one (RAG_RETRIEVAL_MODE).
        deduplicate: Return only the best of several copies of a passage. Has no effect in dense mode.
        names_sources: Whether the result names the sources that were searched, which takes time if they are many.
    """

    text: str
    top_k: int
    filters: Filters = Filters()
    min_score: float = 0.0
    rerank: bool = False
    rerank_model: str = ""
    mode: Mode | None = None
    deduplicate: bool = False
    names_sources: bool = False


class ModelUse(enum.StrEnum):
    """Which public sources of an organisation are searched with an embedding model."""

    OWN = "own"  # those whose embedding model it is
    OWN_WITHOUT_SECOND = "own_without_second"  # those of them that have no complete vectors of a second model
    SECOND = "second"  # those with complete vectors of it as their second model
    OWN_OR_SECOND = "own_or_second"


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The chunks that a search may read: those of the given sources that match the filters.

    Public sources are given by their organisations, so that the size of a scope does not depend on their number.

    Attributes:
        source_ids: Sources that the caller may query. All of them use the same embedding model.
        model_id: Primary key of that embedding model.
        public_in: Organisations whose public sources the caller may query. Those that use the model in the way
            of `model_use` are in the scope.
        second_of: Primary keys of the models of sources that may have the model as their second one.
        organization_ids: The organisations of all sources, for measurements only.
    """

    source_ids: tuple[uuid.UUID, ...]
    model_id: uuid.UUID
    filters: Filters = Filters()
    public_in: tuple[uuid.UUID, ...] = ()
    model_use: ModelUse = ModelUse.OWN
    second_of: tuple[uuid.UUID, ...] = ()
    organization_ids: tuple[uuid.UUID, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found by a search.

    Attributes:
        score: Cosine similarity, -1…1.
        relevance: The same as `Passage.relevance`, 0…1; None if only the cosine similarity is known.
        coverage: The same as `Passage.coverage`, 0…1.
    """

    chunk_id: uuid.UUID
    score: float
    relevance: float | None = None
    coverage: float = 0.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk in a search result, with the fields of its document that contracts may return.

    Attributes:
        rank: Position in the result, from 1.
        score: Cosine similarity to the question, 0…1.
        relevance: The ranking's score, 0…1, by which the result is sorted. Equals `score` in dense mode without
            reranking.
        position: The chunk's index in its document, from 0.
        start: Character offset in the document's text.
        end: Character offset of the end in the document's text, exclusive.
        first_page: The page of the first character, from 1; None for formats without pages.
        last_page: The page of the last character.
        coverage: Share of the question's terms that the passage contains, weighted by IDF, 0…1.
        maxsim: Mean over the question's token vectors of the best similarity to a token of the passage, about -1…1
            (late interaction). None if it was not computed.
        weighted_maxsim: The same as `maxsim`, except that each token of the question is weighted by how much the
            candidates differ in it.
        standout_score: How far similarity and `weighted_maxsim` exceed those of the other candidates, about -1…3
            (rag.pipeline.retrieval.standout_score). None without other candidates.
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
    metadata: Mapping[str, object]
    date: datetime.datetime | None
    first_page: int | None = None
    last_page: int | None = None
    coverage: float = 0.0
    maxsim: float | None = None
    weighted_maxsim: float | None = None
    standout_score: float | None = None

    @property
    def metadata_with_pages(self) -> dict[str, object]:
        """The document's metadata; for formats with pages also `page` and `lastPage` of this passage."""
        pages = {"page": self.first_page, "lastPage": self.last_page} if self.first_page else {}
        return {**pages, **self.metadata}

    @property
    def text_with_headings(self) -> str:
        """The document's title, the headings above the passage and its text, one per line."""
        return "\n".join([self.title, *self.headings, self.text])

    @property
    def snippet(self) -> str:
        """The first 200 characters of the text (v3 contract, 2.3; retrieval contract, endpoint 1)."""
        return self.text[:200]


@dataclass(frozen=True, slots=True)
class SearchTrace:
    """The ids of the chunks that remained after each stage of a search. Only shown to managers of the sources.

    Attributes:
        dense: Candidates of the vector search.
        lexical: Candidates of the term search; may overlap with `dense`.
        above_threshold: Candidates with at least `min_score`, best first.
        deduplicated: The best of these candidates, without copies; these are ranked.
        ranked: The same chunks in their final order, before the cut to `top_k`.
    """

    dense: tuple[uuid.UUID, ...] = ()
    lexical: tuple[uuid.UUID, ...] = ()
    above_threshold: tuple[uuid.UUID, ...] = ()
    deduplicated: tuple[uuid.UUID, ...] = ()
    ranked: tuple[uuid.UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of a search.

    Attributes:
        passages: The passages, best first, at most `top_k`.
        total_found: The number of candidates before the cut to `top_k`.
        source_ids: The sources that were searched. Public ones only if the question asks for the names.
        warnings: Codes of optional steps that failed (RERANK_FAILED, EMBEDDING_FAILED).
        trace: The chunks that remained after each stage.
    """

    passages: tuple[Passage, ...]
    total_found: int
    source_ids: tuple[uuid.UUID, ...]
    warnings: tuple[str, ...] = ()
    trace: SearchTrace = SearchTrace()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A search whose result can be requested again by its id.

    Attributes:
        passages: The passages that the caller may read now, best first.
        time_ms: How long the search took, in milliseconds.
    """

    query_id: uuid.UUID
    text: str
    passages: tuple[Passage, ...]
    time_ms: float
    created_at: datetime.datetime
