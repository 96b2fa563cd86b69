"""Records what the product has acknowledged, and compares it with what is stored: exactly once, and completely."""

import threading
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.system.chaos.snapshots import connect

_DOCUMENTS = """
SELECT source.slug || '/' || document.path, document.text, document.chunk_count,
       (SELECT count(*) FROM rag_chunk AS chunk WHERE chunk.document_id = document.id),
       (SELECT count(*) FROM rag_embedding384 AS vector WHERE vector.document_id = document.id)
FROM rag_document AS document JOIN rag_datasource AS source ON source.id = document.source_id
WHERE document.deleted_at IS NULL AND source.deleted_at IS NULL
"""


@dataclass
class Findings:
    """The comparison of recorded and stored writes.

    Attributes:
        acknowledged: How many writes were acknowledged.
        unanswered: How many documents were sent and not acknowledged.
        lost: Names of what was acknowledged and is not stored as acknowledged.
        doubled: Names of documents that are stored more than once.
        partial: Names of documents that have another text, or not all of their chunks or vectors.
    """

    acknowledged: int = 0
    unanswered: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    partial: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        return not (self.lost or self.doubled or self.partial)


class Ledger:
    """Every write is recorded before it is sent, and again when it was acknowledged. No name is used twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._documents: dict[str, str] = {}
        self._sources: dict[str, str | None] = {}
        self._acknowledged: set[str] = set()

    def record_document(self, name: str, text: str) -> None:
        """Record a document that will be sent: `slug/path` and its text."""
        with self._lock:
            self._documents[name] = text

    def record_source(self, slug: str, name: str | None) -> None:
        """Record the next name of a source; None: it will be deleted."""
        with self._lock:
            self._sources[slug] = name
            self._acknowledged.discard(f"source {slug}")

    def acknowledge(self, *names: str) -> None:
        with self._lock:
            self._acknowledged.update(names)

    def compare(self) -> Findings:
        """Compare with what is stored. Call it when no request and no job is open any more."""
        with connect() as database:
            documents, sources = _read_stored(database)
        findings = Findings(acknowledged=len(self._acknowledged))
        findings.unanswered = len(self._documents.keys() - self._acknowledged)
        for name, text in self._documents.items():
            rows = documents.get(name, [])
            if len(rows) > 1:
                findings.doubled.append(name)
            elif not rows and name in self._acknowledged:
                findings.lost.append(name)
            elif rows and (rows[0][0] != text or not rows[0][1] or len(set(rows[0][1:])) > 1):
                findings.partial.append(f"{name} {rows[0][1:]}")
        for slug, expected_name in self._sources.items():
            if f"source {slug}" in self._acknowledged and sources.get(slug) != expected_name:
                findings.lost.append(f"source {slug}: {sources.get(slug)!r} instead of {expected_name!r}")
        return findings


def _read_stored(database: "psycopg.Connection[Any]") -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, str]]:
    """The rows of documents by name, and the names of sources by slug."""
    documents: dict[str, list[tuple[Any, ...]]] = {}
    database.execute("SET ROLE ragsite_worker")  # row-level security hides the rows from the owner of the tables
    for name, *columns in database.execute(_DOCUMENTS):
        documents.setdefault(name, []).append(tuple(columns))
    sources = dict(database.execute("SELECT slug, name FROM rag_datasource WHERE deleted_at IS NULL").fetchall())
    return documents, sources
