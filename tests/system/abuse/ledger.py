"""What the product has acknowledged, and whether it is there: exactly once, and whole."""

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
    """acknowledged: writes. lost, doubled, torn: names of what is not as it was acknowledged; torn: in part."""

    acknowledged: int = 0
    unanswered: int = 0
    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    torn: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return not (self.lost or self.doubled or self.torn)


class Ledger:
    """Every write is noted before it is sent, and again when it was acknowledged. Names are used once."""

    def __init__(self) -> None:
        self._changing = threading.Lock()
        self._documents: dict[str, str] = {}
        self._sources: dict[str, str | None] = {}
        self._acknowledged: set[str] = set()

    def sends(self, name: str, text: str) -> None:
        """A document: `slug/path` and its text."""
        with self._changing:
            self._documents[name] = text

    def changes(self, slug: str, name: str | None) -> None:
        """A source: how it will be called; None: deleted."""
        with self._changing:
            self._sources[slug] = name
            self._acknowledged.discard(f"source {slug}")

    def acknowledged(self, *names: str) -> None:
        with self._changing:
            self._acknowledged.update(names)

    def compared(self) -> Findings:
        """With what is stored, once nothing is under way any more."""
        with connect() as database:
            documents, sources = _stored(database)
        findings = Findings(acknowledged=len(self._acknowledged))
        findings.unanswered = len(self._documents.keys() - self._acknowledged)
        for name, text in self._documents.items():
            found = documents.get(name, [])
            if len(found) > 1:
                findings.doubled.append(name)
            elif not found and name in self._acknowledged:
                findings.lost.append(name)
            elif found and (found[0][0] != text or not found[0][1] or len(set(found[0][1:])) > 1):
                findings.torn.append(f"{name} {found[0][1:]}")
        for slug, wanted in self._sources.items():
            if f"source {slug}" in self._acknowledged and sources.get(slug) != wanted:
                findings.lost.append(f"source {slug}: {sources.get(slug)!r} instead of {wanted!r}")
        return findings


def _stored(database: "psycopg.Connection[Any]") -> tuple[dict[str, list[tuple[Any, ...]]], dict[str, str]]:
    documents: dict[str, list[tuple[Any, ...]]] = {}
    for name, *found in database.execute(_DOCUMENTS):
        documents.setdefault(name, []).append(tuple(found))
    sources = dict(database.execute("SELECT slug, name FROM rag_datasource WHERE deleted_at IS NULL").fetchall())
    return documents, sources
