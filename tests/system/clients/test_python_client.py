"""The Python client and its command line against the running server."""

import asyncio
import dataclasses
import json
import re
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    cli,
    credentials,
    models,
    uploads,
)
from ragsite_client.models import api_name

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text, process_queue

ROOT = Path(__file__).parents[3]
QUESTION = "Where are the bicycles parked?"
ANSWER = "Bicycles are parked in the yard. [1]"
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
def library(live_world: World) -> World:
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    ingest_text(live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.")
    return live_world


@pytest.fixture
def key(library: World) -> str:
    return library.key("editor").secret


def process_instead_of_sleeping(seconds: float) -> None:
    process_queue()


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


RunCommand = Callable[..., tuple[int, str]]


@pytest.fixture
def run_command(key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> RunCommand:
    """Runs a command of the client; returns its exit code and its output. The key is in the file `key`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("RAGSITE_URL", raising=False)
    monkeypatch.setattr(time, "sleep", process_instead_of_sleeping)
    (tmp_path / "key").write_text(f"{key}\n")

    def run(*arguments: str) -> tuple[int, str]:
        status = cli.main(arguments)
        output = capsys.readouterr()
        return status, output.out + output.err

    return run


@pytest.fixture
def signed_in(run_command: RunCommand, live_server: LiveServer, tmp_path: Path) -> RunCommand:
    assert run_command("login", live_server.url, "--key-file", str(tmp_path / "key"))[0] == 0
    return run_command


def test_the_command_line_asks_to_sign_in(run_command: RunCommand) -> None:
    assert run_command("sources") == (1, "Sign in first: ragsite login URL\n")


def test_the_command_line_stores_the_key_for_its_user_alone(signed_in: RunCommand, tmp_path: Path) -> None:
    stored = tmp_path / "config" / "ragsite" / "credentials.json"
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    status, table = signed_in("sources")
    assert (status, "library" in table, "private" in table) == (0, True, True)


def test_the_command_line_refuses_addresses_that_are_not_ragsites(
    run_command: RunCommand, live_server: LiveServer, tmp_path: Path
) -> None:
    for address, text in (
        ("127.0.0.1:1", "must begin with http:// or https://"),
        (f"{live_server.url}/v1", "answered 404. Is this"),
    ):
        status, output = run_command("login", address, "--key-file", str(tmp_path / "key"))
        assert (status, text in output) == (1, True), output


def test_the_command_line_sends_the_files_of_a_folder_that_have_content(signed_in: RunCommand, tmp_path: Path) -> None:
    folder, empty = tmp_path / "notes", tmp_path / "empty"
    folder.mkdir()
    empty.mkdir()
    (folder / "tea.md").write_text("The kettle is on the second floor.")
    (folder / "[a].md").touch()
    status, text = signed_in("ingest", str(folder), "--source", "library")
    assert (status, "1 documents can be searched, 0 failed." in text) == (0, True), text
    assert "Not sent, because empty: [a].md" in text
    assert signed_in("ingest", str(empty), "--source", "library") == (1, "The folder has no files with content.\n")
    status, text = signed_in("search", "kettle", "--source", "library")
    assert (status, "The kettle is on the second floor." in text) == (0, True)


def test_the_command_line_asks_and_explains_errors(signed_in: RunCommand) -> None:
    status, text = signed_in("ask", QUESTION)
    assert (status, ANSWER in text, "After the check" in text) == (0, True, False)
    status, text = signed_in("search", "kettle", "--source", "nowhere")
    assert (status, "not visible to you" in text, "request" in text) == (1, True, True)


def test_the_command_line_shows_no_control_characters_of_documents(
    live_world: World, live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    clipboard, reversed_text = "\x1b]52;c;ZXZpbA==\x07", "\u202etxt.exe"
    text = f"Bicycles {clipboard}are parked \x9b2Jin the {reversed_text} yard."
    ingest_text(live_world.source("library"), f"/bikes{clipboard}", text, title=f"Bicycles{clipboard}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("RAGSITE_URL", raising=False)
    credentials.save(credentials.Credentials(live_server.url, live_world.key("editor").secret))
    for arguments in (["search", QUESTION], ["ask", QUESTION]):
        assert cli.main(arguments) == 0
        output = capsys.readouterr().out
        assert "Bicycles" in output
        assert {"\x1b", "\x9b", "\x07", "\u202e"}.isdisjoint(output), arguments


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
