"""Shared fixtures of the tests of pages."""

import pytest

from rag.models import DataSource
from tests.support.factories import World, ingest_text

ZEBRAS = "# Zebras\n\nThe zebra sleeps standing up, and it weighs about 300 kilograms."


@pytest.fixture
def source(world: World) -> DataSource:
    source = world.source(name="Animals")
    ingest_text(source, "zebras.md", ZEBRAS, title="Zebras")
    return source
