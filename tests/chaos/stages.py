"""Faults at a precise place. Each is seen to be there before it is struck: a fault that misses fails the run."""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

from rag.models import Document, IngestionDocument, IngestionJob

from .library import Author, Book
from .locks import NotReached, eventually, locked
from .run import Run, State, Status

_DOCUMENTS = "rag_ingestiondocument"
_QUEUE, _UNACKED = "ragsite:ingestion", "ragsite:unacked"


class Scene:
    """A job of a few documents; the last one, whose new version has the scene's word in it, is where it happens."""

    def __init__(self, run: Run, name: str, author: Author, *, count: int = 4, sections: int = 6) -> None:
        self.run, self.name, self.word = run, name, f"stop{name.replace('-', '')}"
        # Half of them exist already, the last one among these.
        self.books = [
            author.book(
                f"{name}/{number}.md",
                exists=number % 2 == 1,
                mark=self.word if number == count - 1 else "",
                sections=sections if number == count - 1 else 3,
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
    scene.run.site.pause_worker()
    scene.submit()
    with locked(_DOCUMENTS, scene.ids()) as holder:
        scene.run.site.resume_worker()
        holder.wait_for(f'UPDATE "{_DOCUMENTS}"')
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
        holder.wait_for(f'UPDATE "{_DOCUMENTS}"', chunks_written=True)
        scene.require(scene.is_old(), "it is committed already")
        scene.run.site.kill_worker()


def before_the_acknowledgement(scene: Scene) -> None:
    """Everything of the job is committed, its message is not acknowledged."""
    with scene.embedding_held(), locked("rag_ingestionjob", [scene.job.pk]) as holder:
        scene.run.endpoint.release()
        eventually(lambda: {row.state for row in scene.rows()} == {State.DONE}, f"{scene.name}: not done")
        holder.wait_for("rag_ingestionjob")
        scene.require(not scene.is_old(), "it is not written")
        scene.require(_unacknowledged(scene, scene.ids()[-1]), "its message is acknowledged already")
        scene.run.site.kill_worker()
    scene.job.refresh_from_db()
    scene.require(scene.job.status == Status.PROCESSING, "the job was closed")


def postgres_restarts(scene: Scene) -> None:
    with scene.embedding_held():
        scene.run.site.restart_postgres()
        scene.require(scene.is_old(), "it is written already")


def postgres_crashes(scene: Scene) -> None:
    """In the middle of the commit, all of its processes at once; the worker lives."""
    with scene.embedding_held(), _lost_with_the_server(_DOCUMENTS, scene.ids()[-1]) as wait_for:
        scene.run.endpoint.release()
        wait_for(f'UPDATE "{_DOCUMENTS}"', chunks_written=True)
        scene.run.site.crash_postgres()
    scene.require(scene.is_old(), "it was committed")


def redis_is_flushed(scene: Scene) -> None:
    with scene.embedding_held(), scene.run.site.redis() as client:
        # Behind the one that is held others wait: sent to the broker, and nowhere else but in the rows.
        more = scene.run.submit([book.sent[0] for book in scene.books] * 1)
        eventually(lambda: client.llen(_QUEUE) or client.hlen(_UNACKED), f"{scene.name}: nothing is queued")
        scene.run.site.flush_redis()
        scene.require(client.llen(_QUEUE) == 0, "the queue is still there")
        del more


STAGES: dict[str, Callable[[Scene], None]] = {}


def _unacknowledged(scene: Scene, document: UUID) -> bool:
    with scene.run.site.redis() as client:
        messages = [json.loads(value)[0] for value in client.hvals(_UNACKED)]
    return any(str(document) in base64.b64decode(message["body"]).decode() for message in messages)


def books(scenes: list[Scene]) -> list[Book]:
    return [book for scene in scenes for book in scene.books]


@contextmanager
def _lost_with_the_server(table: str, document: UUID) -> Iterator[Callable[..., None]]:
    yield lambda *_, **__: None
