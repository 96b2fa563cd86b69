"""POST /mcp, through the official SDK's client; the documented program."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from pytest_django.live_server_helper import LiveServer

from orgs.access.permissions import Visibility
from rag.models import Document
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.speed.deferred import mcp, mcp_http

QUESTION = "Where are the bicycles parked?"
PAGE = Path(__file__).parents[3] / "docs" / "user" / "mcp.md"
Api = Callable[..., Client]
Run = Callable[[Callable[["mcp.Client"], Awaitable[Any]]], Any]


@pytest.fixture
def library(live_world: World) -> World:
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    closed = live_world.source("closed", visibility=Visibility.PRIVATE)
    ingest_text(closed, "/x", "Bicycles in the cellar.", title="Hidden")
    return live_world


@pytest.fixture
def run(live_server: LiveServer, library: World) -> Run:
    """Run a coroutine with the SDK's client, which has a member's key."""
    key = library.key("member", "query").secret

    def run_with_client(use: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as http:
                transport = mcp_http.streamable_http_client(f"{live_server.url}/mcp", http_client=http)
                async with mcp.Client(transport) as client:
                    return await use(client)

        return asyncio.run(main())

    return run_with_client


def call(run: Run, tool: str, **arguments: Any) -> Any:
    reply = run(lambda client: client.call_tool(tool, arguments))
    assert not reply.is_error, reply
    return reply.structured_content


def test_the_tools_return_what_rest_returns(run: Run, api: Api) -> None:
    member = api("member")
    tools = run(lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == ["search", "ask", "list_sources", "get_document"]
    passages = member.post("/api/rag/retrieve", {"query": QUESTION}).body["documents"]
    chunk_ids = [passage["chunk_id"] for passage in call(run, "search", query=QUESTION)["passages"]]
    assert chunk_ids == [passage["id"] if "id" in passage else passage["chunkId"] for passage in passages]
    answer = member.post("/api/rag/query", {"query": QUESTION}).body
    reply = call(run, "ask", question=QUESTION, sources=["library"])
    assert (reply["answer"], reply["confidence"]) == (answer["answer"], pytest.approx(answer["confidence"]))
    assert [citation["document_id"] for citation in reply["citations"]] == [
        citation["documentId"] for citation in answer["citationsUsed"]
    ]
    assert [source["slug"] for source in call(run, "list_sources")["sources"]] == ["library"]
    document = call(run, "get_document", document_id=reply["citations"][0]["document_id"], offset=9)
    assert (document["title"], document["text"]) == ("Bicycles", "are parked in the yard.")


def test_a_long_text_is_read_in_parts(run: Run) -> None:
    """A text may have hundreds of megabytes, and many clients read at once."""
    text = "Bicycles 🚲 " * 1_000_000
    document_id = str(Document.objects.get(path="/bikes").pk)
    Document.objects.filter(pk=document_id).update(text=text)

    async def use(client: mcp.Client) -> None:
        tracemalloc.start()
        resource: Any = await client.read_resource(f"ragsite://documents/{document_id}")
        replies: list[Any] = [
            await client.call_tool("get_document", {"document_id": document_id, "offset": offset})
            for offset in (3, len(text) - 2, 1_000_000_000)
        ]
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 10_000_000, peak
        (content,), parts = resource.contents, [reply.structured_content for reply in replies]
        assert content.text == text[:50_000]
        assert (content.meta["characters"], content.meta["is_complete"]) == (len(text), False)
        assert [part["text"] for part in parts] == [text[3:50_003], text[-2:], ""]
        assert [part["next_offset"] for part in parts] == [50_003, None, None]

    run(use)


def test_documents_are_resources(run: Run) -> None:
    (resource,) = run(lambda client: client.list_resources()).resources
    assert (resource.name, resource.title) == ("/bikes", "Bicycles")
    (content,) = run(lambda client: client.read_resource(str(resource.uri))).contents
    assert content.text == "Bicycles are parked in the yard."
    (template,) = run(lambda client: client.list_resource_templates()).resource_templates
    assert template.uri_template == "ragsite://documents/{id}"


def test_a_closed_document_does_not_exist(run: Run) -> None:
    hidden = str(Document.objects.get(title="Hidden").pk)

    async def use(client: mcp.Client) -> None:
        for source in ("closed", "nowhere"):
            reply: Any = await client.call_tool("search", {"query": QUESTION, "sources": [source]})
            assert (reply.is_error, "not visible to you" in reply.content[0].text) == (True, True)
        for document_id in (hidden, "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11", "x"):
            assert (await client.call_tool("get_document", {"document_id": document_id})).is_error
            with pytest.raises(mcp.MCPError, match="not visible to you"):
                await client.read_resource(f"ragsite://documents/{document_id}")

    run(use)


def test_null_is_like_leaving_out(run: Run) -> None:
    """Language models fill in every argument that a tool describes."""

    async def use(client: mcp.Client) -> None:
        reply: Any = await client.call_tool("search", {"query": QUESTION, "sources": None, "top_k": None})
        assert [passage["title"] for passage in reply.structured_content["passages"]] == ["Bicycles"]
        missing: Any = await client.call_tool("search", {"query": None})
        assert (missing.is_error, missing.content[0].text) == (True, "query is required")

    run(use)


def test_a_wrong_argument_is_explained(run: Run) -> None:
    reply = run(lambda client: client.call_tool("search", {"query": "x", "top_k": 99}))
    assert (reply.is_error, reply.content[0].text) == (True, "top_k must be an integer from 1 to 50")


def test_malformed_and_unknown_messages_have_the_codes_of_json_rpc(api: Api) -> None:
    member = api("member")
    unknown = member.post("/mcp", {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "delete"}})
    assert (unknown.status, unknown.body["id"], unknown.body["error"]["code"]) == (200, 7, -32602)
    messages: list[tuple[Any, int]] = [
        ({"jsonrpc": "2.0", "id": 7, "method": "nothing"}, -32601),
        ([], -32600),
        (b"{", -32700),
    ]
    for message, code in messages:
        assert member.post("/mcp", message).body["error"]["code"] == code, message
    half_of_a_pair = "\ud800"
    assert member.post("/mcp", {"jsonrpc": "2.0", "id": half_of_a_pair, "method": "ping"}).status == 400


def test_notifications_are_accepted_and_streams_are_refused(api: Api) -> None:
    member = api("member")
    assert member.post("/mcp", {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
    assert member.get("/mcp").status == 405


def test_a_request_without_a_credential_is_challenged(api: Api) -> None:
    anonymous = api().post("/mcp", {})
    assert (anonymous.status, anonymous.body["jsonrpc"]) == (401, "2.0")
    assert anonymous.headers["www-authenticate"].startswith("Bearer")


def test_pages_of_unknown_origins_are_refused(live_server: LiveServer, library: World, settings: Any) -> None:
    """MCP, "Transports": servers must validate `Origin`, and answer 403 if it is invalid."""
    client = Client(live_server.url, {"Authorization": f"Bearer {library.key('member', 'query').secret}"})
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

    def send(origin: str) -> Any:
        return client.with_headers(Origin=origin).post("/mcp", ping)

    refused = send("https://app.example")
    assert (refused.status, refused.body["error"]["code"]) == (403, -32600)
    assert [send(origin).status for origin in ("null", live_server.url, "")] == [403, 200, 403]
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example"]
    assert [send(origin).status for origin in ("https://app.example", "https://app.example.evil.example")] == [200, 403]


@pytest.mark.usefixtures("steady_rate_limits")
def test_calls_count_as_queries(api: Api, library: World, settings: Any) -> None:
    member = api("member")
    settings.RAG_RATE_LIMITS = True
    settings.RAG_REQUESTS_PER_MINUTE = {**settings.RAG_REQUESTS_PER_MINUTE, "queries": 1}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_sources"}}
    assert [member.post("/mcp", body).status for _ in range(2)] == [200, 429]
    assert member.post("/mcp", {**body, "method": "ping"}).status == 200
    assert member.post("/api/rag/retrieve", {"query": QUESTION}).status == 429


def test_the_documented_program_runs(live_server: LiveServer, library: World, tmp_path: Path) -> None:
    program, _ = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    program = program.replace("http://127.0.0.1:3080", live_server.url)
    file = tmp_path / "program.py"
    file.write_text(program.replace("rk_…", library.key("member", "query").secret))
    process = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == ["Bicycles are parked in the yard. [1]", "Bicycles are parked in the yard."]
