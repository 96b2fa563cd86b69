"""A member who asks about the documents of an organisation."""

from collections.abc import Callable

import pytest

from orgs.access.permissions import Visibility
from rag.types import Submission
from tests.support.factories import World, ingest_text, ingest_together
from tests.support.http import Client


@pytest.fixture
def member(api: Callable[..., Client], live_world: World) -> Client:
    """A member of an organisation with three documents, one of which the member may not read."""
    library = live_world.source("library")
    bikes, tea = (
        "Bicycles are parked in the yard.\n\nThe porter has the key of the shed.",
        "The kettle is on the second floor. Water boils at 100 degrees.",
    )
    ingest_together(library, Submission("/bikes", "Bicycles", text=bikes), Submission("/tea", "Tea", text=tea))
    closed = live_world.source("closed", visibility=Visibility.PRIVATE)
    ingest_text(closed, "/secret", "Bicycles of the board are parked in the cellar.", title="Secret")
    return api("member")
