"""Injects a fault at a precise stage of ingestion. A fault that misses its stage fails the run."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from django.db import connection

from rag.models import Document, IngestionDocument, IngestionJob

from .documents import DocumentGenerator
from .locks import PlaceNotReached, eventually, lock_rows
from .run import Run, State, Status

_DOCUMENTS = "rag_ingestiondocument"
_QUEUE, _UNACKED = "ragsite:ingestion", "ragsite:unacked"


class Scenario:
    """A job of a few documents. The fault hits the last one, whose new version contains the scenario's marker word."""

    def __init__(
        self,
        run: Run,
        name: str,
        generator: DocumentGenerator,
        *,
        count: int = 4,
        sections: int = 2,
        marks_all: bool = False,
    ) -> None:
        """Create the documents: the last one has `sections` sections; `marks_all` puts the marker into all of them."""
        self.run, self.name, self.word = run, name, "halt" + "".join(word[0].lower() for word in name.split())
        self._marks_all = marks_all
        # Every second document exists already, the last one included.
        self.documents = [
            generator.document(
                f"{name}/{number}.md",
                exists=number % 2 == 1,
                mark=self.word if marks_all or number == count - 1 else "",
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
        self._job = self.run.submit([document.sent[0] for document in self.documents])

    def ids(self) -> list[UUID]:
        return [row.pk for row in self.rows()]

    def rows(self) -> list[IngestionDocument]:
        return list(IngestionDocument.objects.filter(job=self.job).order_by("index"))

    @contextmanager
    def embedding_blocked(self) -> Iterator[None]:
        """Run the block while the endpoint does not answer the request to embed the last document."""
        self.run.endpoint.hold(self.word)
        try:
            self.submit()
            eventually(self.run.endpoint.reached, f"{self.name}: no embedding was requested")
            if not self._marks_all:
                self.require(self.rows()[-1].state == State.RUNNING, "the document is not held")
            yield
        finally:
            self.run.endpoint.release()

    def require(self, condition: bool, failure: str) -> None:
        if not condition:
            raise PlaceNotReached(f"{self.name}: {failure}")

    def is_old(self) -> bool:
        """Return whether readers still get the old version of the last document."""
        document = Document.objects.live().get(source=self.run.disturbed, path=self.documents[-1].path)
        return self.word not in document.text


def before_the_claim(scenario: Scenario) -> None:
    """The worker has selected rows and updates the fairness record; nothing is committed."""
    organization = scenario.run.disturbed.organization_id
    with lock_rows("rag_ingestionfairness", [organization], key="organization_id") as row_lock:
        scenario.submit()
        row_lock.wait_for("rag_ingestionfairness")
        rows = scenario.rows()
        scenario.require({(row.state, row.attempts) for row in rows} == {(State.QUEUED, 0)}, "something is claimed")
        scenario.run.site.kill_worker_and_scheduler()


def after_parsing(scenario: Scenario) -> None:
    with scenario.embedding_blocked():
        scenario.require(scenario.is_old(), "it is written already")
        scenario.run.site.kill_ingestion_worker()


def in_the_middle_of_embedding(scenario: Scenario) -> None:
    """The document has several batches of chunks; the marker is in the last batch."""
    with scenario.embedding_blocked():
        scenario.require(
            max(scenario.run.endpoint.answered_batch_sizes, default=0) >= 128, "none of its batches was answered"
        )
        scenario.require(scenario.is_old(), "it is written already")
        scenario.run.site.kill_ingestion_worker()


def before_the_first_write(scenario: Scenario) -> None:
    """The transaction that writes the document has started and waits for its source."""
    with scenario.embedding_blocked(), lock_rows("rag_datasource", [scenario.run.disturbed.pk]) as row_lock:
        scenario.run.endpoint.release()
        row_lock.wait_for("rag_datasource")
        scenario.require(scenario.rows()[-1].state == State.RUNNING, "it is done already")
        scenario.run.site.kill_ingestion_worker()


def in_the_middle_of_the_commit(scenario: Scenario) -> None:
    """Old chunks are deleted and new ones written; nothing is committed."""
    with scenario.embedding_blocked(), lock_rows(_DOCUMENTS, [scenario.ids()[-1]]) as row_lock:
        scenario.run.endpoint.release()
        row_lock.wait_for(f"UPDATE {_DOCUMENTS}", chunks_written=True)
        scenario.require(scenario.is_old(), "it is committed already")
        scenario.run.site.kill_ingestion_worker()


def before_the_acknowledgement(scenario: Scenario) -> None:
    """The job's documents are committed; its message is not acknowledged."""
    with scenario.embedding_blocked(), lock_rows("rag_ingestionjob", [scenario.job.pk]) as row_lock:
        scenario.run.endpoint.release()
        eventually(lambda: {row.state for row in scenario.rows()} == {State.DONE}, f"{scenario.name}: not done")
        row_lock.wait_for("rag_ingestionjob")
        scenario.require(not scenario.is_old(), "it is not written")
        scenario.require(_unacknowledged(scenario), "its message is acknowledged already")
        scenario.run.site.kill_worker_and_scheduler()  # the scheduler too, which would close the job
    scenario.job.refresh_from_db()
    scenario.require(scenario.job.status == Status.PROCESSING, "the job was closed")


def while_postgres_restarts(scenario: Scenario) -> None:
    with scenario.embedding_blocked():
        scenario.run.site.restart_postgres()
        connection.close()
        scenario.require(scenario.is_old(), "it is written already")


def while_postgres_crashes(scenario: Scenario) -> None:
    """In the middle of the commit. The worker keeps running."""
    with scenario.embedding_blocked(), lock_rows(_DOCUMENTS, [scenario.ids()[-1]]) as row_lock:
        scenario.run.endpoint.release()
        row_lock.wait_for(f"UPDATE {_DOCUMENTS}", chunks_written=True)
        scenario.run.site.crash_postgres()
        connection.close()


def while_redis_forgets(scenario: Scenario) -> None:
    """The worker processes a document; the messages of all others wait in the queue."""
    with scenario.embedding_blocked(), scenario.run.site.redis() as client:
        scenario.require(client.llen(_QUEUE) > 0, "nothing is queued")
        scenario.run.site.flush_redis()
        scenario.require(client.llen(_QUEUE) == 0, "the queue is still there")
        scenario.require(State.QUEUED in {row.state for row in scenario.rows()}, "every document is taken")


def _unacknowledged(scenario: Scenario) -> bool:
    with scenario.run.site.redis() as client:
        messages = [json.loads(value)[0] for value in client.hvals(_UNACKED)]
    return any(message["headers"]["task"] == "rag.ingest_documents" for message in messages)


def inject_all(run: Run) -> None:
    """Inject one fault at every stage, each with its own documents."""
    generator = DocumentGenerator(seed=4)
    scenarios = {name: Scenario(run, name, generator, **options) for name, (_, options) in STAGES.items()}
    with run.compared_with_undisturbed(
        [document for scenario in scenarios.values() for document in scenario.documents]
    ):
        for name, scenario in scenarios.items():
            started_at = time.monotonic()
            run.keep_worker_running()
            STAGES[name][0](scenario)
            run.count_fault(name)
            run.keep_worker_running()
            scenario.require(run.wait_for(scenario.job), "its job did not complete")
            print(f"  {name}: recovered, {time.monotonic() - started_at:.0f} s", flush=True)


Options = dict[str, Any]
STAGES: dict[str, tuple[Callable[[Scenario], None], Options]] = {
    "killed before the claim": (before_the_claim, {}),
    "killed after parsing": (after_parsing, {}),
    "killed in the middle of embedding": (in_the_middle_of_embedding, {"sections": 40}),
    "killed before the first write": (before_the_first_write, {}),
    "killed in the middle of the commit": (in_the_middle_of_the_commit, {}),
    "killed before the acknowledgement": (before_the_acknowledgement, {}),
    "Postgres restarted": (while_postgres_restarts, {}),
    "Postgres crashed in the middle of the commit": (while_postgres_crashes, {}),
    "Redis flushed": (while_redis_forgets, {"count": 100, "marks_all": True}),
}
