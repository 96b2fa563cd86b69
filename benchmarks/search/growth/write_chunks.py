"""Writes the synthetic chunks with COPY into the store's tables, without their indexes, which are created afterwards.

So it takes minutes, not the hours that the product's own writing would take for 1,000,000 chunks.
"""

import json
import struct
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import numpy as np
from django.conf import settings
from django.db import connection, transaction
from numpy.typing import NDArray

from benchmarks.search.growth import readers
from benchmarks.search.growth.synthetic import SyntheticChunks
from rag.models import DataSource, EmbeddingModel
from rag.providers import provider_factory
from rag.providers.stores.pgvector import bm25_index, bm25_weights
from rag.providers.stores.pgvector.bm25_terms import stemmer
from ragsite.postgres.base import run_as_owner

# Token signatures of a chunk: 16 tokens instead of about 250, because they would take two thirds of the disk.
_SIGNATURE_BYTES = 16 * 48
_BATCH = 50_000
# PostgreSQL counts times from 1 January 2000 on: that day in Unix seconds.
_EPOCH = 946_684_800
_TABLES = (
    "rag_document", "rag_chunk", "rag_embedding384", "rag_chunkterms", "rag_chunktokensignatures", "rag_sourceterm",
    "rag_sourceconfig",
)  # fmt: skip
_INDEXES = (
    "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index "
    "WHERE indrelid = ANY(%s::regclass[]) AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)"
)


def chunk_id(number: int) -> uuid.UUID:
    return uuid.UUID(f"01970000-0000-7000-8000-{number:012x}")


def chunk_number(key: uuid.UUID) -> int:
    return key.int & (2**48 - 1)


def load(chunks: SyntheticChunks, sources: list[DataSource]) -> dict[str, float]:
    """Write everything, and return the seconds of each step."""
    seconds: dict[str, float] = {}
    with run_as_owner(), connection.cursor() as cursor:
        cursor.execute(
            f"SELECT set_config('maintenance_work_mem', '{settings.RAG_INDEX_BUILD_MEMORY_MB}MB', false), "
            "set_config('session_replication_role', 'replica', false)"
        )
        cursor.execute(_INDEXES, [list(_TABLES)])
        indexes = cursor.fetchall()
        for name, _ in indexes:
            cursor.execute(f"DROP INDEX {name}")
        with _timed(seconds, "rows"):
            _copy_rows(chunks, sources)
        for name, definition in indexes:
            with _timed(seconds, name):
                cursor.execute(definition)
        cursor.execute("RESET session_replication_role; RESET maintenance_work_mem")
    store = provider_factory.chunk_store()
    with _timed(seconds, "term statistics of access lists"):
        for organization_id in dict.fromkeys(source.organization_id for source in sources):
            _repair_totals(organization_id)
    if chunks.count > settings.RAG_EXACT_SEARCH_MAX_CHUNKS:
        with _timed(seconds, "vector index"):
            store.build_vector_index(384)
    with _timed(seconds, "VACUUM ANALYZE"), run_as_owner(), connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    return seconds


def _repair_totals(organization_id: uuid.UUID) -> None:
    with transaction.atomic():
        provider_factory.chunk_store().repair_totals(organization_id)


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - started
    print(f"{seconds[name]:8.1f} s  {name}", flush=True)


def _copy_rows(chunks: SyntheticChunks, sources: list[DataSource]) -> None:
    """Write the rows of all tables, batch by batch, and the term statistics of the sources in the end."""
    vocabulary = chunks.vocabulary
    by_word = stemmer.terms_of_words(vocabulary, "english")
    terms = np.array([-1 if by_word[word] is None else by_word[word] for word in vocabulary])
    source_terms: list[NDArray[np.int64]] = []
    number = 0
    for batch in chunks.words():
        texts = [" ".join([vocabulary[place] for place in words]) for words in batch]
        chunk_terms = [terms[words] for words in batch]
        chunk_terms = [every[every >= 0] for every in chunk_terms]
        rows = range(number, number + len(batch))
        _copy_documents(chunks, sources, rows, texts)
        _copy_chunks(chunks, sources, rows, texts)
        _copy_vectors(chunks, sources, rows)
        _copy_terms(chunks, sources, rows, chunk_terms)
        _copy_signatures(rows)
        for row, row_terms in zip(rows, chunk_terms, strict=True):
            source_terms.append(np.unique(row_terms) + (int(chunks.source_of[row]) << 32))
        number += len(batch)
        if number % _BATCH == 0:
            print(f"            {number:,} chunks written", flush=True)
            source_terms = [np.concatenate(source_terms)]
    _copy_statistics(chunks, sources, np.concatenate(source_terms))


def _copy(table: str, columns: str, rows: Iterable[bytes]) -> None:
    """Copy rows in the binary format, without the number of their fields."""
    count = struct.pack(">h", len(columns.split(",")))
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as stream:
        stream.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        stream.write(b"".join(part for row in rows for part in (count, row)))
        stream.write(b"\xff\xff")


def _field(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


# The OID of the type text in pg_type.
_TEXT_OID = 25
# An array begins with the number of its dimensions, whether it has nulls, and the type of its elements.
_NULL, _EMPTY_ARRAY = struct.pack(">i", -1), struct.pack(">iii", 0, 0, _TEXT_OID)


def _integer(value: int) -> bytes:
    return _field(struct.pack(">i", value))


def _texts(values: list[str]) -> bytes:
    """An array of texts in the binary format."""
    elements = b"".join(_field(value.encode()) for value in values)
    return struct.pack(">iiiii", 1, 0, _TEXT_OID, len(values), 1) + elements if values else _EMPTY_ARRAY


def _document_id(number: int) -> bytes:
    return uuid.UUID(f"01960000-0000-7000-8000-{number:012x}").bytes


def _date(chunks: SyntheticChunks, document: int) -> bytes:
    """A date between 2000 and 2010: microseconds since 2000."""
    return struct.pack(">q", int(chunks.age_of_document[document] * 10 * 365 * 86_400 * 1_000_000))


def _copy_documents(chunks: SyntheticChunks, sources: list[DataSource], rows: range, texts: list[str]) -> None:
    columns = (
        "id, source_id, path, title, uri, content_type, source_type, lang, tags, metadata, date, text, content_hash, "
        "chunk_size, chunk_overlap, chunk_count, bytes, revision, created_at, updated_at"
    )
    now = _field(struct.pack(">q", int((time.time() - _EPOCH) * 1_000_000)))
    documents: dict[int, list[str]] = {}
    for row, text in zip(rows, texts, strict=True):
        documents.setdefault(int(chunks.document_of[row]), []).append(text)
    copied = []
    for document, parts in documents.items():
        source = int(chunks.source_of_document[document])
        key, content = _field(_document_id(document)), "\n".join(parts).encode()
        short = [f"document-{document}", f"Document {document}", "", "text/plain", "doc", "en"]
        copied.append(
            key + _field(sources[source].pk.bytes) + b"".join(_field(value.encode()) for value in short)
            + _field(_texts(readers.tags_of(source))) + _field(b"\1" + json.dumps({}).encode())
            + _field(_date(chunks, document)) + _field(content) + _field(b"") + _integer(256) + _integer(0)
            + _integer(len(parts)) + _field(struct.pack(">q", len(content))) + key + now + now
        )  # fmt: skip
    _copy("rag_document", columns, copied)


def _copy_chunks(chunks: SyntheticChunks, sources: list[DataSource], rows: range, texts: list[str]) -> None:
    copied = []
    position = start = 0
    for row, text in zip(rows, texts, strict=True):
        document = int(chunks.document_of[row])
        if row == rows.start or document != chunks.document_of[row - 1]:
            position = start = 0
        encoded = text.encode()
        copied.append(
            _keys(chunks, sources, row) + _integer(position) + _integer(start) + _integer(start + len(encoded))
            + _field(encoded) + _field(_EMPTY_ARRAY) + _integer(len(encoded) // 5) + _NULL + _NULL + _NULL
        )  # fmt: skip
        position, start = position + 1, start + len(encoded) + 1
    columns = (
        'id, source_id, document_id, position, start, "end", text, headings, tokens, first_page, last_page, digest'
    )
    _copy("rag_chunk", columns, copied)


def _keys(chunks: SyntheticChunks, sources: list[DataSource], row: int) -> bytes:
    source = sources[int(chunks.source_of[row])].pk.bytes
    return _field(chunk_id(row).bytes) + _field(source) + _field(_document_id(int(chunks.document_of[row])))


def _copy_vectors(chunks: SyntheticChunks, sources: list[DataSource], rows: range) -> None:
    model = _field(EmbeddingModel.objects.default().pk.bytes)
    vectors = np.ascontiguousarray(chunks.vectors[rows.start : rows.stop], ">f2")
    header = struct.pack(">ihh", 4 + 2 * vectors.shape[1], vectors.shape[1], 0)
    filters = {
        source: _field(b"doc") + _field(b"text/plain") + _field(b"en") + _field(_texts(readers.tags_of(source)))
        for source in {int(number) for number in chunks.source_of[rows.start : rows.stop]}
    }
    _copy(
        "rag_embedding384",
        "chunk_id, source_id, document_id, model_id, source_type, content_type, lang, tags, date, embedding",
        (
            _keys(chunks, sources, row) + model + filters[int(chunks.source_of[row])]
            + _field(_date(chunks, int(chunks.document_of[row]))) + header + vector.tobytes()
            for row, vector in zip(rows, vectors, strict=True)
        ),
    )  # fmt: skip


def _copy_terms(
    chunks: SyntheticChunks, sources: list[DataSource], rows: range, chunk_terms: list[NDArray[np.int64]]
) -> None:
    copied = []
    for row, row_terms in zip(rows, chunk_terms, strict=True):
        terms, weights = bm25_weights.weigh(row_terms.tolist())
        arrays = _field(bm25_index.array_bytes(terms)) + _field(bm25_index.sparse_bytes(terms, weights))
        copied.append(_keys(chunks, sources, row) + _field(b"english") + arrays)
    _copy("rag_chunkterms", "chunk_id, source_id, document_id, config, terms, weights", copied)


def _copy_signatures(rows: range) -> None:
    random = np.random.default_rng(rows.start)
    copied = (
        _field(chunk_id(row).bytes) + _field(signature.tobytes())
        for row, signature in zip(rows, random.integers(0, 256, (len(rows), _SIGNATURE_BYTES), np.uint8), strict=True)
    )
    _copy("rag_chunktokensignatures", "chunk_id, signatures", copied)


def _copy_statistics(chunks: SyntheticChunks, sources: list[DataSource], source_terms: NDArray[np.int64]) -> None:
    """Count how many chunks of each source contain each term."""
    pairs, counts = np.unique(source_terms, return_counts=True)
    rows = np.zeros(
        len(pairs), [("n1", ">i4"), ("source", "V16"), ("n2", ">i4"), ("term", ">i4"), ("n3", ">i4"), ("chunks", ">i4")]
    )
    keys = np.frombuffer(b"".join(source.pk.bytes for source in sources), "V16")
    rows["n1"], rows["n2"], rows["n3"] = 16, 4, 4
    rows["source"], rows["term"], rows["chunks"] = keys[pairs >> 32], pairs & (2**32 - 1), counts
    for start in range(0, len(rows), 10 * _BATCH):
        batch = rows[start : start + 10 * _BATCH]
        _copy("rag_sourceterm", "source_id, term, chunks", (row.tobytes() for row in batch))
    per_source = np.bincount(chunks.source_of)
    _copy(
        "rag_sourceconfig",
        "source_id, config, chunks",
        (
            _field(source.pk.bytes) + _field(b"english") + _integer(int(count))
            for source, count in zip(sources, per_source, strict=True)
        ),
    )
