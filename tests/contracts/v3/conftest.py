"""Fixtures of the v3 contract's tests."""

import pytest

from orgs.access.permissions import Visibility
from rag.types import Submission
from tests.contracts.v3.helpers import TEXT, Api
from tests.support.factories import World, ingest_text, ingest_together
from tests.support.http import Client


@pytest.fixture
def member(api: Api, live_world: World) -> Client:
    library = live_world.source("library")
    bikes = Submission("/bikes", "Bicycles", text=TEXT.strip(), tags=("yard",))
    ingest_together(library, bikes, Submission("/tea", "Tea", text="The kettle is on the second floor."))
    ingest_text(
        live_world.source("closed", visibility=Visibility.PRIVATE), "/x", "Bicycles in the cellar.", title="Hidden"
    )
    return api("member")
