"""DELETE /api/rag/ingest/{jobId}: what is indexed stays, and nothing is indexed after the response."""

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from rag.models import Chunk, EmbeddingModel, IngestionDocument, IngestionJob
from rag.services.ingestion.queue import claims, leases, recovery_sweep
from rag.services.jobs import close_and_cancel
from ragsite.postgres import identity
from tests.support import factories
from tests.support.checks import snapshots
from tests.support.factories import World, process_claimed, process_queue
from tests.support.http import Client, Reply
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
Eventually = Callable[..., Any]


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


def create_job(client: Client, world: World, count: int, **source: Any) -> str:
    """Submit a job of that many documents and return its id."""
    world.source(**source)
    documents = [{"path": f"doc-{number}", "text": f"Zebra number {number}."} for number in range(count)]
    reply = client.post("/api/rag/ingest", {"dataSourceId": source.get("slug", "library"), "documents": documents})
    return str(reply.body["jobId"])


def cancel(client: Client, job: str) -> Reply:
    return client.send("DELETE", f"/api/rag/ingest/{job}")


def chunks() -> set[Any]:
    return set(Chunk.objects.values_list("pk", flat=True))


def work() -> None:
    """Process documents one after the other, as a worker process does."""
    with identity.run_as(identity.WORKER):
        try:
            process_queue(at_once=1)
        finally:
            connection.close()


def test_nothing_is_indexed_after_the_response(
    api: Api,
    live_world: World,
    model_provider: ProviderServer,
    eventually: Eventually,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Shared rules: "what was indexed before the cancel stays, nothing is indexed after the response"."""
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    editor = api("editor")
    job = create_job(editor, live_world, 6, embedding_model=model)
    first = IngestionDocument.objects.get(index=0)
    factories.process_documents(ids=[first.pk])
    before, request_count = chunks(), len(model_provider.requests)
    assert before
    model_provider.stall.clear()
    worker = threading.Thread(target=work)
    worker.start()
    eventually(lambda: len(model_provider.requests) > request_count)  # it is in the middle of a document
    reply = cancel(editor, job)
    assert (reply.status, reply.body["status"], reply.body["indexed"]) == (200, "cancelled", 1)
    assert reply.body["progress"] == {"documents": 6, "done": 1, "failed": 0}
    assert reply.body["vectorIds"] == [str(chunk_id) for chunk_id in before]
    assert (reply.body["chunks"], reply.body["errors"]) == (1, [])
    assert reply.body["finishedAt"]
    model_provider.stall.set()
    worker.join()  # it has finished, and noticed
    assert "ingestion_lease_lost" in [record.msg["event"] for record in caplog.records if isinstance(record.msg, dict)]
    # A document that is sent now is processed, and none of those that were cancelled.
    later = editor.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"path": "x", "text": "Oak."}]})
    process_queue()
    assert IngestionJob.objects.get(pk=later.body["jobId"]).finished_at
    assert set(Chunk.objects.exclude(document__path="x").values_list("pk", flat=True)) == before
    assert cancel(editor, job).body == reply.body, "a second DELETE has the same answer"
    states = (
        IngestionDocument.objects.filter(job=uuid.UUID(job)).order_by("index").values_list("state", "text", "lease")
    )
    assert [state for state, *_ in states] == ["done", *["cancelled"] * 5]
    assert {(text, lease) for state, text, lease in states if state == "cancelled"} == {("", None)}


def test_cancelling_waits_for_a_document_that_is_being_written(
    api: Api, live_world: World, eventually: Eventually
) -> None:
    """The document is indexed before the response or not at all: writing and cancelling both lock its row."""
    editor = api("editor")
    job = create_job(editor, live_world, 2)
    row = factories.claim_document(IngestionDocument.objects.get(index=0).pk)
    assert row is not None
    replies: list[Reply] = []
    thread = threading.Thread(target=lambda: replies.append(cancel(editor, job)))
    with transaction.atomic():
        process_claimed(row)
        thread.start()
        eventually(_is_a_lock_awaited)
    thread.join()
    assert (replies[0].body["status"], replies[0].body["indexed"]) == ("cancelled", 1)
    assert replies[0].body["vectorIds"] == [str(chunk) for chunk in chunks()]


def _is_a_lock_awaited() -> bool:
    with connection.cursor() as cursor:
        # Only in this test's database. Waiting for a row is waiting for its transaction, which names no database.
        cursor.execute("SELECT pg_stat_clear_snapshot()")  # otherwise the statistics are fixed for the transaction
        waiting = "SELECT pid FROM pg_locks WHERE NOT granted"
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_stat_get_activity(NULL) AS activity JOIN pg_database ON oid = datid "
            f"WHERE activity.pid IN ({waiting}) AND datname = current_database())"
        )
        return bool(cursor.fetchone()[0])


def test_a_finished_job_is_not_changed(api: Api, live_world: World) -> None:
    editor = api("editor")
    job = create_job(editor, live_world, 1)
    factories.process_documents(ids=[IngestionDocument.objects.get().pk])
    ended = editor.get(f"/api/rag/ingest/{job}").body
    assert ended["status"] == "completed"
    assert cancel(editor, job).body == ended


def test_a_job_whose_documents_are_done_is_completed(api: Api, live_world: World) -> None:
    editor = api("editor")
    job = create_job(editor, live_world, 1)
    row = factories.claim_document(IngestionDocument.objects.get().pk)
    assert row is not None
    process_claimed(row)
    assert cancel(editor, job).body["status"] == "completed"


def test_a_cancelled_job_is_not_resumed(api: Api, live_world: World) -> None:
    editor = api("editor")
    job = create_job(editor, live_world, 2)
    cancelled = cancel(editor, job).body
    snapshots.assert_matches("pipeline-job-cancelled", cancelled)
    assert (cancelled["status"], cancelled["startedAt"]) == ("cancelled", None)
    recovery_sweep.sweep()
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert editor.get(f"/api/rag/ingest/{job}").body == cancelled
    assert not chunks()


def test_who_may_cancel(api: Api, live_world: World) -> None:
    """Everybody who may see the job may cancel it; for others the job does not exist."""
    job = create_job(api("editor"), live_world, 1)
    for name in ("member", "foreigner"):
        reply = cancel(api(name), job)
        assert (reply.status, reply.body["error"]) == (404, "JOB_NOT_FOUND")
    assert IngestionJob.objects.get().status == "queued"
    assert cancel(api(), job).status == 401
    assert cancel(api("owner"), "no-job").status == 404
    assert cancel(api("owner"), job).body["status"] == "cancelled"


def test_a_job_of_ten_thousand_documents_is_cancelled_immediately(api: Api, live_world: World) -> None:
    """A worker has claimed one of them, and is not blocked by the cancellation."""
    editor = api("editor")
    job = create_job(editor, live_world, 1)
    copy_document(9_999)
    (claimed,) = claims.claim_next(1)
    cancelled = cancel(editor, job).body
    assert (cancelled["status"], cancelled["progress"]["documents"]) == ("cancelled", 10_000)
    assert claims.claim_next(8) == []
    with pytest.raises(leases.LeaseEnded):
        process_claimed(claimed)
    assert not chunks()


def copy_document(count: int) -> None:
    """Add copies of the only document, with long texts."""
    changes = {
        "id": "gen_random_uuid()",
        "index": "number",
        "path": "'doc-' || number",
        "text": "repeat('Zebra. ', 200)",
    }
    fields = IngestionDocument._meta.concrete_fields
    names = [str(field.column) for field in fields if not field.generated]
    columns = {connection.ops.quote_name(name): changes.get(name, connection.ops.quote_name(name)) for name in names}
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rag_ingestiondocument ({', '.join(columns)}) SELECT {', '.join(columns.values())} "
            "FROM rag_ingestiondocument, generate_series(1, %s) AS number",
            [count],
        )


def test_cancelling_needs_the_same_number_of_statements_for_any_job(api: Api, live_world: World) -> None:
    def statements(count: int) -> int:
        job = IngestionJob.objects.get(pk=create_job(api("editor"), live_world, count, slug=f"source-{count}"))
        with CaptureQueriesContext(connection) as captured, transaction.atomic():
            close_and_cancel.cancel_jobs(IngestionJob.objects.filter(pk=job.pk))
        assert not job.documents.exclude(state=IngestionDocument.State.CANCELLED).exists()
        return len(captured)

    assert statements(200) == statements(2)
