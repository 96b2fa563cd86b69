"""The database connections of Celery workers: kept between tasks, replaced when they are lost."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from celery import signals
from django.db import connection
from django.utils import timezone

from rag.models import DataSource, IngestionJob
from rag.services.jobs.create_job import create_job
from rag.tasks import sweep_ingestion
from rag.types import ChunkingOptions, Submission
from ragsite.postgres import identity
from tests.support.factories import World
from tests.support.processes.worker import Worker

# Sessions of other processes that began before a moment, and have run a statement since then.
_KEPT = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND backend_type = 'client backend' AND backend_start < %(moment)s AND query_start > %(moment)s
"""


def ingest(world: World, source: DataSource, path: str, eventually: Callable[..., Any]) -> None:
    """Ingest a document by a job, and wait for the job's end."""
    job = create_job(
        source=source,
        submissions=[Submission(path=path, title=path, text=f"Zebras have stripes: {path}.")],
        options=ChunkingOptions(512, 50),
        actor=world.users["editor"],
    )
    eventually(lambda: IngestionJob.objects.get(pk=job.pk).finished_at)


def test_a_worker_keeps_its_connection_for_the_next_task(
    live_world: World, worker: Worker, eventually: Callable[..., Any]
) -> None:
    source = live_world.source()
    worker.start()
    ingest(live_world, source, "first", eventually)
    moment = timezone.now()
    ingest(live_world, source, "second", eventually)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(_KEPT, {"moment": moment})
        assert cursor.fetchone()[0] > 0


@pytest.mark.django_db(transaction=True)
def test_a_task_replaces_a_connection_that_was_lost_before_it() -> None:
    results: list[Any] = []
    is_lost, has_connected = threading.Event(), threading.Event()

    def run_tasks() -> None:
        try:
            signals.task_prerun.send(sender=sweep_ingestion, task_id="first", task=sweep_ingestion)
            connection.ensure_connection()
            results.append(connection.connection.info.backend_pid)
            signals.task_postrun.send(sender=sweep_ingestion, task_id="first", task=sweep_ingestion)
            has_connected.set()
            is_lost.wait()
            signals.task_prerun.send(sender=sweep_ingestion, task_id="second", task=sweep_ingestion)
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1")
                results.append(cursor.fetchone()[0])
        finally:
            has_connected.set()
            connection.close()

    thread = threading.Thread(target=run_tasks)
    thread.start()
    has_connected.wait()
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", results[:1])
    is_lost.set()
    thread.join()
    assert results[1:] == [1]
