"""Workers and requests lock rows of the same job in one order, so that none of them ends in a deadlock."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, transaction

from rag.models import IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions, document_outcomes, document_processing
from rag.services.ingestion.queue import claims, leases
from rag.services.jobs import close_and_cancel
from rag.services.jobs.create_job import create_job
from rag.types import IndexOutcome, Submission
from ragsite.postgres import identity
from tests.support.factories import World


def submit_jobs(world: World, *, jobs: int, documents: int) -> list[IngestionDocument]:
    """Submit jobs of one source and claim their documents. PostgreSQL finds the first job and document last."""
    source = world.source()
    for _ in range(jobs):
        create_job(
            source=source,
            submissions=[Submission(path=f"doc-{number}", title="", text="Zebras.") for number in range(documents)],
            options=build_submissions.default_chunking_options(),
            actor=world.users["editor"],
        )
    claimed = claims.claim_next(8)
    IngestionJob.objects.filter(pk=claimed[0].job_id).update(chunk_size=300)
    IngestionDocument.objects.filter(pk=claimed[0].pk).update(outages=1)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ANALYZE rag_ingestionjob, rag_ingestiondocument")
    return claimed


def waiting_statements() -> int:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        return int(cursor.fetchone()[0])


def outcomes(claimed: list[IngestionDocument]) -> dict[IngestionDocument, IndexOutcome]:
    """Return an outcome for each document, in the opposite order of their keys."""
    return {document: IndexOutcome("created", None, 1) for document in reversed(claimed)}


def in_transaction(function: Callable[[], object]) -> None:
    """Call the function in a transaction, and close the thread's connection."""
    try:
        with transaction.atomic():
            function()
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("jobs", "documents", "work", "state"),
    [
        (1, 3, lambda claimed: leases.set_stage_if_leased(claimed, "embedding"), "cancelled"),
        (1, 3, lambda claimed: document_outcomes.record_success(outcomes(claimed)), "done"),
        (3, 1, document_processing.start_jobs, "cancelled"),
    ],
    ids=["stages of documents", "outcomes of documents", "states of jobs"],
)
def test_work_and_cancellation_do_not_wait_for_each_other(
    live_world: World,
    eventually: Callable[..., object],
    jobs: int,
    documents: int,
    work: Callable[[list[IngestionDocument]], None],
    state: str,
) -> None:
    claimed = submit_jobs(live_world, jobs=jobs, documents=documents)
    locked, may_release = threading.Event(), threading.Event()

    def hold_last_row() -> None:
        last = claimed[-1] if jobs == 1 else claimed[-1].job
        type(last).objects.select_for_update(no_key=True).get(pk=last.pk)
        locked.set()
        may_release.wait(10)

    with ThreadPoolExecutor(3) as threads:
        try:
            holder = threads.submit(in_transaction, hold_last_row)
            locked.wait(10)
            worker = threads.submit(in_transaction, lambda: work(claimed))
            eventually(lambda: waiting_statements() == 1)
            cancelling = threads.submit(
                in_transaction, lambda: close_and_cancel.cancel_jobs(IngestionJob.objects.all())
            )
            eventually(lambda: waiting_statements() == 2)
        finally:
            may_release.set()
        for future in (holder, worker, cancelling):
            future.result(timeout=20)
    assert set(IngestionDocument.objects.values_list("state", flat=True)) == {state}
    if state == "cancelled":
        assert set(IngestionJob.objects.values_list("status", flat=True)) == {state}


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["renewed", "cancelled"])
def test_an_outcome_waits_for_a_change_of_its_row(
    live_world: World, eventually: Callable[..., object], is_cancelled: bool
) -> None:
    """A document that is still leased after the wait is done; one that was cancelled meanwhile is not."""
    claimed = submit_jobs(live_world, jobs=1, documents=2)
    changed, may_commit = threading.Event(), threading.Event()

    def change() -> None:
        if is_cancelled:
            close_and_cancel.cancel_jobs(IngestionJob.objects.all())
        else:
            leases.update_if_leased(claimed[1], chunk_count=7)
        changed.set()
        may_commit.wait(10)

    with ThreadPoolExecutor(2) as threads:
        try:
            changing = threads.submit(in_transaction, change)
            changed.wait(10)
            worker = threads.submit(in_transaction, lambda: document_outcomes.record_success(outcomes(claimed)))
            eventually(lambda: waiting_statements() == 1)
        finally:
            may_commit.set()
        changing.result()
        if is_cancelled:
            with pytest.raises(leases.LeaseEnded):
                worker.result()
        else:
            worker.result()
    states = set(IngestionDocument.objects.values_list("state", flat=True))
    assert states == {IngestionDocument.State.CANCELLED if is_cancelled else IngestionDocument.State.DONE}
