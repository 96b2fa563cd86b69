"""Searches on read replicas never use an older access rule than the primary's."""

import os
import random
import uuid
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import ApiKey
from rag.models import DataSource, Grant
from rag.types import Mode
from ragsite.postgres.replicas import routing
from tests.access import check_counts
from tests.access.database.access_changes import Changes
from tests.access.database.injection import web_process
from tests.access.database.replica_searches import search, search_again
from tests.support.factories import World
from tests.support.servers.replicas import Replica

# How often access changes.
STEPS = int(os.environ.get("PROVE_WORLDS", "40"))


def test_no_search_uses_an_older_access_rule(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """Access changes at random, while replicas stand still or catch up. Each search finds what the primary permits."""
    chance = random.Random("replicas")
    changes = Changes(live_world, chance)
    search(Caller(live_world.users["owner"]))
    in_sync()
    counts = Counter[str]()
    for step in range(STEPS):
        replica = chance.choice(replicas)
        if chance.random() < 0.5:
            replica.pause()
        else:
            replica.resume()
        change = changes.change()
        if chance.random() < 0.5:
            in_sync(replica for replica in replicas if not replica.is_paused())
        callers = chance.sample(changes.callers(), 3)
        expected = [changes.expected(caller) for caller in callers]
        with web_process():
            for caller, documents in zip(callers, expected, strict=True):
                ids, used = search_again(caller, mode=Mode.LEXICAL)
                assert ids == documents, (step, change)
                counts["replica" if used else "primary"] += 1
    assert counts["replica"] > STEPS // 8
    assert counts["primary"] > STEPS // 8
    check_counts.count("searches on replicas while access changed", counts["replica"])


def test_an_unchecked_version_misses_passages_but_shows_nothing_revoked(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the test above would see if a replica were used whatever version it has.

    A search misses what was permitted lately. It shows nothing revoked even then: the passages come from the primary.
    """
    for name in ("_PRIMARY_STATE", "_REPLICA_STATE"):
        monkeypatch.setattr(routing, name, getattr(routing, name).replace("rag_access_version()", "0::bigint"))
    Changes(live_world, random.Random("unchecked"))
    member = live_world.users["member"]
    permitted_later, revoked_later = DataSource.objects.filter(visibility=Visibility.PRIVATE).order_by("slug")
    Grant.objects.create(source=revoked_later, user=member)
    before, _ = search(Caller(member))
    assert before >= documents_of(revoked_later)
    in_sync()
    for replica in replicas:
        replica.pause()
    Grant.objects.filter(source=revoked_later).delete()
    Grant.objects.create(source=permitted_later, user=member)
    assert search(Caller(member)) == (before - documents_of(revoked_later), True)


def documents_of(source: DataSource) -> set[uuid.UUID]:
    return set(source.documents.values_list("pk", flat=True))


def access_version() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_access_version()")
        return int(cursor.fetchone()[0])


def test_only_what_decides_access_changes_its_version(world: World) -> None:
    changes = Changes(world, random.Random("every change"))
    changes.change()
    versions = [access_version()]
    for change in changes.all():
        change()
        versions.append(access_version())
    assert len(set(versions)) == len(versions)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ragsite_private.access_change")
        assert cursor.fetchone() == (1,)  # marks are merged
    key = world.key("owner").key
    latest = access_version()
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
    User.objects.update(last_login=timezone.now())
    DataSource.objects.update(description="text")
    assert access_version() == latest
