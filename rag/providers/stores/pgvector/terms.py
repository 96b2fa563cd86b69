"""The terms of chunks and their statistics, as they are written (docs/decisions/0023-bm25-in-postgresql.md)."""

import itertools
import struct
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import Exists, OuterRef

from rag.models import Chunk, ChunkTerms, Document, SourceConfig, SourceTerm
from rag.models.content.index_tables import TERM_DIMENSIONS
from rag.text import languages
from ragsite.postgres.locks import advisory_xact_locks

from .copy import copy
from .stemming import stemmer

# BM25's parameters, and the length that counts as usual, in terms. It is fixed, so that what is stored of a chunk
# depends on that chunk alone: chunks have a bounded size anyway.
_K1, _B, _USUAL_LENGTH = 1.2, 0.75, 120
# pgvector takes 16,000 of a sparse vector. Only a chunk of nothing but different words has more.
_MOST_TERMS = 10_000
# Chunks in memory at a time, and counted in one statement.
_BATCH, _COUNTED = 1_000, 10_000

_COLUMNS = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "config": "text", "terms": "bytea",
    "weights": "bytea",
}  # fmt: skip
# What is embedded of a chunk: (text, headings, title).
TextOf = Callable[[str, Sequence[str], str], str]


def follow(
    document_ids: Sequence[uuid.UUID],
    *,
    text_of: TextOf,
    anew: Sequence[uuid.UUID] = (),
    most: int | None = None,
) -> None:
    """The chunks of these documents have terms, and chunks that they had have none: as their rows are now, in the
    caller's transaction. Chunks that have terms keep them, unless the document's language is another one now, or it is
    one of those that are to be read anew.

    Once in a transaction and towards its end: others who write to the same sources wait from when this begins to count
    until the transaction ends; what has to be read and stemmed is, before that, but for texts that are read anew. The
    caller keeps other writers of these documents waiting. most: of the chunks that have none, the first by key; the
    others are left to another call.
    """
    if not document_ids:
        return
    documents = Document.objects.filter(pk__in=list(document_ids))
    found = list(documents.values_list("pk", "source_id", "lang"))
    # English where nothing is known: as often as not it is code, or too short to tell.
    configs = {key: languages.text_search_config(lang or "english") for key, _, lang in found}
    added = _add_missing({key: configs[key] for key in configs.keys() - set(anew)}, text_of, most)
    _lock_terms({source_id for _, source_id, _ in found})
    _remove(
        "source_id = ANY(%s) AND document_id = ANY(%s) AND (NOT EXISTS (SELECT FROM rag_chunk WHERE id = chunk_id) "
        "OR (document_id, config) NOT IN (SELECT * FROM unnest(%s::uuid[], %s::text[])) OR document_id = ANY(%s))",
        [[source_id for _, source_id, _ in found], list(configs), list(configs), list(configs.values()), list(anew)],
    )
    added += _add_missing(configs, text_of, None if most is None else most - len(added))
    for start in range(0, len(added), _COUNTED):
        _count(added[start : start + _COUNTED])


def forget(chunk_ids: Sequence[uuid.UUID]) -> None:
    """These chunks are about to be removed: so are their terms. Once in a transaction, likewise."""
    sources = ChunkTerms.objects.filter(pk__in=list(chunk_ids)).values_list("source_id", flat=True)
    _lock_terms(set(sources))
    _remove("chunk_id = ANY(%s)", [list(chunk_ids)])


def forget_source(source_id: uuid.UUID) -> None:
    """What is left of the statistics of a source that has no chunks any more."""
    for table in (SourceTerm, SourceConfig):
        table.objects.filter(source=source_id).delete()


def weigh(terms: Sequence[int]) -> tuple[list[int], list[float]]:
    """The distinct terms in ascending order, and what each weighs: BM25 but for the rarity."""
    counted = sorted(Counter(terms).items())[:_MOST_TERMS]
    around = _K1 * (1 - _B + _B * len(terms) / _USUAL_LENGTH)
    return [term for term, _ in counted], [often * (_K1 + 1) / (often + around) for _, often in counted]


def take_turn(source_id: uuid.UUID) -> None:
    """Until the caller's transaction ends nobody else changes the statistics of the source."""
    _lock_terms({source_id})


def _lock_terms(source_ids: set[uuid.UUID]) -> None:
    """In one order by everybody, so that no two wait for each other."""
    advisory_xact_locks(f"terms/{source_id}" for source_id in source_ids)


def _remove(where: str, values: list[Any]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH gone AS (DELETE FROM rag_chunkterms WHERE {where} RETURNING source_id, config, terms), "
            "fewer AS (UPDATE rag_sourceconfig AS old SET chunks = old.chunks - lost.chunks FROM "
            "(SELECT source_id, config, count(*) AS chunks FROM gone GROUP BY source_id, config) AS lost "
            "WHERE (old.source_id, old.config) = (lost.source_id, lost.config)) "
            "MERGE INTO rag_sourceterm AS old USING (SELECT source_id, term, count(*) AS chunks FROM gone, "
            "unnest(terms) AS term GROUP BY source_id, term) AS lost "
            "ON (old.source_id, old.term) = (lost.source_id, lost.term) "
            "WHEN MATCHED AND old.chunks <= lost.chunks THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET chunks = old.chunks - lost.chunks",
            values,
        )


def _add_missing(configs: Mapping[uuid.UUID, str], text_of: TextOf, most: int | None) -> list[uuid.UUID]:
    """Which chunks got terms; they are not counted yet."""
    added: list[uuid.UUID] = []
    without = ~Exists(ChunkTerms.objects.filter(chunk=OuterRef("pk")))
    chunks = Chunk.objects.filter(without, document__in=list(configs))
    chunks = chunks.order_by() if most is None else chunks.order_by("pk")  # of a part callers know which comes first
    found = chunks.values_list("pk", "source_id", "document_id", "text", "headings", "document__title")
    rows = found[:most].iterator(_BATCH)
    while batch := list(itertools.islice(rows, _BATCH)):
        keys = [
            (chunk_id, source_id, document_id, configs[document_id]) for chunk_id, source_id, document_id, *_ in batch
        ]
        texts = [text_of(text, headings, title) for *_, text, headings, title in batch]
        stemmed = stemmer.terms(texts, [config for *_, config in keys])
        weighed = (weigh(terms) for terms in stemmed)
        written = (
            (*key, _array(terms), _sparse(terms, weights)) for key, (terms, weights) in zip(keys, weighed, strict=True)
        )
        copy(ChunkTerms._meta.db_table, _COLUMNS, written)
        added += (chunk_id for chunk_id, *_ in keys)
    return added


def _count(chunk_ids: Sequence[uuid.UUID]) -> None:
    """New rows, into the statistics."""
    with connection.cursor() as cursor:
        for table, column, found in (
            ("rag_sourceconfig", "config", "rag_chunkterms"),
            ("rag_sourceterm", "term", "rag_chunkterms, unnest(terms) AS term"),
        ):
            cursor.execute(
                f"INSERT INTO {table} AS old (source_id, {column}, chunks) "
                f"SELECT source_id, {column}, count(*) FROM {found} WHERE chunk_id = ANY(%s) "
                f"GROUP BY source_id, {column} "
                f"ON CONFLICT (source_id, {column}) DO UPDATE SET chunks = old.chunks + excluded.chunks",
                [list(chunk_ids)],
            )


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
