"""Reads what is stored of a source's documents, in one statement and so from one snapshot."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

# A digest over all columns of a document, its chunks, vectors, terms and token signatures, without identifiers and
# write times. New columns are compared without being named here.
_STORED_DOCUMENTS = """
SELECT document.path,
       md5((to_jsonb(document) - '{id,source_id,original_id,revision,created_at,updated_at}'::text[])::text)
           || md5(coalesce(string_agg(
               (to_jsonb(chunk) - '{id,source_id,document_id}'::text[])::text
                   || (to_jsonb(vector) - '{chunk_id,source_id,document_id,model_id}'::text[])::text
                   || coalesce((to_jsonb(terms) - '{chunk_id,source_id,document_id}'::text[])::text, 'no terms')
                   || coalesce((to_jsonb(token_rows) - 'chunk_id')::text, 'no signatures'),
               E'\n' ORDER BY chunk.position, vector.chunk_id), '')),
       count(chunk.id), count(vector.chunk_id)
FROM rag_document AS document
LEFT JOIN rag_chunk AS chunk ON chunk.document_id = document.id
LEFT JOIN rag_embedding384 AS vector ON vector.chunk_id = chunk.id
LEFT JOIN rag_chunkterms AS terms ON terms.chunk_id = chunk.id
LEFT JOIN rag_chunktokensignatures AS token_rows ON token_rows.chunk_id = chunk.id
WHERE document.source_id = %s AND document.deleted_at IS NULL
GROUP BY document.id
"""
_ROW_COUNTS = """
SELECT (SELECT count(*) FROM rag_document WHERE source_id = %(source)s),
       (SELECT count(*) FROM rag_chunk WHERE source_id = %(source)s),
       (SELECT count(*) FROM rag_embedding384 WHERE source_id = %(source)s)
"""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """One document: a digest of everything compared, and the number of its chunks and vectors."""

    digest: str
    chunks: int
    vectors: int


StoredDocuments = dict[str, list[StoredDocument]]  # by path; more than one for a path is a duplicate


def connect() -> "psycopg.Connection[Any]":
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def stored_documents(connection: "psycopg.Connection[Any]", source: UUID) -> StoredDocuments:
    stored: StoredDocuments = {}
    for path, digest, chunks, vectors in connection.execute(_STORED_DOCUMENTS, [source]):
        stored.setdefault(path, []).append(StoredDocument(digest, chunks, vectors))
    return stored


def rows(connection: "psycopg.Connection[Any]", source: UUID) -> tuple[int, int, int]:
    """The number of documents, chunks and vectors of the source, deleted ones included."""
    row = connection.execute(_ROW_COUNTS, {"source": source}).fetchone()
    return tuple(row) if row else (0, 0, 0)


@dataclass
class Verdict:
    """Paths of documents that differ from the undisturbed run, and the number of rows that belong to no document."""

    documents: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    surplus_rows: int = 0

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.different or self.surplus_rows)


def compare(stored: StoredDocuments, expected: StoredDocuments, surplus_rows: int) -> Verdict:
    """Compare stored documents with the undisturbed run: fewer chunks or vectors are lost, more are doubled."""
    verdict = Verdict(documents=len(expected), surplus_rows=surplus_rows)
    verdict.doubled += sorted(stored.keys() - expected.keys())
    for path, (expected_document,) in expected.items():
        documents = stored.get(path, [])
        chunks, vectors = (
            sum(document.chunks for document in documents),
            sum(document.vectors for document in documents),
        )
        if not documents or chunks < expected_document.chunks or vectors < expected_document.vectors:
            verdict.lost.append(path)
        elif len(documents) > 1 or chunks > expected_document.chunks or vectors > expected_document.vectors:
            verdict.doubled.append(path)
        elif documents[0] != expected_document:
            verdict.different.append(path)
    return verdict


@dataclass
class Observation:
    """How many snapshots were read, and the paths that in one of them had neither their old nor their new version."""

    snapshots: int = 0
    mixed_versions: list[str] = field(default_factory=list)


@contextlib.contextmanager
def observer(source: UUID, allowed: Callable[[str, StoredDocument | None], bool]) -> Iterator[Observation]:
    """Read the source repeatedly in a thread, whenever the database can be reached."""
    observation, finished = Observation(), threading.Event()

    def read_repeatedly(connection: "psycopg.Connection[Any]") -> None:
        seen: set[str] = set()
        while not finished.wait(0.3):
            stored = stored_documents(connection, source)
            observation.snapshots += 1
            for path, documents in stored.items():
                if len(documents) > 1 or not allowed(path, documents[0]):
                    observation.mixed_versions.append(path)
            # A document that was stored once must never be missing later.
            observation.mixed_versions += list(seen - stored.keys())
            seen |= stored.keys()

    def watch() -> None:
        while not finished.is_set():
            try:
                with connect() as connection:
                    read_repeatedly(connection)
            except psycopg.OperationalError:
                time.sleep(0.1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield observation
    finally:
        finished.set()
        thread.join()
