"""The agent contract, POST /agent/respond, over HTTP: every failure is a 500. A busy server is not a failure."""

import json
from typing import Any

import pytest

from rag.models import EmbeddingModel
from rag.providers.language_models.agent_loop import MAX_TURNS
from rag.providers.limits import expensive_work_limiter
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from tests.contracts.agent.helpers import (
    RETRIEVE,
    ZEBRAS,
    Api,
    ask,
)
from tests.support.factories import World, ingest_text
from tests.support.http import Client, Reply
from tests.support.servers.provider_server import ProviderServer, tool_call


def assert_failed(reply: Reply, *types: str) -> None:
    assert reply.status == 500, reply
    assert set(reply.body) == {"error"}
    error = reply.body["error"]
    assert set(error) == {"type", "message", "details", "timestamp"}
    assert error["type"] in types
    assert error["details"]["request_id"]
    assert "as the test asked" not in json.dumps(error)


def test_a_model_that_never_stops_calling_tools(member: Client, model_provider: ProviderServer) -> None:
    call = {"query": "zebras", "top_k": 1, "min_score": 0.3}
    model_provider.replies = [tool_call(RETRIEVE, call, number=number) for number in range(50)]
    assert_failed(ask(member), "AGENT_ERROR")
    assert len(model_provider.requests) == MAX_TURNS


@pytest.mark.parametrize("status", [401, 429, 500])
def test_a_model_that_rejects_the_request(member: Client, model_provider: ProviderServer, status: int) -> None:
    for _ in range(3):
        model_provider.fail(status, retry_after_ms="1")
    assert_failed(ask(member), "AGENT_ERROR", "SERVICE_UNAVAILABLE")


@pytest.mark.parametrize("busy", ["language model", "embedding model"])
def test_a_server_that_has_no_place_left_is_busy(
    api: Api, live_world: World, model_provider: ProviderServer, settings: Any, busy: str
) -> None:
    settings.RAG_MAX_MODEL_CALLS = 0
    if busy == "embedding model":
        live_world.source(
            embedding_model=EmbeddingModel.objects.create(
                name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
            )
        )
    else:
        settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY = (
            "test-model",
            model_provider.base_url,
            "secret",
        )
        ingest_text(live_world.source(), "zebras.md", ZEBRAS)
    reply = ask(api("member"))
    assert (reply.status, reply.headers["retry-after"], reply.body["error"]["type"]) == (429, "2", "RATE_LIMITED")
    assert model_provider.requests == []


def test_long_selected_texts_wait_for_the_local_model_like_documents(member: Client, settings: Any) -> None:
    settings.RAG_MAX_MODEL_CALLS = 0
    assert ask(member, user_selected_text="z " * 1_000).status == 200, "as short as a question"
    reply = ask(member, user_selected_text="z " * 1_001)
    assert (reply.status, reply.headers["retry-after"], reply.body["error"]["type"]) == (429, "10", "RATE_LIMITED")


def test_a_selected_text_that_waits_too_long(member: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expensive_work_limiter, "MAX_WAIT_SECONDS", 0.1)
    settings.RAG_MAX_DOCUMENT_EMBEDDINGS = 1
    with CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "document-slots", count=1).slot(timeout=0):
        assert ask(member, user_selected_text="z " * 1_001).status == 429


def test_a_model_that_is_too_slow(member: Client, model_provider: ProviderServer, settings: Any) -> None:
    settings.LLM_TIMEOUT = 0.3
    model_provider.stall.clear()
    assert_failed(ask(member), "AGENT_ERROR", "SERVICE_UNAVAILABLE")


def test_a_model_that_is_unreachable(member: Client, settings: Any) -> None:
    settings.LLM_MODEL, settings.LLM_BASE_URL = "test-model", "http://127.0.0.1:9/v1"
    assert_failed(ask(member), "AGENT_ERROR", "SERVICE_UNAVAILABLE")


def test_retrieval_that_fails(api: Api, live_world: World, settings: Any) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    down = EmbeddingModel.objects.create(
        name="down", provider="openai", dimensions=768, base_url="http://127.0.0.1:9/v1"
    )
    live_world.source(embedding_model=down)
    assert_failed(ask(api("member")), "RETRIEVAL_FAILED")


def test_retrieval_that_fails_in_a_tool_call(
    api: Api, live_world: World, model_provider: ProviderServer, settings: Any
) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    remote = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    ingest_text(live_world.source(embedding_model=remote), "zebras.md", ZEBRAS)
    member = api("member")
    request_count = len(model_provider.requests)

    # The question is embedded, the model asks for a search, and then its embedding fails.
    answer = model_provider.answer

    def fail_after_completion(path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if path == "/v1/chat/completions":
            model_provider.fail(500)
            model_provider.answer = answer  # type: ignore[method-assign]
            return model_provider.complete(body)
        return answer(path, body)

    model_provider.answer = fail_after_completion  # type: ignore[method-assign]
    model_provider.replies = [tool_call(RETRIEVE, {"query": "zebras", "top_k": 1, "min_score": 0})]
    assert_failed(ask(member), "RETRIEVAL_FAILED")
    paths = [request["path"] for request in model_provider.requests[request_count:]]
    assert paths == ["/v1/embeddings", "/v1/chat/completions", "/v1/embeddings"]


def test_a_judge_without_a_verdict(member: Client, model_provider: ProviderServer, settings: Any) -> None:
    settings.RAG_GROUNDING = "model"
    model_provider.replies = ["Zebras have stripes.", "no judgement"]
    assert_failed(ask(member), "GROUNDING_FAILED")
