"""The list of searched sources that a process keeps is never older than the access rule."""

import os
import random
import uuid

import pytest

from orgs.access.caller import Caller
from rag.models import Action, DataSource
from rag.models.search import granted_scopes, searched_sources
from rag.services.queries.scopes_by_embedding_model import build_scopes
from rag.types import Question, SourceIds
from ragsite.postgres import identity
from tests.access.database.access_changes import Changes
from tests.access.database.injection import web_process
from tests.support.factories import World

# How often access changes.
STEPS = int(os.environ.get("PROVE_WORLDS", "40"))


def list_searched(caller: Caller) -> SourceIds:
    """List what a search in a web process would read, in the transaction of the current request."""
    with identity.run_as(caller.database_identity):
        scopes = build_scopes(DataSource.objects.queryable_by(caller), Question("animals", top_k=1))
        return searched_sources.list_ids(scopes, with_unlisted=True)


def test_lists_follow_each_change_of_access(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searched_sources, "_MIN_KEPT", 0)
    monkeypatch.setattr(searched_sources, "_kept", searched_sources.KeptLists())
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", 0)
    chance = random.Random("lists")
    changes = Changes(live_world, chance)
    latest: dict[tuple[uuid.UUID | None, uuid.UUID | None], SourceIds] = {}
    kept, read = 0, 0
    for step in range(STEPS):
        change = changes.change()
        callers = chance.sample(changes.callers(), 4)
        expected = [
            set(DataSource.objects.visible_to(caller, Action.QUERY).values_list("pk", flat=True)) for caller in callers
        ]
        with web_process():
            for caller, source_ids in zip(callers, expected, strict=True):
                key = caller.user.pk, caller.key.pk if caller.key else None
                listed = list_searched(caller)
                assert listed.ids == tuple(sorted(source_ids)), (step, change, caller)
                kept += listed is latest.get(key)
                read += listed is not latest.get(key)
                latest[key] = listed
    assert kept > STEPS // 8
    assert read > STEPS // 8


def test_a_transaction_that_has_written_keeps_no_list(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """All changes of a transaction have one mark, so the lists before and after a change would have one version."""
    monkeypatch.setattr(searched_sources, "_MIN_KEPT", 0)
    caller = Caller(world.users["member"])
    first = world.source("first")
    assert list_searched(caller).ids == (first.pk,)
    second = world.source("second")
    assert set(list_searched(caller).ids) == {first.pk, second.pk}


def test_kept_lists_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = searched_sources.KeptLists()
    lists = [SourceIds(json="x" * 100) for _ in range(4)]
    monkeypatch.setattr(searched_sources, "_MAX_KEPT", 250)
    keys = [((), (uuid.uuid4(),), None) for _ in lists]
    for key, ids in zip(keys, lists, strict=True):
        kept.get(keys[0])  # used, so that others are removed
        kept.add(key, "version", ids)
    assert [kept.get(key)[0] for key in keys] == ["version", None, None, "version"]
    kept.add(keys[3], "later", lists[3])
    assert [kept.get(key)[0] for key in keys] == ["version", None, None, "later"]
