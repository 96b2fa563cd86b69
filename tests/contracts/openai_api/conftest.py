"""Fixtures of the tests of OpenAI's API: the official client with a member's key."""

from __future__ import annotations

import pytest
from pytest_django.live_server_helper import LiveServer

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text
from tests.support.speed.deferred import openai


@pytest.fixture
def library(live_world: World) -> World:
    """A world with two data sources that a member may query, and one that they may not."""
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    ingest_text(
        live_world.source("kitchen"),
        "/tea",
        "The kettle is on the second floor.",
        title="Tea",
        uri="https://acme.example/tea",
    )
    ingest_text(
        live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.", title="Hidden"
    )
    return live_world


@pytest.fixture
def client(live_server: LiveServer, library: World) -> openai.OpenAI:
    key = library.key("member", "query").secret
    return openai.OpenAI(base_url=f"{live_server.url}/v1", api_key=key, max_retries=0)
