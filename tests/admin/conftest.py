"""Fixtures of the tests of the admin."""

import pytest

from orgs.models import Role, Team
from rag.models import DataSource
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.factories import World, ingest_text


@pytest.fixture
def foreign(world: World) -> DataSource:
    """A source of another organisation with a role, a team and documents whose names must not leak."""
    Role.objects.create(organization=world.abroad, name="foreign-role")
    Team.objects.create(organization=world.abroad, name="foreign-team")
    world.key("foreigner", organization=world.abroad, name="foreign-key")
    source = world.source("foreign-source", organization=world.abroad, owner=world.users["foreigner"])
    ingest_text(source, "foreign-document", "Zebras.")
    create_job(
        source=source,
        submissions=[Submission(path="foreign-file", title="Foreign", text="Lions.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["foreigner"],
    )
    return source
