"""What is stored, as seen from outside: one statement, so one snapshot."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg

# Everything of a document, its chunks, their vectors, words and pieces but identifiers and the times of writing.
# Whatever columns these tables have or get: a new one is compared without being named here.
_IMAGES = """
SELECT document.path,
       md5((to_jsonb(document) - '{id,source_id,original_id,revision,created_at,updated_at}'::text[])::text)
           || md5(coalesce(string_agg(
               (to_jsonb(chunk) - '{id,source_id,document_id}'::text[])::text
                   || (to_jsonb(vector) - '{chunk_id,source_id,document_id,model_id}'::text[])::text
                   || coalesce((to_jsonb(words) - '{chunk_id,source_id,document_id}'::text[])::text, 'no words')
                   || coalesce((to_jsonb(bits) - 'chunk_id')::text, 'no pieces'),
               E'\n' ORDER BY chunk.position, vector.chunk_id), '')),
       count(chunk.id), count(vector.chunk_id)
FROM rag_document AS document
LEFT JOIN rag_chunk AS chunk ON chunk.document_id = document.id
LEFT JOIN rag_embedding384 AS vector ON vector.chunk_id = chunk.id
LEFT JOIN rag_chunkterms AS words ON words.chunk_id = chunk.id
LEFT JOIN rag_piecebits AS bits ON bits.chunk_id = chunk.id
WHERE document.source_id = %s AND document.deleted_at IS NULL
GROUP BY document.id
"""
_ROWS = """
SELECT (SELECT count(*) FROM rag_document WHERE source_id = %(source)s),
       (SELECT count(*) FROM rag_chunk WHERE source_id = %(source)s),
       (SELECT count(*) FROM rag_embedding384 WHERE source_id = %(source)s)
"""


@dataclass(frozen=True, slots=True)
class Image:
    """digest: of all that was compared."""

    digest: str
    chunks: int
    vectors: int


Images = dict[str, list[Image]]  # by path; more than one is one too many


def connect() -> "psycopg.Connection[Any]":
    return psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)


def images(connection: "psycopg.Connection[Any]", source: UUID) -> Images:
    found: Images = {}
    for path, digest, chunks, vectors in connection.execute(_IMAGES, [source]):
        found.setdefault(path, []).append(Image(digest, chunks, vectors))
    return found


def rows(connection: "psycopg.Connection[Any]", source: UUID) -> tuple[int, int, int]:
    """Documents, chunks and vectors of the source, deleted and forgotten ones too."""
    row = connection.execute(_ROWS, {"source": source}).fetchone()
    return tuple(row) if row else (0, 0, 0)


@dataclass
class Verdict:
    """What became of the documents, beside an undisturbed run: paths; and `spare`, rows that nothing accounts for."""

    documents: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    spare: int = 0

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.different or self.spare)


def compare(found: Images, expected: Images, spare: int) -> Verdict:
    """lost: missing, or with fewer chunks or vectors than the undisturbed run has. doubled: more than it has."""
    verdict = Verdict(documents=len(expected), spare=spare)
    verdict.doubled += sorted(found.keys() - expected.keys())
    for path, (wanted,) in expected.items():
        own = found.get(path, [])
        chunks, vectors = sum(image.chunks for image in own), sum(image.vectors for image in own)
        if not own or chunks < wanted.chunks or vectors < wanted.vectors:
            verdict.lost.append(path)
        elif len(own) > 1 or chunks > wanted.chunks or vectors > wanted.vectors:
            verdict.doubled.append(path)
        elif own[0] != wanted:
            verdict.different.append(path)
    return verdict


@dataclass
class Reading:
    """snapshots: how many were looked at. mixtures: paths that were neither of their versions at some moment."""

    snapshots: int = 0
    mixtures: list[str] = field(default_factory=list)


@contextlib.contextmanager
def reader(source: UUID, allowed: Callable[[str, Image | None], bool]) -> Iterator[Reading]:
    """Somebody who looks at the source again and again, while the database is there."""
    reading, finished = Reading(), threading.Event()

    def look(connection: "psycopg.Connection[Any]") -> None:
        seen: set[str] = set()
        while not finished.wait(0.3):
            found = images(connection, source)
            reading.snapshots += 1
            for path, own in found.items():
                if len(own) > 1 or not allowed(path, own[0]):
                    reading.mixtures.append(path)
            # Once there, a document is never missing.
            reading.mixtures += list(seen - found.keys())
            seen |= found.keys()

    def watch() -> None:
        while not finished.is_set():
            try:
                with connect() as connection:
                    look(connection)
            except psycopg.OperationalError:
                time.sleep(0.1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield reading
    finally:
        finished.set()
        thread.join()
