"""A new source of v3 ingestion that another request creates first: the caller's own access decides, key included."""

import uuid

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.models import ApiKey
from rag.admin.sources.source_forms import SourceForm
from rag.errors import InvalidRequest, NotAllowed
from rag.services.sources import creation
from rag.services.sources.editing import SourceSettings
from tests.support.factories import World


def test_the_first_request_creates_the_source_and_the_second_uses_it(world: World) -> None:
    caller = Caller.from_key(world.key("editor", "ingest").key)
    first, second = (creation.get_or_build_source(caller, "new", organization=world.home) for _ in range(2))
    created = creation.save_if_new(first, caller)
    assert creation.save_if_new(second, caller).pk == created.pk


def test_a_key_that_was_revoked_meanwhile_does_not_write_to_the_source(world: World) -> None:
    caller = Caller.from_key(world.key("editor", "ingest").key)
    source = creation.get_or_build_source(caller, "new", organization=world.home)
    world.source("new", owner=world.users["editor"])
    ApiKey.objects.update(revoked_at=timezone.now())
    with pytest.raises(NotAllowed):
        creation.save_if_new(source, caller)


def test_no_new_source_gets_a_uuid_as_its_slug(world: World) -> None:
    """Requests read a UUID as an id, so nobody could send a second document to such a source."""
    caller, key = Caller(world.users["editor"]), str(uuid.uuid4())
    for create in (
        lambda: creation.get_or_build_source(caller, key, organization=world.home),
        lambda: creation.create_source(caller, SourceSettings(name=key), organization=world.home),
    ):
        with pytest.raises(InvalidRequest):
            create()
    data = {"organization": world.home.pk, "name": "x", "slug": key}
    assert "UUID" in str(SourceForm(data).errors["slug"])
