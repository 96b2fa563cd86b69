"""A library with an API key, for the clients."""

import pytest

from orgs.access.permissions import Visibility
from tests.support.factories import World, ingest_text


@pytest.fixture
def library(live_world: World) -> World:
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    ingest_text(live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.")
    return live_world


@pytest.fixture
def key(library: World) -> str:
    return library.key("editor").secret
