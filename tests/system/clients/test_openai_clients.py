"""OpenAI's Python client and Agents SDK, used with an API key as a customer's program would."""

from __future__ import annotations

import asyncio
import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer, tool_call
from tests.support.speed.deferred import agents, openai

QUESTION = "Where are the bicycles parked?"


@pytest.fixture
def key(live_world: World) -> str:
    """A member's API key, in a world with one document that they may read and one that they may not."""
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    ingest_text(
        live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.", title="Hidden"
    )
    return live_world.key("member", "query").secret


@pytest.fixture
def client(live_server: LiveServer, key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{live_server.url}/api", api_key=key, max_retries=0)


def post(client: openai.OpenAI, path: str, /, **body: Any) -> dict[str, Any]:
    return client.post(path, body=body, cast_to=dict[str, Any])


def stream_events(client: openai.OpenAI, path: str, **body: Any) -> list[dict[str, Any]]:
    events = client.post(
        path,
        body={**body, "stream": True},
        cast_to=dict[str, Any],
        stream=True,
        stream_cls=openai.Stream[dict[str, Any]],
    )
    return list(events)


def test_the_openai_client_can_chat_and_query(client: openai.OpenAI) -> None:
    message = {"role": "user", "content": QUESTION}
    chat = post(client, "/chat", model="llama2", messages=[message], useRag=True)
    assert chat["data"]["message"] == "Bicycles are parked in the yard. (Bicycles)"
    assert [source["title"] for source in chat["ragSources"]] == ["Bicycles"]
    reply = post(client, "/rag/query", query=QUESTION)
    assert reply["answer"] == "Bicycles are parked in the yard. [1]"
    assert [document["title"] for document in reply["documents"]] == ["Bicycles"]


@pytest.mark.parametrize(
    ("path", "body", "sources", "answer"),
    [
        ("/chat", {"messages": [{"role": "user", "content": QUESTION}], "useRag": True}, "ragSources", "data"),
        ("/rag/query", {"query": QUESTION}, "documents", "answer"),
        ("/rag/answer", {"query_text": QUESTION}, "citations", "answer"),
    ],
)
def test_the_openai_client_reads_our_streams(
    client: openai.OpenAI, path: str, body: dict[str, Any], sources: str, answer: str
) -> None:
    first, *tokens, done = stream_events(client, path, **body)
    assert first[sources]
    assert tokens
    assert [set(token) for token in tokens] == [{"text"}] * len(tokens)
    final = done[answer]
    text = final if isinstance(final, str) else final.get("message") or final["text"]
    assert "".join(token["text"] for token in tokens).strip() == text


def test_the_openai_client_raises_an_error_event_of_a_stream(
    client: openai.OpenAI, language_model: ProviderServer
) -> None:
    language_model.fail(401)
    with pytest.raises(openai.APIError) as raised:
        stream_events(client, "/chat", messages=[{"role": "user", "content": QUESTION}], useRag=True)
    assert not isinstance(raised.value, openai.APIStatusError), "the response had already started, with status 200"


def test_the_openai_client_raises_its_exceptions_for_our_errors(live_server: LiveServer, client: openai.OpenAI) -> None:
    stranger = openai.OpenAI(base_url=f"{live_server.url}/api", api_key="rk_unknown", max_retries=0)
    with pytest.raises(openai.AuthenticationError):
        post(stranger, "/rag/query", query=QUESTION)
    with pytest.raises(openai.BadRequestError) as raised:
        post(client, "/rag/query", query="")
    assert isinstance(raised.value.response.json(), dict)
    assert raised.value.response.json()["error"] == "INVALID_REQUEST"
    with pytest.raises(openai.PermissionDeniedError):
        post(client, "/rag/ingest", source="library", path="/p", title="T", text="Text.")


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop for `run_sync`, which leaves its loop open for the next run in the same thread."""
    new_loop = asyncio.new_event_loop()
    asyncio.set_event_loop(new_loop)
    yield new_loop
    asyncio.set_event_loop(None)
    new_loop.close()


def ragsite_tool(address: str, path: str, key: str, replies: list[Any]) -> agents.FunctionTool:
    """A function tool that queries ragsite over HTTP and appends each reply to `replies`."""

    @agents.function_tool
    def search_handbooks(query: str) -> str:
        """Search the company's handbooks."""
        headers = {"Content-Type": "application/json", "X-API-Key": key}
        request = urllib.request.Request(address + path, json.dumps({"query": query}).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            replies.append(json.load(response))
        return json.dumps(replies[-1])

    return search_handbooks


@pytest.mark.parametrize(("path", "field"), [("/api/v1/search", "results"), ("/agent/respond", "retrieved_chunks")])
def test_an_agents_function_tool_queries_ragsite(
    live_server: LiveServer,
    key: str,
    model_provider: ProviderServer,
    loop: asyncio.AbstractEventLoop,
    path: str,
    field: str,
) -> None:
    """A customer's agent with a model of its own, whose tool calls ragsite."""
    model_provider.replies = [tool_call("search_handbooks", {"query": QUESTION}), "They are parked in the yard."]
    replies: list[Any] = []
    model_client = openai.AsyncOpenAI(base_url=model_provider.base_url, api_key="secret", max_retries=0)
    agent = agents.Agent(
        name="Porter",
        instructions="Answer from the handbooks.",
        model=agents.OpenAIChatCompletionsModel("test-model", model_client),
        model_settings=agents.ModelSettings(),
        tools=[ragsite_tool(live_server.url, path, key, replies)],
    )
    result = agents.Runner.run_sync(agent, QUESTION, run_config=agents.RunConfig(tracing_disabled=True))
    loop.run_until_complete(model_client.close())
    assert result.final_output == "They are parked in the yard."
    assert len(replies) == 1
    passages = replies[0][field]
    assert [passage.get("content") or passage["text"] for passage in passages] == ["Bicycles are parked in the yard."]
    tool_messages = [message for message in model_provider.requests[-1]["messages"] if message["role"] == "tool"]
    assert json.loads(tool_messages[0]["content"]) == replies[0], "the model received what ragsite answered"


def test_the_headers_of_clients_in_browsers_pass_the_preflight(api: Callable[..., Client]) -> None:
    """The first four are in the retrieval contract. supabase-js sends the others if an app configures it so."""
    headers = "authorization, x-client-info, apikey, content-type, x-region, traceparent, tracestate, baggage"
    browser = api().with_headers(
        Origin="https://app.example",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers=headers,
    )
    reply = browser.send("OPTIONS", "/functions/v1/rag-search")
    assert reply.status == 200
    allowed = {name.strip() for name in reply.headers["access-control-allow-headers"].split(",")}
    assert set(headers.split(", ")) <= allowed
