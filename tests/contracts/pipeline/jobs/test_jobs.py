"""The pipeline contract, sub-contract 1, over HTTP; one job with a real worker."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from rag.contracts.pipeline.jobs import job_serializers
from rag.models import Chunk, Document, EmbeddingModel, IngestionDocument, IngestionJob
from rag.pipeline.ingestion import parse_chunk_embed
from rag.text.token_counts import count_tokens
from tests.support import factories
from tests.support.checks import snapshots
from tests.support.factories import World, process_queue
from tests.support.http import Client
from tests.support.processes.worker import Worker
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
JOB_FIELDS = {
    "jobId", "status", "indexed", "chunks", "vectorIds", "vectorIdsTruncated", "progress", "errors",
    "createdAt", "startedAt", "finishedAt",
}  # fmt: skip


def finished_job(client: Client, path: str) -> Any:
    """Return the job at this path; None if it has not ended."""
    job = client.get(path).body
    return job if job["finishedAt"] else None


def test_a_job_from_submission_to_its_end(
    api: Api, live_world: World, worker: Worker, eventually: Callable[..., Any]
) -> None:
    source = live_world.source("handbook")
    editor = api("editor")
    documents = [
        {"path": "a.md", "text": "# Zebras\n\nZebras have stripes.", "contentType": "text/markdown", "tags": ["a"]},
        {"title": "Oaks", "contentBase64": base64.b64encode(b"Oaks are trees.").decode()},
        {"uri": "https://example.org/lions", "text": "Lions roar.", "metadata": {"p": 3}, "date": "2025-01-02T03:04Z"},
    ]  # fmt: skip
    reply = editor.post("/api/rag/ingest", {"dataSourceId": str(source.pk), "documents": documents})
    assert reply.status == 202
    assert set(reply.body) == JOB_FIELDS
    snapshots.assert_matches("pipeline-job-queued", reply.body)
    assert (reply.body["status"], reply.body["progress"]) == ("queued", {"documents": 3, "done": 0, "failed": 0})
    worker.start()
    address = f"/api/rag/ingest/{reply.body['jobId']}"
    job = eventually(lambda: finished_job(editor, address))
    assert (job["status"], job["indexed"], job["chunks"], job["errors"]) == ("completed", 3, 3, [])
    snapshots.assert_matches("pipeline-job-completed", job)
    assert job["progress"] == {"documents": 3, "done": 3, "failed": 0}
    assert sorted(job["vectorIds"]) == sorted(str(pk) for pk in Chunk.objects.values_list("pk", flat=True))
    lions = Document.objects.get(path="https://example.org/lions")
    assert (lions.uri, lions.title, lions.metadata) == ("https://example.org/lions", "lions", {"p": 3})
    assert Document.objects.get(title="Oaks").path.startswith("sha256:")
    # The documents are found, with the contract's fields.
    results = api("member").post("/api/rag/retrieve", {"query": "Who has stripes?", "topK": 1}).body
    assert set(results) == {"documents", "scores", "totalFound", "dataSources", "warnings"}
    snapshots.assert_matches("pipeline-retrieve", results)
    assert results["documents"][0]["headings"] == ["Zebras"]
    assert (results["totalFound"], results["dataSources"]) == (3, [str(source.pk)])
    assert 0.5 < results["scores"][0] <= 1
    # Documents that are sent again are not duplicated.
    second_job = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": documents}).body
    assert (second_job["status"], second_job["indexed"]) == ("completed", 3), "none is left to the workers"
    assert sorted(editor.get(f"/api/rag/ingest/{second_job['jobId']}").body["vectorIds"]) == sorted(job["vectorIds"])


def test_a_job_whose_documents_all_fail(api: Api, live_world: World) -> None:
    """Shared rules: "Some documents failing: `completed` with `errors`; all failing: `failed`"."""
    keyless = EmbeddingModel.objects.create(
        name="keyless", provider="openai", dimensions=384, api_key_variable="NOT_SET_API_KEY"
    )
    live_world.source("handbook", embedding_model=keyless)
    editor = api("editor")
    job = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": [{"path": "a", "text": "Alpha."}]})
    process_queue()
    finished = finished_job(editor, f"/api/rag/ingest/{job.body['jobId']}")
    assert finished["status"] == "failed"
    (error,) = finished["errors"]
    assert (error["index"], error["path"], error["code"]) == (0, "a", "EMBEDDING_FAILED")
    assert not Document.objects.exists()


@pytest.mark.parametrize(
    ("change", "status", "error", "field"),
    [
        ({"documents": []}, 400, "INVALID_REQUEST", "documents"),
        ({"documents": "x"}, 400, "INVALID_REQUEST", "documents"),
        ({"documents": [{"text": "a"}, {"text": 5}]}, 400, "INVALID_REQUEST", "documents[1].text"),
        ({"documents": [{"text": "a"}, {"text": " "}]}, 400, "INVALID_REQUEST", "documents[1].text"),
        ({"documents": [{}]}, 400, "INVALID_REQUEST", "documents[0].text"),
        ({"documents": [{"text": "a", "contentBase64": "eA=="}]}, 400, "INVALID_REQUEST", "documents[0].text"),
        ({"documents": [{"contentBase64": "?"}]}, 400, "INVALID_REQUEST", "documents[0].contentBase64"),
        ({"documents": [{"text": "a", "date": "yesterday"}]}, 400, "INVALID_REQUEST", "documents[0].date"),
        ({"documents": [{"text": "a", "tags": [None]}]}, 400, "INVALID_REQUEST", "documents[0].tags"),
        ({"documents": [{"text": "a", "sourceType": "tweet"}]}, 400, "INVALID_REQUEST", "documents[0].sourceType"),
        ({"documents": [{"text": "a\x00"}]}, 400, "INVALID_REQUEST", "documents[0].text"),
        ({"chunkSize": "512"}, 400, "INVALID_REQUEST", "chunkSize"),
        ({"chunkSize": 10}, 400, "INVALID_REQUEST", "chunkSize"),
        ({"chunkSize": 100, "chunkOverlap": 60}, 400, "INVALID_REQUEST", "chunkOverlap"),
        ({"embeddingModel": "another"}, 400, "INVALID_REQUEST", "embeddingModel"),
        ({"dataSourceId": "nowhere"}, 404, "SOURCE_NOT_FOUND", None),
        ({"dataSourceId": "01a2006b-a602-77e9-a653-252a22c5c113"}, 404, "SOURCE_NOT_FOUND", None),
    ],
)
def test_a_rejected_job_stores_nothing(
    api: Api, live_world: World, change: dict[str, Any], status: int, error: str, field: str | None
) -> None:
    live_world.source("handbook")
    good = {"dataSourceId": "handbook", "documents": [{"path": "a", "text": "Alpha."}]}
    reply = api("editor").post("/api/rag/ingest", {**good, **change})
    assert (reply.status, reply.body["error"]) == (status, error), reply
    assert reply.body["details"].get("field") == field
    assert not IngestionJob.objects.exists()


BROKEN = b"%PDF-1.7 and no more"


def file(data: bytes, content_type: str = "text/plain") -> dict[str, str]:
    return {"contentType": content_type, "contentBase64": base64.b64encode(data).decode()}


def test_an_unsupported_type_is_rejected_at_submission(api: Api, live_world: World) -> None:
    """Shared rules: 415 "at submission when the type is known then"."""
    live_world.source("handbook")
    body = {"dataSourceId": "handbook", "documents": [file(b"GIF89a\x01\x00\x01\x00", "image/gif")]}
    reply = api("editor").post("/api/rag/ingest", body)
    assert (reply.status, reply.body["error"]) == (415, "UNSUPPORTED_FORMAT")
    assert not IngestionJob.objects.exists()


def test_unreadable_files_do_not_fail_the_job(api: Api, live_world: World) -> None:
    """Shared rules: PARSE_ERROR "on the job's document"; "Some documents failing: `completed` with `errors`"."""
    live_world.source("handbook")
    broken = file(BROKEN, "application/pdf")
    documents = [broken, {"path": "good", "text": "Alpha."}, file(b"a\x00b")]
    editor = api("editor")
    job = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": documents}).body
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    job = editor.get(f"/api/rag/ingest/{job['jobId']}").body
    assert [(error["index"], error["code"]) for error in job["errors"]] == [
        (0, "PARSE_ERROR"),
        (2, "UNSUPPORTED_FORMAT"),
    ]
    assert (job["status"], job["indexed"], job["progress"]["failed"]) == ("completed", 1, 2)
    snapshots.assert_matches("pipeline-job-errors", job)
    alone = editor.post(
        "/api/rag/ingest", {"dataSourceId": "handbook", "documents": [file(BROKEN, "application/pdf")]}
    ).body
    factories.process_documents(
        ids=list(IngestionDocument.objects.filter(job=alone["jobId"]).values_list("pk", flat=True))
    )
    alone = editor.get(f"/api/rag/ingest/{alone['jobId']}").body
    assert (alone["status"], alone["finishedAt"] is None) == ("failed", False)


def test_a_document_of_too_many_chunks_fails_alone(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_chunk_embed, "MAX_CHUNKS", 2)
    live_world.source("handbook")
    documents = [{"path": f"{number}", "text": "\n\n".join(["word " * 40] * number)} for number in (2, 3)]
    editor = api("editor")
    body = {"dataSourceId": "handbook", "documents": documents, "chunkSize": 64, "chunkOverlap": 0}
    job = editor.post("/api/rag/ingest", body).body
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    job = editor.get(f"/api/rag/ingest/{job['jobId']}").body
    assert (job["status"], job["indexed"]) == ("completed", 1)
    message = "The document has more than 2 chunks. Send it in parts, or in larger chunks."
    assert [(error["code"], error["message"]) for error in job["errors"]] == [("DOCUMENT_TOO_LARGE", message)]


def test_a_document_may_have_a_type_of_its_own(api: Api, live_world: World) -> None:
    """Shared rules: "the document's type, inherited from its data source unless the document says otherwise"."""
    live_world.source("handbook", source_type="faq")
    editor = api("editor")
    documents = [{"path": "own", "text": "Alpha.", "sourceType": "email"}, {"path": "inherited", "text": "Beta."}]
    assert editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": documents}).status == 202
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    assert dict(Document.objects.values_list("path", "source_type")) == {"own": "email", "inherited": "faq"}


def test_an_embedding_error_is_the_documents_error(api: Api, live_world: World, settings: Any) -> None:
    """EMBEDDING_FAILED: "Embedding model error", without the provider's message."""
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    with ProviderServer(dimensions=384).running() as model_provider:
        model = EmbeddingModel.objects.create(
            name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
        )
        live_world.source("handbook", embedding_model=model)
        editor = api("editor")
        documents = [{"path": "a", "text": "Alpha."}, {"path": "b", "text": "Gamma."}]
        job = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": documents}).body["jobId"]
        for _ in ("both together", "a alone"):
            model_provider.fail(401)
        factories.process_documents(ids=[row.pk for row in IngestionDocument.objects.order_by("index")])
    state = editor.get(f"/api/rag/ingest/{job}").body
    assert (state["status"], state["indexed"]) == ("completed", 1)
    (error,) = state["errors"]
    assert (error["path"], error["code"]) == ("a", "EMBEDDING_FAILED")
    assert "as the test asked" not in error["message"]


def test_long_lists_of_documents_get_a_short_error(api: Api, live_world: World, settings: Any) -> None:
    live_world.source("handbook")
    editor = api("editor")
    settings.RAG_MAX_DOCUMENTS_PER_JOB = 100
    bodies: list[list[dict[str, Any]]] = [[{}] * 101, [{"text": 5}] * 100]
    for wrong in bodies:
        reply = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": wrong})
        assert reply.status == 400
        assert len(str(reply.body)) < 2000, "20 errors at most"


def test_a_job_may_have_ten_megabytes_of_text(api: Api, live_world: World) -> None:
    live_world.source("handbook")
    body = {"dataSourceId": "handbook", "documents": [{"path": "big", "text": "word " * 2_000_000}]}
    reply = api("editor").post("/api/rag/ingest", body)
    assert (reply.status, reply.body["progress"]["documents"]) == (202, 1)
    assert len(IngestionDocument.objects.get().text) == 10_000_000


def test_long_lists_of_vector_ids_are_cut(api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shared rules: "beyond 10,000 the list is cut and `vectorIdsTruncated` is true"."""
    assert job_serializers.MAX_VECTOR_IDS == 10_000
    live_world.source("handbook")
    editor = api("editor")
    documents = [{"path": path, "text": "Alpha."} for path in ("a", "b")]
    job = editor.post("/api/rag/ingest", {"dataSourceId": "handbook", "documents": documents}).body["jobId"]
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    for limit, shown, truncated in ((2, 2, False), (1, 1, True)):
        monkeypatch.setattr(job_serializers, "MAX_VECTOR_IDS", limit)
        state = editor.get(f"/api/rag/ingest/{job}").body
        assert (len(state["vectorIds"]), state["vectorIdsTruncated"]) == (shown, truncated)


def test_chunk_size_and_overlap(api: Api, live_world: World) -> None:
    """Inputs: `chunkSize` "default 512", `chunkOverlap` "default 50"; "Documents chunked consistently"."""
    live_world.source("handbook")
    editor, text = api("editor"), "Zebras have stripes, and lions have manes. " * 100

    def sizes(path: str, **options: int) -> list[int]:
        body = {"dataSourceId": "handbook", "documents": [{"path": path, "text": text}], **options}
        job = editor.post("/api/rag/ingest", body).body["jobId"]
        factories.process_documents(ids=list(IngestionDocument.objects.filter(job=job).values_list("pk", flat=True)))
        chunks = Chunk.objects.filter(document__path=path).order_by("position")
        return [count_tokens(chunk.text) for chunk in chunks]

    usual = sizes("a")
    assert usual == sizes("b", chunkSize=512, chunkOverlap=50)
    assert 400 < max(usual) <= 512
    small = sizes("c", chunkSize=64, chunkOverlap=0)
    assert max(small) <= 64
    assert len(sizes("d", chunkSize=64, chunkOverlap=32)) > len(small) > len(usual)


def test_a_body_for_both_contracts_is_rejected(api: Api) -> None:
    """Shared rules: "A body with both `documents` and `text` is a 400 that says so"."""
    reply = api("editor").post("/api/rag/ingest", {"documents": [{"text": "a"}], "text": "b"})
    assert reply.status == 400
    assert "not both" in reply.body["message"]


def test_who_may_send_and_watch(api: Api, live_world: World) -> None:
    """Shared rules: "An object the caller may not see does not exist for them (404); … see but not change is a 403"."""
    live_world.source("handbook")
    live_world.source("secret", visibility=Visibility.PRIVATE)
    body = {"dataSourceId": "handbook", "documents": [{"text": "Alpha."}]}
    job = api("editor").post("/api/rag/ingest", body).body["jobId"]
    refused = api("member").post("/api/rag/ingest", body)
    assert (refused.status, refused.body["error"]) == (403, "PERMISSION_DENIED")
    assert api("member").post("/api/rag/ingest", {**body, "dataSourceId": "secret"}).status == 404
    assert api("foreigner").post("/api/rag/ingest", body).status == 404
    watching = {
        name: api(name).get(f"/api/rag/ingest/{job}").status for name in ("owner", "editor", "member", "foreigner")
    }
    assert watching == {"owner": 200, "editor": 200, "member": 404, "foreigner": 404}
    assert api("editor").get("/api/rag/ingest/not-a-uuid").status == 404
