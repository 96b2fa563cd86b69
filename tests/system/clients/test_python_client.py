"""The Python client and its command line against the running server."""

import asyncio
import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest
from pytest_django.live_server_helper import LiveServer
from ragsite_client import (
    AsyncClient,
    Client,
    ConnectionFailed,
    NewDocument,
    NotFound,
    RagsiteError,
    RateLimited,
    calls,
    models,
    uploads,
)
from ragsite_client.models import api_name

from tests.system.clients.client_answers import ANSWER, QUESTION, process_instead_of_sleeping

ROOT = Path(__file__).parents[3]
SCHEMAS = {
    models.Source: "PipelineSourceResponse",
    models.Document: "PipelineDocumentResponse",
    models.Passage: "PipelinePassageResponse",
    models.Citation: "PipelineCitationResponse",
    models.Answer: "PipelineQueryResponse",
    models.Job: "PipelineJobResponse",
    models.Progress: "PipelineProgress",
    models.JobError: "PipelineDocumentError",
}


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "PAGE_SIZE", 1)


@pytest.mark.usefixtures("short_pages")
def test_the_client_lists_sources_of_all_pages(live_server: LiveServer, key: str) -> None:
    with Client(live_server.url, key) as client:
        assert {source.slug for source in client.list_sources()} == {"library", "closed"}
        assert [source.slug for source in client.list_sources(search="libr")] == ["library"]


def test_the_client_searches(live_server: LiveServer, key: str) -> None:
    with Client(live_server.url, key) as client:
        (passage,) = client.search(QUESTION, sources=["library"], top_k=3)
    assert (passage.title, passage.text) == ("Bicycles", "Bicycles are parked in the yard.")
    description = dataclasses.replace(passage, metadata={"shelf": "7", "title": "x"}).description()
    assert (description["shelf"], description["title"], description["headings"]) == ("7", "Bicycles", [])
    assert "text" not in description


def test_the_client_asks_and_streams_the_same_answer(live_server: LiveServer, key: str) -> None:
    with Client(live_server.url, key) as client:
        (passage,) = client.search(QUESTION, sources=["library"])
        answer = client.ask(QUESTION)
        events = list(client.stream(QUESTION))
    assert (answer.answer, answer.citations_used[0].document_id) == (ANSWER, passage.document_id)
    assert events[0].passages == answer.documents
    assert events[-1].answer == answer
    assert "".join(event.text for event in events).strip() == ANSWER


def test_an_error_of_the_client_has_the_code_and_the_request_id(live_server: LiveServer, key: str) -> None:
    with Client(live_server.url, key) as client, pytest.raises(NotFound) as refused:
        client.search(QUESTION, sources=["nowhere"])
    assert (refused.value.status, refused.value.code) == (404, "SOURCE_NOT_FOUND")
    assert refused.value.request_id


def test_the_client_sends_documents_and_waits(live_server: LiveServer, key: str, tmp_path: Path) -> None:
    (tmp_path / "notes" / ".hidden").mkdir(parents=True)
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\nThe kettle is on the second floor.")
    (tmp_path / "notes" / ".hidden" / "x.md").write_text("x")
    (tmp_path / "picture.gif").write_bytes(b"GIF89a" + b"\0" * 100_000)
    files = uploads.find_files(tmp_path)
    sent: list[int] = []
    with Client(live_server.url, key) as client:
        client._sleep = process_instead_of_sleeping
        source = client.create_source("Office", visibility="public")
        (job,) = client.upload(source.slug, files, folder=tmp_path, on_progress=sent.append)
        assert sum(sent) == sum(file.stat().st_size for file in files)
        finished = client.wait(job)
        assert (finished.status, finished.progress.done, finished.progress.failed) == ("completed", 1, 1)
        assert [(error.path, error.code) for error in finished.errors] == [("picture.gif", "UNSUPPORTED_FORMAT")]
        second = client.wait(client.ingest(source.slug, [NewDocument("keys.md", "Keys are in the hall.", tags=("a",))]))
        assert second.status == "completed"
        documents = {document.path: document for document in client.list_documents(source.slug)}
        assert set(documents) == {"notes/tea.md", "keys.md"}
        assert documents["keys.md"].tags == ("a",)
        client.delete_document(source.slug, documents["keys.md"].id)
        assert [document.path for document in client.list_documents(source.slug)] == ["notes/tea.md"]


@pytest.mark.usefixtures("short_pages")
def test_the_asynchronous_client_does_the_same(live_server: LiveServer, key: str, tmp_path: Path) -> None:
    (tmp_path / "tea.md").write_text("The kettle is on the second floor.")

    async def main() -> None:
        async with AsyncClient(live_server.url, key) as client:
            assert {source.slug async for source in client.list_sources()} == {"library", "closed"}
            (passage,), answer = await asyncio.gather(
                client.search(QUESTION, sources=["library"]), client.ask(QUESTION, sources=["library"])
            )
            assert (passage.title, answer.answer) == ("Bicycles", ANSWER)
            events = [event async for event in client.stream(QUESTION)]
            assert events[-1].answer is not None
            assert events[-1].answer.answer == ANSWER
            (job,) = await client.upload("library", [tmp_path / "tea.md"])
            assert (job.status, job.progress.documents) == ("queued", 1)
            with pytest.raises(NotFound):
                await client.get_job("0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11")

    asyncio.run(main())


def answers(*outcomes: httpx2.Response | Exception) -> tuple[Client, list[httpx2.Request], list[float]]:
    """A client whose requests have these outcomes, its requests, and how long it waited between them."""
    remaining, requests, waits = list(outcomes), list[httpx2.Request](), list[float]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        outcome = remaining.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    client = Client("http://rag.example", "rk_x", max_retries=2, transport=httpx2.MockTransport(answer))
    client._sleep = waits.append
    return client, requests, waits


def rate_limited(**headers: str) -> httpx2.Response:
    return httpx2.Response(429, headers=headers, json={"error": "RATE_LIMITED", "message": "Too many requests."})


def conflict(code: str) -> httpx2.Response:
    return httpx2.Response(409, json={"error": code, "message": "This is refused."})


def accepted_job() -> httpx2.Response:
    return httpx2.Response(202, json={"jobId": "1", "status": "queued", "chunks": 0, "errors": [],
                                      "progress": {"documents": 1, "done": 0, "failed": 0}})  # fmt: skip


def test_a_refused_request_is_sent_again_when_the_server_says() -> None:
    client, requests, waits = answers(rate_limited(**{"Retry-After": "7"}), httpx2.ConnectError("x"), accepted_job())
    assert client.ingest("library", [NewDocument("a", "b")]).job_id == "1"
    assert (len(requests), waits[0], 0 < waits[1] < 7) == (3, 7.0, True)


def test_a_request_is_sent_three_times_at_most() -> None:
    client, requests, _ = answers(*(rate_limited() for _ in range(3)))
    with pytest.raises(RateLimited, match="Too many requests"):
        client.ask(QUESTION)
    assert len(requests) == 3


def test_nobody_waits_for_an_hour() -> None:
    client, requests, _ = answers(rate_limited(**{"Retry-After": "3600"}))
    with pytest.raises(RateLimited):
        client.ask(QUESTION)
    assert len(requests) == 1


def test_what_may_have_been_accepted_is_sent_again_with_the_same_key() -> None:
    client, requests, _ = answers(httpx2.ReadError("x"), conflict("IDEMPOTENCY_KEY_IN_USE"), accepted_job())
    assert client.ingest("library", [NewDocument("a", "b")]).job_id == "1"
    assert len({request.headers["Idempotency-Key"] for request in requests}) == 1


def test_a_conflict_of_the_first_attempt_is_an_error() -> None:
    client, requests, _ = answers(conflict("SLUG_TAKEN"))
    with pytest.raises(RagsiteError):
        client.create_source("A")
    assert len(requests) == 1


def test_a_connection_that_always_breaks_is_an_error() -> None:
    client, requests, _ = answers(*(httpx2.ReadError("x") for _ in range(3)))
    with pytest.raises(ConnectionFailed):
        client.ingest("library", [NewDocument("a", "b")])
    assert len(requests) == 3


def test_a_search_is_sent_again_after_a_broken_connection_and_a_gateway_error() -> None:
    nothing = httpx2.Response(200, json={"documents": []})
    client, requests, _ = answers(httpx2.ReadError("x"), httpx2.Response(502), nothing)
    assert (client.search("x"), len(requests)) == ([], 3)


def test_models_have_the_fields_of_the_schema() -> None:
    schemas = json.loads((ROOT / "tests" / "contracts" / "openapi.json").read_text())["components"]["schemas"]
    for model, name in SCHEMAS.items():
        assert {api_name(item.name) for item in dataclasses.fields(model)} <= set(schemas[name]["properties"]), name


def test_the_documented_program_runs(live_server: LiveServer, key: str, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "user" / "python-client.md").read_text()
    programs = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    for program in programs:
        file = tmp_path / "program.py"
        file.write_text(program.replace("http://127.0.0.1:3080", live_server.url).replace("rk_…", key))
        environment = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src"), "PATH": ""}
        process = subprocess.run(
            [sys.executable, str(file)], capture_output=True, text=True, timeout=60, env=environment
        )
        assert process.returncode == 0, process.stderr
        assert "Bicycles are parked in the yard. [1]" in process.stdout
