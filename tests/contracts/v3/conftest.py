"""Fixtures of the v3 contract's tests."""

import pytest

from orgs.access.permissions import Visibility
from tests.contracts.v3.helpers import TEXT, Api
from tests.support.factories import World, ingest_text
from tests.support.http import Client


@pytest.fixture
def member(api: Api, live_world: World) -> Client:
    library = live_world.source("library")
    ingest_text(library, "/bikes", TEXT.strip(), title="Bicycles", tags=("yard",))
    ingest_text(library, "/tea", "The kettle is on the second floor.", title="Tea")
    ingest_text(
        live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.", title="Hidden"
    )
    return api("member")
