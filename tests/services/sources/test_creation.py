"""A new source of v3 ingestion that another request creates first: the caller's own access decides, key included."""

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.models import ApiKey
from rag.errors import NotAllowed
from rag.services.sources import creation
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
