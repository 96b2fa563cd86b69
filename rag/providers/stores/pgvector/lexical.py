"""BM25 in PostgreSQL: the chunks that have a question's words (docs/decisions/0023-bm25-in-postgresql.md)."""

import math
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection

from rag.errors import IndexUnavailable
from rag.models import SourceConfig, SourceTerm
from rag.models.content.index_tables import TERM_DIMENSIONS
from rag.text import languages
from rag.types import Filters, Scope

from .filters import NOT_DELETED, conditions, tagged
from .stemming import stemmer, words_of

# Above the limit of exact search, words are looked up in the order of their rarity until so many chunks may have one.
_MOST_LOOKED_UP = 5_000


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the question, so many times. terms: one for each way in which it is stemmed in the scope. chunks: how
    many have it."""

    terms: frozenset[int]
    times: int
    chunks: int
    rarity: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for in the sources that it was made for, which have so many chunks."""

    words: tuple[Word, ...]
    chunks: int

    @property
    def weights(self) -> dict[int, float]:
        """What each term counts for, in ascending order."""
        found: Counter[int] = Counter()
        for word in self.words:
            found.update(dict.fromkeys(word.terms, word.times * word.rarity))
        return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Match:
    """How a chunk matches the words. score: BM25, 0 for none of them. coverage: 0…1, the share of them that it has,
    each weighted by its rarity."""

    score: float
    coverage: float


def wanted(question: str, source_ids: Sequence[uuid.UUID]) -> Wanted:
    """The question's words, without stop words, as rare as they are in these sources and no others. Raises
    IndexUnavailable."""
    try:
        configs = _configs(source_ids)
        asked = words_of(question)
        known = {config: stemmer.terms_of(asked, config) for config in configs}
        own = known[_config_of(question, configs)] if configs else {}
        stemmed = Counter(
            frozenset(term for each in known.values() if (term := each[word]) is not None)
            for word in asked
            if own.get(word) is not None
        )
        held = _chunks_having(source_ids, sorted({term for terms in stemmed for term in terms}))
    except DatabaseError as error:
        raise IndexUnavailable("The search index does not answer.") from error
    total = sum(configs.values())
    words = []
    for terms, times in sorted(stemmed.items(), key=lambda item: sorted(item[0])):
        chunks = min(total, sum(held.get(term, 0) for term in terms))
        words.append(Word(terms, times, chunks, math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))))
    return Wanted(tuple(words), total)


def search(wanted: Wanted, scope: Scope, k: int) -> list[uuid.UUID]:
    """The k chunks of the scope with the highest BM25, best first; only such that have one of the words.

    Raises IndexUnavailable.
    """
    if not any(word.chunks for word in wanted.words):
        return []
    try:
        where, values = _conditions(scope)
        if wanted.chunks > settings.RAG_EXACT_SEARCH_MAX_CHUNKS:
            # What a filter leaves may have none of the rarest words.
            looked_up = list(wanted.weights) if scope.filters != Filters() else _looked_up(wanted)
            where, values = f"terms && %s::int[] AND {where}", [looked_up, *values]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT chunk_id, distance FROM (SELECT chunk_id, (weights <#> %s::sparsevec) + 0 AS distance "
                f"FROM rag_chunkterms WHERE {where} ORDER BY distance, chunk_id LIMIT %s) AS best "
                # Terms have no row-level security, under which their index would be of no use; chunks have.
                "WHERE EXISTS (SELECT FROM rag_chunk WHERE id = chunk_id) ORDER BY distance, chunk_id",
                [_vector(wanted), *values, k],
            )
            return [chunk_id for chunk_id, distance in cursor.fetchall() if distance < 0]
    except DatabaseError as error:
        raise IndexUnavailable("The search index does not answer.") from error


def compare(wanted: Wanted, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, Match]:
    """How each of these chunks matches, however it was found. Raises IndexUnavailable."""
    if not wanted.words:
        return dict.fromkeys(chunk_ids, Match(0.0, 0.0))
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT chunk_id, -(weights <#> %s::sparsevec), "
                "ARRAY(SELECT term FROM unnest(%s::int[]) AS term WHERE term = ANY(terms)) "
                "FROM rag_chunkterms WHERE chunk_id = ANY((SELECT %s::uuid[])::uuid[])",
                [_vector(wanted), list(wanted.weights), list(chunk_ids)],
            )
            rows = cursor.fetchall()
    except DatabaseError as error:
        raise IndexUnavailable("The search index does not answer.") from error
    whole = sum(word.rarity for word in wanted.words)
    found = {chunk_id: Match(score, _coverage(wanted, held, whole)) for chunk_id, score, held in rows}
    return {chunk_id: found.get(chunk_id, Match(0.0, 0.0)) for chunk_id in chunk_ids}


def _coverage(wanted: Wanted, held: Sequence[int], whole: float) -> float:
    return sum(word.rarity for word in wanted.words if not word.terms.isdisjoint(held)) / whole if whole else 0.0


def _configs(source_ids: Sequence[uuid.UUID]) -> dict[str, int]:
    """By which configurations the sources' chunks are stemmed, and how many by each."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT config, sum(chunks) FROM {SourceConfig._meta.db_table} "
            "WHERE source_id = ANY((SELECT %s::uuid[])::uuid[]) AND chunks > 0 GROUP BY config",
            [list(source_ids)],
        )
        return {config: int(chunks) for config, chunks in cursor.fetchall()}


def _config_of(question: str, configs: dict[str, int]) -> str:
    """Whose stop words are left out: the question's, if that can be told and is among them; else the commonest's."""
    if len(configs) > 1 and (lang := languages.detect_language(question)):
        own = languages.text_search_config(lang)
        if own in configs:
            return own
    return min(configs, key=lambda config: (-configs[config], config))


def _chunks_having(source_ids: Sequence[uuid.UUID], terms: Sequence[int]) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT term, sum(chunks) FROM {SourceTerm._meta.db_table} "
            "WHERE source_id = ANY((SELECT %s::uuid[])::uuid[]) AND term = ANY((SELECT %s::int[])::int[]) "
            "GROUP BY term",
            [list(source_ids), list(terms)],
        )
        return {term: int(chunks) for term, chunks in cursor.fetchall()}


def _looked_up(wanted: Wanted) -> list[int]:
    """By these terms candidates are found: a common word decides little where there is a rarer one."""
    chosen, room = list[int](), _MOST_LOOKED_UP
    for word in sorted(
        (word for word in wanted.words if word.chunks), key=lambda word: (word.chunks, sorted(word.terms))
    ):
        room -= word.chunks
        if chosen and room < 0:
            break
        chosen += sorted(word.terms)
    return chosen


def _vector(wanted: Wanted) -> str:
    """As pgvector reads it: indexes from 1, ascending."""
    pairs = ",".join(f"{term + 1}:{weight:.9g}" for term, weight in wanted.weights.items())
    return f"{{{pairs}}}/{TERM_DIMENSIONS}"


def _conditions(scope: Scope) -> tuple[str, list[Any]]:
    """SQL over the table of terms, and its values. What filters look at is read from the document."""
    parts = ["source_id = ANY((SELECT %s::uuid[])::uuid[])", NOT_DELETED]
    values: list[Any] = [list(scope.source_ids)]
    narrowed = conditions(scope.filters)
    if (documents := tagged(scope)) is not None:
        narrowed.append(("id = ANY((SELECT %s::uuid[])::uuid[])", documents))
    if narrowed:
        inside = " AND ".join(condition for condition, _ in narrowed)
        parts.append(f"document_id IN (SELECT id FROM rag_document WHERE {parts[0]} AND {inside})")
        values += [values[0], *(value for _, value in narrowed)]
    return " AND ".join(parts), values
