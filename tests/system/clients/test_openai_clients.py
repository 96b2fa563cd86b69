"""OpenAI's Python client and its Agents SDK, as a customer's program would use them with an API key."""

import asyncio
import json
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import agents
import openai
import pytest
from pytest_django.live_server_helper import LiveServer

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.provider_server import ProviderServer, tool_call

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


def post(client: openai.OpenAI, to: str, /, **body: Any) -> dict[str, Any]:
    return client.post(to, body=body, cast_to=dict[str, Any])


def streamed(client: openai.OpenAI, path: str, **body: Any) -> list[dict[str, Any]]:
    events = client.post(
        path,
        body={**body, "stream": True},
        cast_to=dict[str, Any],
        stream=True,
        stream_cls=openai.Stream[dict[str, Any]],
    )
    return list(events)


def test_the_openai_client_chats_and_asks(client: openai.OpenAI) -> None:
    message = {"role": "user", "content": QUESTION}
    chat = post(client, "/chat", model="llama2", messages=[message], useRag=True)
    assert chat["data"]["message"] == "Bicycles are parked in the yard. (Bicycles)"
    assert [source["title"] for source in chat["ragSources"]] == ["Bicycles"]
    answered = post(client, "/rag/query", query=QUESTION)
    assert answered["answer"] == "Bicycles are parked in the yard. [1]"
    assert [document["title"] for document in answered["documents"]] == ["Bicycles"]


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
    first, *tokens, done = streamed(client, path, **body)
    assert first[sources]
    assert tokens
    assert [set(token) for token in tokens] == [{"text"}] * len(tokens)
    whole = done[answer]
    text = whole if isinstance(whole, str) else whole.get("message") or whole["text"]
    assert "".join(token["text"] for token in tokens).strip() == text


def test_the_openai_client_raises_what_goes_wrong_in_a_stream(
    client: openai.OpenAI, language_model: ProviderServer
) -> None:
    language_model.fail(401)
    with pytest.raises(openai.APIError) as raised:
        streamed(client, "/chat", messages=[{"role": "user", "content": QUESTION}], useRag=True)
    assert not isinstance(raised.value, openai.APIStatusError), "the answer had begun, with 200"


def test_the_openai_clients_errors_are_ours(live_server: LiveServer, client: openai.OpenAI) -> None:
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
    """For `run_sync`, which leaves its loop open for the next run of the same thread."""
    own = asyncio.new_event_loop()
    asyncio.set_event_loop(own)
    yield own
    asyncio.set_event_loop(None)
    own.close()


def tool(address: str, path: str, key: str, found: list[Any]) -> agents.FunctionTool:
    """A function tool that asks ragsite over HTTP, and notes what it was answered."""

    @agents.function_tool
    def search_handbooks(query: str) -> str:
        """Search the company's handbooks."""
        headers = {"Content-Type": "application/json", "X-API-Key": key}
        request = urllib.request.Request(address + path, json.dumps({"query": query}).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            found.append(json.load(response))
        return json.dumps(found[-1])

    return search_handbooks


@pytest.mark.parametrize(("path", "field"), [("/api/v1/search", "results"), ("/agent/respond", "retrieved_chunks")])
def test_an_agents_function_tool_asks_ragsite(
    live_server: LiveServer,
    key: str,
    provider: ProviderServer,
    loop: asyncio.AbstractEventLoop,
    path: str,
    field: str,
) -> None:
    """A customer's own agent, with a model of its own: ragsite is what its tool calls."""
    provider.replies = [tool_call("search_handbooks", {"query": QUESTION}), "They are parked in the yard."]
    found: list[Any] = []
    outside = openai.AsyncOpenAI(base_url=provider.base_url, api_key="secret", max_retries=0)
    agent = agents.Agent(
        name="Porter",
        instructions="Answer from the handbooks.",
        model=agents.OpenAIChatCompletionsModel("test-model", outside),
        model_settings=agents.ModelSettings(),
        tools=[tool(live_server.url, path, key, found)],
    )
    result = agents.Runner.run_sync(agent, QUESTION, run_config=agents.RunConfig(tracing_disabled=True))
    loop.run_until_complete(outside.close())
    assert result.final_output == "They are parked in the yard."
    assert len(found) == 1
    passages = found[0][field]
    assert [passage.get("content") or passage["text"] for passage in passages] == ["Bicycles are parked in the yard."]
    shown = [each for each in provider.requests[-1]["messages"] if each["role"] == "tool"]
    assert json.loads(shown[0]["content"]) == found[0], "the model was shown what ragsite answered"


def test_the_headers_of_clients_in_browsers_pass_the_preflight(api: Callable[..., Client]) -> None:
    """supabase-js: the first four are the retrieval contract's, the others depend on how an app configures it."""
    asked = "authorization, x-client-info, apikey, content-type, x-region, traceparent, tracestate, baggage"
    browser = api().with_headers(
        Origin="https://app.example",
        Access_Control_Request_Method="POST",
        Access_Control_Request_Headers=asked,
    )
    reply = browser.send("OPTIONS", "/functions/v1/rag-search")
    assert reply.status == 200
    allowed = {each.strip() for each in reply.headers["access-control-allow-headers"].split(",")}
    assert set(asked.split(", ")) <= allowed
