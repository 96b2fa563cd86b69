"""Fixtures of the agent contract's tests."""

from collections.abc import Iterator
from typing import Any

import pytest

from rag.types import Submission
from tests.contracts.agent.helpers import ZEBRAS, Api
from tests.support.factories import World, ingest_together
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture
def model_provider(settings: Any) -> Iterator[ProviderServer]:
    """A configured language model that returns the `replies` of the test."""
    with ProviderServer().running() as server:
        settings.LLM_MODEL, settings.LLM_BASE_URL, settings.LLM_TIMEOUT = "test-model", server.base_url, 20.0
        yield server


@pytest.fixture
def member(api: Api, live_world: World) -> Client:
    """A member and a source with two documents that they may query."""
    source = live_world.source()
    kettles = "The kettle is on the second floor, beside the window."
    ingest_together(
        source,
        Submission("zebras.md", "zebras.md", text=ZEBRAS, uri="https://animals.example/zebras"),
        Submission("kettles.md", "kettles.md", text=kettles),
    )
    return api("member")


@pytest.fixture
def editor(api: Api) -> Client:
    """A user who may query nothing: there are no sources."""
    return api("editor")
