"""What a search returns: passages, with what it recorded about its stages."""

import bisect
import datetime
import functools
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .token_vectors import TokenSignatures


class Hit(NamedTuple):
    """A chunk found by a search. A named tuple, because a search makes hundreds.

    Attributes:
        score: Cosine similarity, -1…1.
        relevance: The same as `Passage.relevance`, 0…1; None if only the cosine similarity is known.
        coverage: The same as `Passage.coverage`, 0…1.
        token_similarities: The best similarity of each token of the question to any token of the chunk; None if the
            search has not compared them.
    """

    chunk_id: uuid.UUID
    score: float
    relevance: float | None = None
    coverage: float = 0.0
    token_similarities: tuple[float, ...] | None = None


class Passage(NamedTuple):
    """A chunk in a search result, with the fields of its document that contracts may return.

    A named tuple: creating or copying a frozen data class with so many fields takes four times as long, which a search
    does for each candidate.

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
        page_starts: Where the pages after the first one start, as offsets in the document's text. Fewer than there are
            pages if this is unknown, as in documents of an earlier version.
        coverage: Share of the question's terms that the passage contains, weighted by IDF, 0…1.
        maxsim: Mean over the question's token vectors of the best similarity to a token of the passage, about -1…1
            (late interaction). None if it was not computed.
        weighted_maxsim: The same as `maxsim`, except that each token of the question is weighted by how much the
            candidates differ in it.
        relative_similarity: How far similarity and `weighted_maxsim` exceed those of the other candidates, about -1…3
            (rag.pipeline.retrieval.relative_similarity). None without other candidates.
        heading_similarity: The similarity of the last heading to the question, about -1…1; for a question that is not
            English, of the title and all headings. None if there is nothing to compare, or if it was not computed.
        multilingual_cosine: Cosine similarity by the multilingual model, -1…1, if passages in several languages were
            compared with an English question (rag.pipeline.retrieval.reranking.other_languages). None otherwise.
        answer_logit: How surely the passage has the answer, about -5…5, by a model that reads both (any language). None
            if it did not (rag.pipeline.retrieval.reranking.read_together).
        signatures: The stored token signatures, if the search has read them for late interaction.
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
    page_starts: tuple[int, ...] = ()
    coverage: float = 0.0
    maxsim: float | None = None
    weighted_maxsim: float | None = None
    relative_similarity: float | None = None
    heading_similarity: float | None = None
    multilingual_cosine: float | None = None
    answer_logit: float | None = None
    signatures: TokenSignatures | None = None

    def __eq__(self, other: object) -> bool:
        """Compare all but the signatures, which follow from the chunk."""
        return isinstance(other, Passage) and self[:-1] == other[:-1]

    def __ne__(self, other: object) -> bool:
        """Compare as `==` does: a tuple would compare the signatures, too."""
        return not self == other

    def copy_with(self, **changes: Any) -> "Passage":
        """Return the same passage with other values of some fields."""
        return self._replace(**changes)

    @property
    def cross_language_cosine(self) -> float:
        """The cosine similarity by which passages in several languages are compared."""
        return self.score if self.multilingual_cosine is None else self.multilingual_cosine

    def pages_between(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the pages of a range of the passage.

        Args:
            start: Character offset in the document.
            end: Character offset in the document, exclusive.

        Returns:
            The pages of the first and the last character; None if the format has no pages, or where they start is
            unknown.
        """
        if self.first_page is None or self.last_page is None:
            return None
        if len(self.page_starts) != self.last_page - self.first_page:
            return None
        first, last = (bisect.bisect_right(self.page_starts, offset) for offset in (start, end - 1))
        return self.first_page + first, self.first_page + last

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


@dataclass(frozen=True)
class SourceIds:
    """Ids of data sources in ascending order. 100,000 of them are passed on as the text that the database wrote.

    Attributes:
        json: A JSON array of strings, on one line.
    """

    json: str = "[]"

    @classmethod
    def of(cls, ids: Iterable[uuid.UUID]) -> "SourceIds":
        return cls(json.dumps([str(source_id) for source_id in sorted(ids)]))

    @functools.cached_property
    def ids(self) -> tuple[uuid.UUID, ...]:
        return tuple(map(uuid.UUID, json.loads(self.json)))


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """A question, one of two questions that it consists of, or a clause of it.

    Attributes:
        text: The question, which can be understood alone.
        passages: The passages that the search for it found, best first.
        probability: The probability that they contain the answer, 0…1.
    """

    text: str
    passages: tuple[Passage, ...]
    probability: float = 0.0


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of a search.

    Attributes:
        passages: The passages, best first, at most `top_k`.
        total_found: The number of candidates before the cut to `top_k`.
        source_ids: The sources that were searched. Public ones only if the question asks for the names.
        warnings: Codes of optional steps that failed (RERANK_FAILED, EMBEDDING_FAILED), UNDER_FILLED,
            SPELLING_CORRECTED, or LANGUAGE_PENDING.
        trace: The chunks that remained after each stage.
        searched: The question and the two that it consists of, if the passages of these answer both of them; the
            question and the first of them, if only that one can be understood alone; or only the clause that was
            searched for in place of the question.
    """

    passages: tuple[Passage, ...]
    total_found: int
    source_ids: SourceIds
    warnings: tuple[str, ...] = ()
    trace: SearchTrace = SearchTrace()
    searched: tuple[SearchedQuestion, ...] = ()


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
