"""Faults at a precise place. Each is seen to be there before it is struck: a fault that misses fails the run."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection

from rag.models import Document, IngestionDocument, IngestionJob

from .library import Author
from .locks import NotReached, eventually, locked
from .run import Run, State, Status

_DOCUMENTS = "rag_ingestiondocument"
_QUEUE, _UNACKED = "ragsite:ingestion", "ragsite:unacked"


class Scene:
    """A job of a few documents; the last one, whose new version has the scene's word in it, is where it happens."""

    def __init__(
        self, run: Run, name: str, author: Author, *, count: int = 4, sections: int = 2, everywhere: bool = False
    ) -> None:
        """sections: of the last document. everywhere: the word is in all of them."""
        self.run, self.name, self.word = run, name, "halt" + "".join(word[0].lower() for word in name.split())
        self._everywhere = everywhere
        # Half of them exist already, the last one among these.
        self.books = [
            author.book(
                f"{name}/{number}.md",
                exists=number % 2 == 1,
                mark=self.word if everywhere or number == count - 1 else "",
                rewritten=sections > 2,
                sections=sections if number == count - 1 else 2,
            )
            for number in range(count)
        ]
        self._job: IngestionJob | None = None

    @property
    def job(self) -> IngestionJob:
        assert self._job is not None
        return self._job

    def submit(self) -> None:
        self._job = self.run.submit([book.sent[0] for book in self.books])

    def ids(self) -> list[UUID]:
        return [row.pk for row in self.rows()]

    def rows(self) -> list[IngestionDocument]:
        return list(IngestionDocument.objects.filter(job=self.job).order_by("index"))

    @contextmanager
    def embedding_held(self) -> Iterator[None]:
        """In the block the last document's embedding was asked for, and is not answered."""
        self.run.endpoint.hold(self.word)
        try:
            self.submit()
            eventually(self.run.endpoint.reached, f"{self.name}: no embedding was asked for")
            if not self._everywhere:
                eventually(lambda: {row.state for row in self.rows()[:-1]} == {State.DONE}, f"{self.name}: the others")
                self.require(self.rows()[-1].state == State.RUNNING, "the document is not held")
            yield
        finally:
            self.run.endpoint.release()

    def require(self, holds: bool, otherwise: str) -> None:
        if not holds:
            raise NotReached(f"{self.name}: {otherwise}")

    def is_old(self) -> bool:
        """Whether readers have the last document's old version still."""
        document = Document.objects.live().get(source=self.run.disturbed, path=self.books[-1].path)
        return self.word not in document.text


def before_the_claim(scene: Scene) -> None:
    """Its rows are chosen, and its organisation's turn is being written down; nothing of it is committed."""
    scene.run.site.kill_worker()  # or it would be quicker than our lock
    scene.submit()
    organization = scene.run.disturbed.organization_id
    with locked("rag_ingestionturn", [organization], key="organization_id") as holder:
        scene.run.site.start_worker()
        holder.wait_for("rag_ingestionturn")
        rows = scene.rows()
        scene.require({(row.state, row.attempts) for row in rows} == {(State.QUEUED, 0)}, "something is claimed")
        scene.run.site.kill_worker()


def after_parsing(scene: Scene) -> None:
    with scene.embedding_held():
        scene.require(scene.is_old(), "it is written already")
        scene.run.site.kill_worker()


def in_the_middle_of_embedding(scene: Scene) -> None:
    """The document has several batches of passages; its word is in the last one."""
    with scene.embedding_held():
        scene.require(max(scene.run.endpoint.answered, default=0) >= 128, "no batch of it was answered")
        scene.require(scene.is_old(), "it is written already")
        scene.run.site.kill_worker()


def before_the_first_write(scene: Scene) -> None:
    """The transaction that indexes has begun and waits for its source."""
    with scene.embedding_held(), locked("rag_datasource", [scene.run.disturbed.pk]) as holder:
        scene.run.endpoint.release()
        holder.wait_for("rag_datasource")
        scene.require(scene.rows()[-1].state == State.RUNNING, "it is done already")
        scene.run.site.kill_worker()


def in_the_middle_of_the_commit(scene: Scene) -> None:
    """Old chunks are removed, new ones written, and nothing of it is committed."""
    with scene.embedding_held(), locked(_DOCUMENTS, [scene.ids()[-1]]) as holder:
        scene.run.endpoint.release()
        holder.wait_for(f'"{_DOCUMENTS}"', chunks_written=True)
        scene.require(scene.is_old(), "it is committed already")
        scene.run.site.kill_worker()


def before_the_acknowledgement(scene: Scene) -> None:
    """Everything of the job is committed, its message is not acknowledged."""
    with scene.embedding_held(), locked("rag_ingestionjob", [scene.job.pk]) as holder:
        scene.run.endpoint.release()
        eventually(lambda: {row.state for row in scene.rows()} == {State.DONE}, f"{scene.name}: not done")
        holder.wait_for("rag_ingestionjob")
        scene.require(not scene.is_old(), "it is not written")
        scene.require(_unacknowledged(scene), "its message is acknowledged already")
        scene.run.site.kill_worker()
    scene.job.refresh_from_db()
    scene.require(scene.job.status == Status.PROCESSING, "the job was closed")


def while_postgres_restarts(scene: Scene) -> None:
    with scene.embedding_held():
        scene.run.site.restart_postgres()
        connection.close()
        scene.require(scene.is_old(), "it is written already")


def while_postgres_crashes(scene: Scene) -> None:
    """In the middle of the commit. The worker lives."""
    with scene.embedding_held(), locked(_DOCUMENTS, [scene.ids()[-1]]) as holder:
        scene.run.endpoint.release()
        holder.wait_for(f'"{_DOCUMENTS}"', chunks_written=True)
        scene.run.site.crash_postgres()
        connection.close()


def while_redis_forgets(scene: Scene) -> None:
    """The worker is at work, and the messages of all other documents wait in the queue."""
    with scene.embedding_held(), scene.run.site.redis() as client:
        scene.require(client.llen(_QUEUE) > 0, "nothing is queued")
        scene.run.site.flush_redis()
        scene.require(client.llen(_QUEUE) == 0, "the queue is still there")
        scene.require(State.QUEUED in {row.state for row in scene.rows()}, "every document is taken")


def _unacknowledged(scene: Scene) -> bool:
    with scene.run.site.redis() as client:
        messages = [json.loads(value)[0] for value in client.hvals(_UNACKED)]
    return any(message["headers"]["task"] == "rag.ingest_documents" for message in messages)


def inject_all(run: Run) -> None:
    """Every stage once, each on documents of its own."""
    author = Author(seed=4)
    scenes = {name: Scene(run, name, author, **options) for name, (_, options) in STAGES.items()}
    with run.judged([book for scene in scenes.values() for book in scene.books]):
        for name, scene in scenes.items():
            begun = time.monotonic()
            run.keep_worker_running()
            STAGES[name][0](scene)
            run.struck(name)
            run.keep_worker_running()
            scene.require(run.wait_for(scene.job), "its job did not end as it should")
            print(f"  {name}: recovered, {time.monotonic() - begun:.0f} s", flush=True)


Options = dict[str, Any]
STAGES: dict[str, tuple[Callable[[Scene], None], Options]] = {
    "killed before the claim": (before_the_claim, {}),
    "killed after parsing": (after_parsing, {}),
    "killed in the middle of embedding": (in_the_middle_of_embedding, {"sections": 40}),
    "killed before the first write": (before_the_first_write, {}),
    "killed in the middle of the commit": (in_the_middle_of_the_commit, {}),
    "killed before the acknowledgement": (before_the_acknowledgement, {}),
    "Postgres restarted": (while_postgres_restarts, {}),
    "Postgres crashed in the middle of the commit": (while_postgres_crashes, {}),
    "Redis flushed": (while_redis_forgets, {"count": 12, "everywhere": True}),
}
