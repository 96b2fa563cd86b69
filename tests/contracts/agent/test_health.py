"""The agent contract, GET /agent/health, over HTTP."""

import datetime
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import OperationalError

from rag.contracts.agent.views import Agent
from rag.models import EmbeddingModel
from tests.support.checks import snapshots
from tests.support.factories import World
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]


@pytest.fixture
def model_provider(settings: Any) -> Iterator[ProviderServer]:
    with ProviderServer().running() as server:
        settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_API_KEY = "test-model", server.base_url, "k"
        yield server


def test_healthy_without_a_language_model(api: Api) -> None:
    for path in ("/agent/health", "/agent/health/"):
        reply = api("member").get(path)
        assert reply.status == 200
        snapshots.assert_matches("agent-health", reply.body)
        moment = datetime.datetime.fromisoformat(reply.body.pop("timestamp"))
        assert abs(datetime.datetime.now(datetime.UTC) - moment) < datetime.timedelta(minutes=1)
        assert reply.body == {
            "status": "healthy",
            "openai_connected": False,
            "qdrant_connected": True,
            "retrieval_tool_working": True,
        }


def test_a_credential_is_required(api: Api, model_provider: ProviderServer) -> None:
    """Security: "All requests must include proper authentication headers". Anonymous requests do not call the model."""
    reply = api().get("/agent/health")
    assert reply.status == 401
    assert set(reply.body["error"]) == {"type", "message", "details", "timestamp"}
    assert model_provider.requests == []


def test_a_configured_model_that_responds(api: Api, model_provider: ProviderServer) -> None:
    reply = api("member").get("/agent/health")
    assert (reply.status, reply.body["openai_connected"]) == (200, True)
    assert model_provider.requests == [{"path": "/v1/models", "key": "Bearer k"}]


@pytest.mark.parametrize(
    ("status", "connected"), [(404, True), (429, True), (401, False), (403, False), (500, False), (503, False)]
)
def test_which_statuses_count_as_connected(
    api: Api, model_provider: ProviderServer, status: int, connected: bool
) -> None:
    model_provider.fail(status)
    reply = api("member").get("/agent/health")
    assert reply.body["openai_connected"] is connected
    assert (reply.status, reply.body["status"]) == ((200, "healthy") if connected else (503, "unhealthy"))
    assert reply.body["qdrant_connected"] is True


def test_frequent_checks_do_not_call_the_model_each_time(api: Api, model_provider: ProviderServer) -> None:
    member = api("member")
    for _ in range(5):
        assert member.get("/agent/health").status == 200
    assert len(model_provider.requests) <= 2


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "not an address"])
def test_a_configured_model_that_is_unreachable(api: Api, settings: Any, address: str) -> None:
    settings.LLM_MODEL, settings.LLM_BASE_URL = "test-model", address
    reply = api("member").get("/agent/health")
    assert (reply.status, reply.body["status"], reply.body["openai_connected"]) == (503, "unhealthy", False)


def test_a_model_that_does_not_respond_times_out(api: Api, model_provider: ProviderServer) -> None:
    member = api("member")
    model_provider.stall.clear()
    started_at = datetime.datetime.now(datetime.UTC)
    assert member.get("/agent/health").status == 503
    assert (datetime.datetime.now(datetime.UTC) - started_at).total_seconds() < 5


def test_retrieval_that_fails(api: Api, live_world: World, settings: Any) -> None:
    settings.RAG_EMBEDDING_MODEL = "unknown"
    EmbeddingModel.objects.filter(name="unknown").delete()
    reply = api("member").get("/agent/health")
    assert (reply.status, reply.body["retrieval_tool_working"]) == (503, False)
    assert reply.body["qdrant_connected"] is True


def test_a_database_outage_during_authentication() -> None:
    response = Agent(action="health").handle_exception(OperationalError("the server closed the connection"))
    assert response.status_code == 503
    assert (response.data["status"], response.data["qdrant_connected"]) == ("unhealthy", False)
