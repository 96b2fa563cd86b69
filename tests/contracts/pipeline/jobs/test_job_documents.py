"""Additions to the pipeline contract: listing jobs and their documents, and retrying failed documents."""

from collections.abc import Callable

import pytest

from orgs.access.permissions import Scope
from rag.models import IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions, document_outcomes
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.factories import World, process_queue
from tests.support.http import Client

Api = Callable[..., Client]
State = IngestionDocument.State


def job_of(world: World, slug: str = "library", *, failed: int = 0, count: int = 3) -> IngestionJob:
    """A job of `count` queued documents, of which the first `failed` have failed."""
    source = world.home.sources.filter(slug=slug).first() or world.source(slug)
    submissions = [Submission(path=f"doc-{number}", title="A", text=f"Zebra {number}.") for number in range(count)]
    job = create_job(
        source=source,
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )
    job.documents.filter(index__lt=failed).update(state=State.RUNNING)
    for row in job.documents.filter(index__lt=failed):
        document_outcomes.record_failure(row, "INTERNAL_ERROR", "An unexpected error.")
    return job


@pytest.fixture
def editor(api: Api, live_world: World) -> Client:
    return api().with_headers(X_API_Key=live_world.key("editor").secret)


@pytest.fixture
def processed_job(live_world: World) -> IngestionJob:
    """A job whose first document has failed; the other two can be searched."""
    job = job_of(live_world, failed=1)
    process_queue()
    return job


def test_each_document_of_a_job_is_listed_with_its_outcome(editor: Client, processed_job: IngestionJob) -> None:
    listed = editor.get(f"/api/rag/ingest/{processed_job.pk}/documents").body
    failed, done, _ = listed["documents"]
    assert set(failed) == {
        "index", "path", "status", "condition", "stage", "attempts", "error", "warning", "chunks", "documentId",
        "timings", "retryAt",
    }  # fmt: skip
    assert (failed["index"], failed["path"], failed["status"], failed["condition"]) == (0, "doc-0", "failed", None)
    assert failed["error"] == {"code": "INTERNAL_ERROR", "message": "An unexpected error."}
    assert (done["status"], done["chunks"], done["error"], done["attempts"]) == ("done", 1, None, 1)
    assert (failed["warning"], done["warning"]) == (None, None)
    assert done["documentId"] == str(processed_job.documents.get(index=1).document_id)
    assert "Zebra" not in str(listed), "texts of documents are not shown"


def test_documents_of_a_job_are_listed_in_pages(editor: Client, processed_job: IngestionJob) -> None:
    address = f"/api/rag/ingest/{processed_job.pk}/documents"
    listed = editor.get(address).body
    assert (listed["total"], listed["page"], listed["pageSize"]) == (3, 1, 50)
    assert [document["index"] for document in editor.get(f"{address}?pageSize=1&page=2").body["documents"]] == [1]


def test_documents_of_a_job_are_filtered_by_status(editor: Client, processed_job: IngestionJob) -> None:
    address = f"/api/rag/ingest/{processed_job.pk}/documents"
    assert [document["index"] for document in editor.get(f"{address}?status=done").body["documents"]] == [1, 2]
    assert editor.get(f"{address}?status=finished").body["details"]["field"] == "status"


def test_open_documents_have_a_condition(editor: Client, live_world: World) -> None:
    job = job_of(live_world)
    listed = editor.get(f"/api/rag/ingest/{job.pk}/documents").body["documents"]
    assert {(document["status"], document["condition"]) for document in listed} == {("queued", "queued")}


@pytest.fixture
def jobs(live_world: World) -> tuple[IngestionJob, IngestionJob, IngestionJob]:
    """Three jobs, the oldest first. The first two have ended, and the second is of another source."""
    first, second = job_of(live_world, failed=1), job_of(live_world, "other")
    assert process_queue() == 5
    return first, second, job_of(live_world)


def test_the_newest_jobs_are_listed_first(editor: Client, jobs: tuple[IngestionJob, ...]) -> None:
    first, second, third = jobs
    listed = editor.get("/api/rag/ingest").body
    assert [job["jobId"] for job in listed["jobs"]] == [str(job.pk) for job in (third, second, first)]
    assert listed["total"] == 3
    assert listed["jobs"][2]["progress"] == {"documents": 3, "done": 2, "failed": 1}
    assert listed["jobs"][1]["dataSourceId"] == str(second.source_id)


def test_jobs_are_filtered_and_listed_in_pages(editor: Client, jobs: tuple[IngestionJob, ...]) -> None:
    first, second, _ = jobs
    for query, expected in (
        ("status=completed", [second, first]),
        ("source=other", [second]),
        (f"source={second.source_id}&status=completed", [second]),
        ("source=nowhere", []),
        ("pageSize=1&page=2", [second]),
    ):
        listed = editor.get(f"/api/rag/ingest?{query}").body["jobs"]
        assert [job["jobId"] for job in listed] == [str(job.pk) for job in expected], query


def test_an_unknown_status_of_jobs_is_refused(editor: Client) -> None:
    wrong = editor.get("/api/rag/ingest?status=done")
    assert (wrong.status, wrong.body["error"], wrong.body["details"]["field"]) == (400, "INVALID_REQUEST", "status")


def test_failed_documents_are_retried(editor: Client, live_world: World) -> None:
    job = job_of(live_world, failed=2)
    process_queue()
    reply = editor.post(f"/api/rag/ingest/{job.pk}/retry")
    assert (reply.status, reply.body["status"], reply.body["finishedAt"]) == (202, "processing", None)
    assert reply.body["progress"] == {"documents": 3, "done": 1, "failed": 0}
    assert reply.body["errors"] == []
    process_queue()
    state = editor.get(f"/api/rag/ingest/{job.pk}").body
    assert (state["status"], state["indexed"]) == ("completed", 3)


def test_a_job_without_failed_documents_is_not_retried(editor: Client, live_world: World) -> None:
    job = job_of(live_world)
    process_queue()
    nothing = editor.post(f"/api/rag/ingest/{job.pk}/retry")
    assert (nothing.status, nothing.body["error"]) == (409, "NOTHING_TO_RETRY")


def test_who_may_watch_and_retry(api: Api, live_world: World) -> None:
    """Permission to ingest or manage allows watching; retrying needs permission to ingest."""
    job = job_of(live_world, failed=1)
    live_world.home.roles.create(name="curator", permissions=["sources.manage"])
    curator = live_world.users["supporter"].memberships.get()
    curator.roles.set(live_world.home.roles.filter(name="curator"))
    addresses = [("GET", f"/api/rag/ingest/{job.pk}/documents"), ("POST", f"/api/rag/ingest/{job.pk}/retry")]
    for name, statuses, total in (
        ("member", [404, 404], 0),
        ("foreigner", [404, 404], 0),
        ("supporter", [200, 403], 1),
        ("editor", [200, 202], 1),
    ):
        fields = {"organization": live_world.abroad} if name == "foreigner" else {}
        # A key needs the scope of each permission.
        scopes = (Scope.INGEST, Scope.MANAGE) if name == "supporter" else (Scope.INGEST,)
        client = api().with_headers(X_API_Key=live_world.key(name, *scopes, **fields).secret)
        assert [client.send(method, address).status for method, address in addresses] == statuses, name
        assert client.get("/api/rag/ingest").body["total"] == total, name
    assert api().get("/api/rag/ingest").status == 401
