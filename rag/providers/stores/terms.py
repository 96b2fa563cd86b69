"""The terms of chunks and their statistics, as they are written (docs/architecture.md, "How are words found?")."""

import struct
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from django.db import connection
from django.db.models import Exists, OuterRef

from rag import languages
from rag.models import Chunk, ChunkTerms, Document
from rag.models.words import TERM_DIMENSIONS

from .copy import copy
from .stems import stemmer

# BM25's parameters, and the length that counts as usual, in terms. It is fixed, so that what is stored of a chunk
# depends on that chunk alone: chunks have a bounded size anyway.
_K1, _B, _USUAL_LENGTH = 1.2, 0.75, 120
# pgvector takes 16,000 of a sparse vector. Only a chunk of nothing but different words has more.
_MOST_TERMS = 10_000
# Chunks in memory at a time.
_BATCH = 1_000

_COLUMNS = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "config": "text", "terms": "bytea",
    "weights": "bytea",
}  # fmt: skip
# What is embedded of a chunk: (text, headings, title).
TextOf = Callable[[str, Sequence[str], str], str]


@dataclass(slots=True)
class _Changes:
    """Of the statistics: (source, term or configuration) → chunks more or less."""

    terms: Counter[tuple[uuid.UUID, int]] = field(default_factory=Counter)
    configs: Counter[tuple[uuid.UUID, str]] = field(default_factory=Counter)


def follow(document_ids: Sequence[uuid.UUID], *, text_of: TextOf) -> None:
    """The chunks of these documents have terms, and chunks that they had have none: as their rows are now, in the
    caller's transaction. Chunks that have terms keep them, unless the document's language is another one now.

    Once in a transaction and towards its end: other writers of the same source wait from here until it ends.
    """
    if not document_ids:
        return
    found = Document.objects.filter(pk__in=list(document_ids)).values_list("pk", "lang")
    # English where nothing is known: as often as not it is code, or too short to tell.
    configs = {key: languages.text_search_config(lang or "english") for key, lang in found}
    changes = _Changes()
    _remove_stale(configs, changes)
    _add_missing(configs, text_of, changes)
    _count(changes)


def forget(chunk_ids: Sequence[uuid.UUID]) -> None:
    """These chunks are about to be removed: so are their terms. Once in a transaction, likewise."""
    changes = _Changes()
    _remove("chunk_id = ANY(%s)", [list(chunk_ids)], changes)
    _count(changes)


def weigh(terms: Sequence[int]) -> tuple[list[int], list[float]]:
    """The distinct terms in ascending order, and what each weighs: BM25 but for the rarity."""
    counted = sorted(Counter(terms).items())[:_MOST_TERMS]
    around = _K1 * (1 - _B + _B * len(terms) / _USUAL_LENGTH)
    return [term for term, _ in counted], [often * (_K1 + 1) / (often + around) for _, often in counted]


def _remove_stale(configs: dict[uuid.UUID, str], changes: _Changes) -> None:
    _remove(
        "(document_id, source_id) IN (SELECT id, source_id FROM rag_document WHERE id = ANY(%s)) AND (NOT EXISTS "
        "(SELECT FROM rag_chunk WHERE id = chunk_id) OR (document_id, config) NOT IN "
        "(SELECT * FROM unnest(%s::uuid[], %s::text[])))",
        [list(configs), list(configs), list(configs.values())],
        changes,
    )


def _remove(where: str, values: list[object], changes: _Changes) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH gone AS (DELETE FROM rag_chunkterms WHERE {where} RETURNING source_id, config, terms) "
            "SELECT source_id, config, NULL, count(*) FROM gone GROUP BY source_id, config UNION ALL "
            "SELECT source_id, NULL, term, count(*) FROM gone, unnest(terms) AS term GROUP BY source_id, term",
            values,
        )
        for source_id, config, term, count in cursor.fetchall():
            if config is None:
                changes.terms[source_id, term] -= count
            else:
                changes.configs[source_id, config] -= count


def _add_missing(configs: dict[uuid.UUID, str], text_of: TextOf, changes: _Changes) -> None:
    without = ~Exists(ChunkTerms.objects.filter(chunk=OuterRef("pk")))
    chunks = Chunk.objects.filter(without, document__in=list(configs))
    rows = chunks.order_by().values_list("pk", "source_id", "document_id", "text", "headings", "document__title")
    batch = []
    for chunk_id, source_id, document_id, text, headings, title in rows.iterator(_BATCH):
        config = configs[document_id]
        terms, weights = weigh(stemmer.terms(text_of(text, headings, title), config))
        changes.configs[source_id, config] += 1
        changes.terms.update((source_id, term) for term in terms)
        batch.append((chunk_id, source_id, document_id, config, _array(terms), _sparse(terms, weights)))
        if len(batch) == _BATCH:
            copy(ChunkTerms._meta.db_table, _COLUMNS, batch)
            batch = []
    copy(ChunkTerms._meta.db_table, _COLUMNS, batch)


def _array(terms: Sequence[int]) -> bytes:
    """As PostgreSQL writes int4[] itself: each element after its length."""
    head = struct.pack(">iii", 1 if terms else 0, 0, 23) + (struct.pack(">ii", len(terms), 1) if terms else b"")
    pairs = np.empty((len(terms), 2), ">i4")
    pairs[:, 0], pairs[:, 1] = 4, terms
    return head + pairs.tobytes()


def _sparse(terms: Sequence[int], weights: Sequence[float]) -> bytes:
    """As pgvector writes a sparse vector itself."""
    head = struct.pack(">iii", TERM_DIMENSIONS, len(terms), 0)
    return head + np.array(terms, ">i4").tobytes() + np.array(weights, ">f4").tobytes()


def _count(changes: _Changes) -> None:
    """Rows are taken in one order by everybody, so that no two writers wait for each other."""
    _upsert("rag_sourceconfig", "config", "text", changes.configs)
    _upsert("rag_sourceterm", "term", "int", changes.terms)


def _upsert(
    table: str, column: str, kind: str, changes: Counter[tuple[uuid.UUID, int]] | Counter[tuple[uuid.UUID, str]]
) -> None:
    changed: Iterable[tuple[tuple[uuid.UUID, int | str], int]] = (item for item in changes.items() if item[1])
    rows = sorted(changed)
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} AS old (source_id, {column}, chunks) "
            f"SELECT * FROM unnest(%s::uuid[], %s::{kind}[], %s::int[]) "
            f"ON CONFLICT (source_id, {column}) DO UPDATE SET chunks = old.chunks + excluded.chunks",
            [[source for (source, _), _ in rows], [key for (_, key), _ in rows], [count for _, count in rows]],
        )
        if fewer := [key for key, count in rows if count < 0]:
            cursor.execute(
                f"DELETE FROM {table} WHERE chunks <= 0 AND (source_id, {column}) IN "
                f"(SELECT * FROM unnest(%s::uuid[], %s::{kind}[]))",
                [[source for source, _ in fewer], [key for _, key in fewer]],
            )
