"""BM25 in PostgreSQL: finds and scores chunks by a query's words (docs/decisions/0023-bm25-in-postgresql.md)."""

import math
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from rag.models.content.pgvector_tables import TERM_DIMENSIONS
from rag.text import languages
from rag.text.question_language import foreign_function_words
from rag.types import Filters, SearchScope

from .filter_sql import SCOPE, SqlValue, filter_arguments, scope_values
from .stemming import split_words_and_parts, stemmer

# Above the limit of exact search, candidates are looked up by the rarest words of the query: as many words as have at
# most this document frequency together.
_MAX_LOOKED_UP_CHUNKS = 5_000


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A word of the query.

    Attributes:
        terms: The stems of the word, one per text search configuration in scope.
        count: How often the word occurs in the query.
        chunk_count: The document frequency: how many chunks contain the word.
        idf: The inverse document frequency of BM25.
    """

    terms: frozenset[int]
    count: int
    chunk_count: int
    idf: float


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """A query for the sources that it was built for. Together they have `chunk_count` chunks."""

    words: tuple[QueryTerm, ...]
    chunk_count: int

    @property
    def weights(self) -> dict[int, float]:
        """The weight of each term, in ascending order of the terms."""
        weights: Counter[int] = Counter()
        for word in self.words:
            weights.update(dict.fromkeys(word.terms, word.count * word.idf))
        return dict(sorted(weights.items()))


@dataclass(frozen=True, slots=True)
class LexicalScore:
    """How well a chunk matches a query.

    Attributes:
        score: The BM25 score; 0 if the chunk contains no word of the query.
        coverage: The share of the query's words that the chunk contains, each weighted by its IDF, 0…1.
    """

    score: float
    coverage: float


def build_query(text: str, scopes: Sequence[SearchScope]) -> LexicalQuery:
    """Stem the query's words, without stop words, and compute their IDF in the scopes' sources and no others.

    The query is stemmed with every text search configuration in scope. A word's document frequency is the sum over its
    stems, capped at the number of chunks; its IDF follows from that. Function words of a question in another language
    are left out whatever the configurations are.
    """
    sources = _all_sources(scopes)
    configs = _config_counts(sources)
    ignored = foreign_function_words(text)
    words = [word for word in split_words_and_parts(text) if word not in ignored]
    terms_by_config = {config: stemmer.terms_of_words(words, config) for config in configs}
    query_terms = terms_by_config[_query_config(text, configs)] if configs else {}
    counts = Counter(
        frozenset(term for terms in terms_by_config.values() if (term := terms[word]) is not None)
        for word in words
        if query_terms.get(word) is not None
    )
    chunks_by_term = _chunks_with_terms(sources, sorted({term for terms in counts for term in terms}))
    total = sum(configs.values())
    query_words = []
    for terms, count in sorted(counts.items(), key=lambda item: sorted(item[0])):
        chunk_count = min(total, sum(chunks_by_term.get(term, 0) for term in terms))
        idf = math.log(1 + (total - chunk_count + 0.5) / (chunk_count + 0.5))
        query_words.append(QueryTerm(terms, count, chunk_count, idf))
    return LexicalQuery(tuple(query_words), total)


def search(query: LexicalQuery, scope: SearchScope, limit: int, *, exact_limit: int) -> list[uuid.UUID]:
    """Find the chunks of the scope with the highest BM25 scores, best first. Each contains a word of the query.

    Args:
        query: The result of `build_query`.
        scope: The scope to search.
        limit: The maximum number of chunks.
        exact_limit: If the sources of all scopes of the query together have more chunks (`query.chunk_count`), only
            chunks that contain one of the query's rarest words are scored.
    """
    if not any(word.chunk_count for word in query.words):
        return []
    required_terms = None
    if query.chunk_count > exact_limit:
        # With a filter all words are used: the matching documents may not contain the rarest words.
        required_terms = list(query.weights) if scope.filters != Filters() else _rarest_terms(query)
    # `distance` is the negative inner product, that is the negative BM25 score.
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT chunk_id, distance FROM rag_search_terms(%s::sparsevec, {SCOPE}{', %s' * 10})",
            [
                _vector(query),
                *scope_values(scope),
                required_terms,
                limit,
                scope.filters != Filters(),
                *filter_arguments(scope),
            ],
        )
        # A distance of 0 means that the chunk contains no word of the query.
        return [chunk_id for chunk_id, distance in cursor.fetchall() if distance < 0]


def score(query: LexicalQuery, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, LexicalScore]:
    """Score each of these chunks, however it was found."""
    if not query.words:
        return dict.fromkeys(chunk_ids, LexicalScore(0.0, 0.0))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT chunk_id, -(weights <#> %s::sparsevec), "
            "ARRAY(SELECT term FROM unnest(%s::int[]) AS term WHERE term = ANY(terms)) "
            "FROM rag_chunkterms WHERE chunk_id = ANY((SELECT %s::uuid[])::uuid[])",
            [_vector(query), list(query.weights), list(chunk_ids)],
        )
        matches = cursor.fetchall()
    total_idf = sum(word.idf for word in query.words)
    scores = {
        chunk_id: LexicalScore(bm25, _matched_idf(query, terms) / total_idf if total_idf else 0.0)
        for chunk_id, bm25, terms in matches
    }
    return {chunk_id: scores.get(chunk_id, LexicalScore(0.0, 0.0)) for chunk_id in chunk_ids}


def _matched_idf(query: LexicalQuery, terms: Sequence[int]) -> float:
    return sum(word.idf for word in query.words if not word.terms.isdisjoint(terms))


def _all_sources(scopes: Sequence[SearchScope]) -> list[SqlValue]:
    """Return the organisations and the other sources of all scopes, without duplicates."""
    organization_ids = dict.fromkeys(key for scope in scopes for key in scope.public_in)
    source_ids = dict.fromkeys(key for scope in scopes for key in scope.source_ids)
    return [list(organization_ids), list(source_ids)]


def _config_counts(sources: Sequence[SqlValue]) -> dict[str, int]:
    """Return text search configuration → number of the sources' chunks that it has stemmed."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT config, chunks FROM rag_count_configs(%s::uuid[], %s::uuid[])", sources)
        return {config: int(chunks) for config, chunks in cursor.fetchall()}


def _query_config(text: str, configs: dict[str, int]) -> str:
    """Return the text search configuration whose stop words are dropped from the query.

    It is the one of the query's language if that is detected and in scope, else the most frequent one.
    """
    if len(configs) > 1 and (lang := languages.detect_language(text)):
        config = languages.text_search_config(lang)
        if config in configs:
            return config
    return min(configs, key=lambda config: (-configs[config], config))


def _chunks_with_terms(sources: Sequence[SqlValue], terms: Sequence[int]) -> dict[int, int]:
    with connection.cursor() as cursor:
        query = "SELECT term, chunks FROM rag_count_terms(%s::uuid[], %s::uuid[], %s::int[])"
        cursor.execute(query, [*sources, list(terms)])
        return {term: int(chunks) for term, chunks in cursor.fetchall()}


def _rarest_terms(query: LexicalQuery) -> list[int]:
    """Return the terms by which candidates are looked up. A common word matters little if a rarer one occurs."""
    terms, remaining = list[int](), _MAX_LOOKED_UP_CHUNKS
    for word in sorted(
        (word for word in query.words if word.chunk_count), key=lambda word: (word.chunk_count, sorted(word.terms))
    ):
        remaining -= word.chunk_count
        if terms and remaining < 0:
            break
        terms += sorted(word.terms)
    return terms


def _vector(query: LexicalQuery) -> str:
    """Return the query in pgvector's text format of a sparse vector, with ascending indexes from 1."""
    pairs = ",".join(f"{term + 1}:{weight:.9g}" for term, weight in query.weights.items())
    return f"{{{pairs}}}/{TERM_DIMENSIONS}"
