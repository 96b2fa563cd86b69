"""Writes the BM25 index: the weight of each term of a chunk, and the statistics of terms.

bm25_weights has the formula. docs/decisions/0023-bm25-in-postgresql.md explains the index.
"""

import itertools
import struct
import uuid
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from rag.models import Chunk, Document
from rag.models.content.pgvector_tables import TERM_DIMENSIONS, ChunkTerms, SourceConfig, SourceTerm
from rag.providers.stores.binary_copy import copy_with_rls
from rag.providers.stores.store_writes import DocumentVersion
from rag.text import languages
from rag.text.indexed_text import embedded_text
from ragsite.postgres.statements.round_trips import Value

from .bm25_terms import stemmer
from .bm25_weights import weigh

# How many chunks are in memory at a time, and how many are counted by one statement.
_WRITE_BATCH, _COUNT_BATCH = 1_000, 10_000
# The type int4 in PostgreSQL's binary format: its OID in pg_type, and the length of a value.
_INT4_OID, _INT4_BYTES = 23, 4

_COLUMNS = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "config": "text", "terms": "bytea",
    "weights": "bytea",
}  # fmt: skip
# A chunk, its source and its document, and the text search configuration of its terms.
_Key = tuple[uuid.UUID, uuid.UUID, uuid.UUID, str]
_WITHOUT_TERMS = ~Exists(ChunkTerms.objects.filter(chunk=OuterRef("pk")))


def sync(
    document_ids: Sequence[uuid.UUID],
    *,
    new: Sequence[tuple[DocumentVersion, Sequence[uuid.UUID]]] = (),
    rebuild: Sequence[uuid.UUID] = (),
    limit: int | None = None,
) -> None:
    """Write the missing terms of these documents' chunks and delete outdated terms, in the current transaction.

    Terms of chunks that no longer exist are deleted. Existing terms are kept unless the document's language has changed
    or the document is to be rebuilt.

    Call it once per transaction and towards its end: other writers of the same sources wait from the moment when this
    begins to count until the transaction ends. Reading and stemming happen before that, except for documents to
    rebuild. The calling code keeps other writers of these documents waiting.

    Args:
        document_ids: The documents whose chunks are read.
        new: Versions of other documents, which had no chunks before, with the ids of their chunks. These are not read
            again.
        rebuild: The documents whose terms are all computed again, because their title has changed.
        limit: The maximum number of chunks without terms that are indexed, in the order of their ids; None for all.
    """
    if not document_ids and not new:
        return
    documents = Document.objects.filter(pk__in=list(document_ids))
    sources_and_langs = list(documents.values_list("pk", "source_id", "lang")) if document_ids else []
    source_ids = [source_id for _, source_id, _ in sources_and_langs]
    configs = {document_id: _config(lang) for document_id, _, lang in sources_and_langs}
    added = _add_new(new)
    added += _add_missing({key: configs[key] for key in configs.keys() - set(rebuild)}, limit)
    lock_statistics({*source_ids, *(version.document.source_id for version, _ in new)})
    if configs:
        _delete(
            "source_id = ANY(%s) AND document_id = ANY(%s) AND (NOT EXISTS (SELECT FROM rag_chunk WHERE id = chunk_id) "
            "OR (document_id, config) NOT IN (SELECT * FROM unnest(%s::uuid[], %s::text[])) OR document_id = ANY(%s))",
            [source_ids, list(configs), list(configs), list(configs.values()), list(rebuild)],
        )
        added += _add_missing(configs, None if limit is None else limit - len(added))
    for start in range(0, len(added), _COUNT_BATCH):
        _count(added[start : start + _COUNT_BATCH])


def delete(chunk_ids: Sequence[uuid.UUID]) -> None:
    """Delete the terms of chunks that are about to be deleted. Call it once per transaction."""
    source_ids = ChunkTerms.objects.filter(pk__in=list(chunk_ids)).values_list("source_id", flat=True)
    lock_statistics(set(source_ids))
    _delete("chunk_id = ANY(%s)", [list(chunk_ids)])


def delete_statistics(source_id: uuid.UUID) -> None:
    """Delete the remaining statistics of a source that has no chunks any more."""
    for table in (SourceTerm, SourceConfig):
        table.objects.filter(source=source_id).delete()


def chunks_without_terms(source_id: uuid.UUID) -> QuerySet[Chunk]:
    """Return the source's chunks without terms, except chunks of deleted documents, which no search finds."""
    return Chunk.objects.filter(_WITHOUT_TERMS, source=source_id, document__deleted_at=None)


def lock_statistics(source_ids: Iterable[uuid.UUID]) -> None:
    """Lock the statistics of the sources' organisations: other writers of them wait until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rag_lock_statistics(ARRAY(SELECT organization_id FROM rag_datasource WHERE id = ANY(%s)))",
            [list(source_ids)],
        )


def _delete(where: str, values: Sequence[Value]) -> None:
    """Delete terms and subtract them from the statistics."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH deleted AS (DELETE FROM rag_chunkterms WHERE {where} RETURNING source_id, config, terms), "
            "updated AS (UPDATE rag_sourceconfig AS old SET chunks = old.chunks - lost.chunks FROM "
            "(SELECT source_id, config, count(*) AS chunks FROM deleted GROUP BY source_id, config) AS lost "
            "WHERE (old.source_id, old.config) = (lost.source_id, lost.config)) "
            "MERGE INTO rag_sourceterm AS old USING (SELECT source_id, term, count(*) AS chunks FROM deleted, "
            "unnest(terms) AS term GROUP BY source_id, term) AS lost "
            "ON (old.source_id, old.term) = (lost.source_id, lost.term) "
            "WHEN MATCHED AND old.chunks <= lost.chunks THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET chunks = old.chunks - lost.chunks",
            values,
        )


def _config(lang: str) -> str:
    """Return the text search configuration of a document.

    A text whose language is unknown counts as English: it is often code, or too short to detect the language.
    """
    return languages.text_search_config(lang or "english")


def _add_new(versions: Sequence[tuple[DocumentVersion, Sequence[uuid.UUID]]]) -> list[uuid.UUID]:
    """Write the terms of the versions' new chunks, and return the chunks' ids. They are not counted yet."""
    chunks = (
        (
            (chunk_id, version.document.source_id, version.document.pk, config),
            embedded_text(draft.text, draft.headings, version.document.title),
        )
        for version, chunk_ids in versions
        for config in [_config(version.document.lang)]
        for chunk_id, index in zip(chunk_ids, version.new_indexes, strict=True)
        for draft in [version.chunks[index]]
    )
    while batch := list(itertools.islice(chunks, _WRITE_BATCH)):
        _write_terms(batch)
    return [chunk_id for _, chunk_ids in versions for chunk_id in chunk_ids]


def _add_missing(configs: Mapping[uuid.UUID, str], limit: int | None) -> list[uuid.UUID]:
    """Write the missing terms of these documents' chunks, and return the chunks' ids. They are not counted yet."""
    if not configs:
        return []
    added: list[uuid.UUID] = []
    chunks = Chunk.objects.filter(_WITHOUT_TERMS, document__in=list(configs))
    chunks = chunks.order_by() if limit is None else chunks.order_by("pk")  # the next call continues by id
    values = chunks.values_list("pk", "source_id", "document_id", "text", "headings", "document__title")
    remaining = values[:limit].iterator(_WRITE_BATCH)
    while batch := list(itertools.islice(remaining, _WRITE_BATCH)):
        _write_terms(
            [
                ((chunk_id, source_id, document_id, configs[document_id]), embedded_text(text, headings, title))
                for chunk_id, source_id, document_id, text, headings, title in batch
            ]
        )
        added += (chunk_id for chunk_id, *_ in batch)
    return added


def _write_terms(chunks: Sequence[tuple[_Key, str]]) -> None:
    """Write the terms of these texts of chunks."""
    terms_by_chunk = stemmer.terms([text for _, text in chunks], [config for (*_, config), _ in chunks])
    weighed = (weigh(terms) for terms in terms_by_chunk)
    copied = (
        (*key, array_bytes(terms), sparse_bytes(terms, weights))
        for (key, _), (terms, weights) in zip(chunks, weighed, strict=True)
    )
    copy_with_rls(ChunkTerms._meta.db_table, _COLUMNS, copied)


def _count(chunk_ids: Sequence[uuid.UUID]) -> None:
    """Add the terms of newly written chunks to the statistics."""
    with connection.cursor() as cursor:
        for table, column, rows in (
            ("rag_sourceconfig", "config", "rag_chunkterms"),
            ("rag_sourceterm", "term", "rag_chunkterms, unnest(terms) AS term"),
        ):
            cursor.execute(
                f"INSERT INTO {table} AS old (source_id, {column}, chunks) "
                f"SELECT source_id, {column}, count(*) FROM {rows} WHERE chunk_id = ANY(%s) "
                f"GROUP BY source_id, {column} "
                f"ON CONFLICT (source_id, {column}) DO UPDATE SET chunks = old.chunks + excluded.chunks",
                [list(chunk_ids)],
            )


def array_bytes(terms: Sequence[int]) -> bytes:
    """Return the terms in PostgreSQL's binary format of int4[], in which the length precedes each element."""
    dimensions, has_nulls, lower_bound = 1 if terms else 0, 0, 1
    header = struct.pack(">iii", dimensions, has_nulls, _INT4_OID)
    if terms:
        header += struct.pack(">ii", len(terms), lower_bound)
    pairs = np.empty((len(terms), 2), ">i4")
    pairs[:, 0], pairs[:, 1] = _INT4_BYTES, terms
    return header + pairs.tobytes()


def sparse_bytes(terms: Sequence[int], weights: Sequence[float]) -> bytes:
    """Return the weights of the terms in pgvector's binary format of a sparse vector."""
    header = struct.pack(">iii", TERM_DIMENSIONS, len(terms), 0)
    return header + np.array(terms, ">i4").tobytes() + np.array(weights, ">f4").tobytes()
