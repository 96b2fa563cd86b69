"""Searches on read replicas never use an older access rule than the primary's."""

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import ApiKey
from rag.models import DataSource
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


@pytest.mark.parametrize("is_version_checked", [True, False])
def test_no_search_uses_an_older_access_rule(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], monkeypatch: pytest.MonkeyPatch,
    is_version_checked: bool,
) -> None:  # fmt: skip
    """Access changes at random, while replicas stand still or catch up. Each search finds what the primary permits.

    If replicas were used whatever version they have, a search might miss what was permitted lately, but even then it
    shows nothing that was revoked: the passages come from the primary.
    """
    chance = random.Random(f"replicas {is_version_checked}")
    changes = Changes(live_world, chance)
    if not is_version_checked:
        monkeypatch.setattr(
            routing, "_PRIMARY_STATE", routing._PRIMARY_STATE.replace("rag_access_version()", "0::bigint")
        )
        monkeypatch.setattr(
            routing, "_REPLICA_STATE", routing._REPLICA_STATE.replace("rag_access_version()", "0::bigint")
        )
    search(Caller(live_world.users["owner"]))
    in_sync()
    counts = Counter[str]()
    for step in range(STEPS if is_version_checked else STEPS // 2):
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
                assert ids <= documents, (step, change)
                assert ids == documents or not is_version_checked, (step, change)
                counts["replica" if used else "primary"] += 1
                counts["missed"] += ids != documents
    assert counts["replica"] > STEPS // 8
    assert bool(counts["missed"]) != is_version_checked
    assert not is_version_checked or counts["primary"] > STEPS // 8
    check_counts.count("searches on replicas while access changed", counts["replica"])


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
