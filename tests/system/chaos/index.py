"""The search index of a run with CHAOS_STORE=qdrant: Qdrant, as far as its client's local mode is one.

Its server refuses requests from time to time. In the end its points must be those of the chunks in PostgreSQL.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from tests.support.servers.qdrant_server import QdrantServer

_UP_SECONDS, _DOWN_SECONDS = 3.0, 1.0
_MAX_COPY_SECONDS = 60.0


@dataclass(frozen=True)
class IndexVerdict:
    """The index after all changes were copied. `wrong` points are missing, outdated or left over."""

    points: int
    wrong: int
    outages: int

    @property
    def is_good(self) -> bool:
        return self.points > 0 and self.wrong == 0 and self.outages > 0


class Index:
    """A server that is down for a second every few seconds while the context is entered."""

    def __init__(self, server: QdrantServer) -> None:
        self._server = server
        self._ended = threading.Event()
        self._outages = 0

    @contextmanager
    def interrupted(self) -> Iterator[None]:
        thread = threading.Thread(target=self._interrupt)
        thread.start()
        try:
            yield
        finally:
            self._ended.set()
            thread.join()
            self._server.is_down = False

    def _interrupt(self) -> None:
        while not self._ended.wait(_UP_SECONDS):
            self._server.is_down = True
            self._outages += 1
            self._ended.wait(_DOWN_SECONDS)
            self._server.is_down = False

    def start_recording(self) -> None:
        from rag.services.maintenance.indexes import move_vectors

        move_vectors.copy_to_qdrant(lambda documents: None)

    def judge(self) -> IndexVerdict:
        """Copy what is recorded, and compare all points with the chunks: what copying changes then was wrong."""
        from rag.models import EmbeddingModel
        from rag.models.content.index_outbox import IndexChange
        from rag.providers import provider_factory
        from rag.providers.stores.qdrant import collection

        store, engine = provider_factory.qdrant_store(), self._server.engine
        deadline = time.monotonic() + _MAX_COPY_SECONDS
        while IndexChange.objects.exists():  # PostgreSQL may still hold locks of workers that were killed
            if not store.apply_changes(limit=500):
                time.sleep(0.1)
            assert time.monotonic() < deadline, "the outbox does not become empty"
        before = self._digests()
        names = [collection.name(model.pk) for model in EmbeddingModel.objects.order_by("pk")]
        count = sum(engine.count(name).count for name in names if engine.collection_exists(name))
        leftovers, position = store.delete_leftovers(), UUID(int=0)
        while last := store.copy_documents(after=position, limit=50):
            position = last
        after = self._digests()
        wrong = [pk for pk in {*before, *after} if before.get(pk) != after.get(pk)]
        missing = sum(pk not in before for pk in wrong)
        print(
            f"Qdrant: missing {missing}, outdated {len(wrong) - missing}, of them left over {leftovers}",
            flush=True,
        )
        return IndexVerdict(count, len(wrong), self._outages)

    def _digests(self) -> dict[str, str]:
        """Return the digest of each point, which says what it was made of."""
        engine = self._server.engine
        records = [
            record
            for description in engine.get_collections().collections
            for record in engine.scroll(description.name, limit=100_000)[0]
        ]
        return {str(record.id): (record.payload or {}).get("digest", "") for record in records}


@contextmanager
def running_index() -> Iterator[Index | None]:
    """Start the index that CHAOS_STORE names, for this process and its children; None for PostgreSQL."""
    if os.environ.get("CHAOS_STORE", "pgvector") != "qdrant":
        yield None
        return
    with QdrantServer().running() as server:
        os.environ.update(VECTOR_STORE="qdrant", QDRANT_URL=server.url)
        yield Index(server)
