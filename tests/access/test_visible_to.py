"""The access rule against its plain statement (oracle.py), in random worlds."""

import ipaddress
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import transaction
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from orgs.access.caller import Caller
from orgs.access.permissions import Permission, Scope, Visibility
from orgs.api_keys import service
from orgs.models import Role, Team
from orgs.services import add_member
from rag.models import Action, Chunk, DataSource, Document, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from tests.access import oracle
from tests.access.worlds import ADDRESSES, Rows, build, fill, secret, worlds
from tests.support.factories import World

pytestmark = pytest.mark.django_db

CONTENT = (Document, Chunk, Embedding384)
May = Callable[[oracle.World, oracle.User | None, oracle.Source, str, oracle.Key | None], bool]


@contextmanager
def rolled_back() -> Iterator[None]:
    """One example's rows: gone before the next begins, whether or not it passes."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def compare(world: oracle.World, rows: Rows, action: Action, model: Any, key: str, may: May) -> None:
    """As lists, so that a row found twice shows."""
    names = {row.pk: name for name, row in rows.sources.items()}
    for user, by, caller in rows.callers():
        found = model.objects.visible_to(caller, action).values_list(key, flat=True)
        expected = [source.name for source in world.sources if may(world, user, source, action.value, by)]
        assert sorted(names[pk] for pk in found) == sorted(expected), f"{model.__name__}, {action}, {user}, {by}"


@given(world=worlds())
# Hypothesis's explanations cost a hundred more worlds and say no more than the smallest one does.
@settings(max_examples=30, deadline=None, phases=set(Phase) - {Phase.explain})
def test_sources_are_visible_as_the_contract_says(world: oracle.World) -> None:
    """RESOLUTION.md, “Visibility”, for everybody and nobody, by every key, every source and every action."""
    with rolled_back():
        rows = build(world)
        for action in Action:
            compare(world, rows, action, DataSource, "pk", oracle.may)


@given(world=worlds(), action=st.sampled_from(Action))
# Not shrunk: what is wrong with the rule itself is shown small by the test above, and shrinking takes minutes.
@settings(max_examples=25, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_content_is_visible_as_its_source_is(world: oracle.World, action: Action) -> None:
    """“`DataSource` is the thing access is granted on”; jobs are part of managing and of ingesting."""
    with rolled_back():
        rows = build(world)
        fill(DataSource.objects.all())
        for model in CONTENT:
            compare(world, rows, action, model, "source", oracle.may)
        compare(world, rows, action, IngestionJob, "source", oracle.may_with_jobs)


@given(world=worlds(), address=st.sampled_from(ADDRESSES))
@settings(max_examples=30, deadline=None, phases=set(Phase) - {Phase.explain})
def test_keys_count_as_the_contract_says(world: oracle.World, address: str) -> None:
    """docs/contracts/authentication.md: revoked, expired, inactive, and from where."""
    with rolled_back():
        rows = build(world)
        for key in world.keys:
            expected = rows.keys[key] if oracle.counts(world, key) and oracle.may_come_from(key, address) else None
            key_in_database, reason = service.find(secret(key), address=ipaddress.ip_address(address)) or (None, None)
            assert (None if reason else key_in_database) == expected, (key, address, reason)


def test_the_statement_covers_everything_there_is() -> None:
    """A new action, visibility or permission must be stated before it can pass here."""
    assert {action.value for action in Action} == set(oracle.ACTIONS)
    assert set(Visibility.values) == set(oracle.VISIBILITIES)
    assert set(Permission.values) == set(oracle.PERMISSIONS)
    assert set(Scope.values) == set(oracle.SCOPES)


def test_rows_do_not_double(world: World) -> None:
    """One row a source, however many of its roles and teams somebody is in (design: subqueries, not joins)."""
    roles = Role.objects.filter(organization=world.home)
    add_member(user=world.users["owner"], organization=world.home, roles=[r.name for r in roles], teams=("a", "b"))
    by_role, by_team = world.source("r", visibility="role"), world.source("t", visibility="team")
    for role in roles:
        by_role.grants.create(role=role)
    for team in Team.objects.filter(organization=world.home):
        by_team.grants.create(team=team)
    fill([by_role, by_team])
    for action in Action:
        assert list(DataSource.objects.visible_to(Caller(world.users["owner"]), action)) == [by_role, by_team]
        for model in (*CONTENT, IngestionJob):
            assert model.objects.visible_to(Caller(world.users["owner"]), action).count() == 2


def test_the_rule_narrows_and_never_widens(world: World) -> None:
    """“unless `org_id`, `dataSources` or the header … narrows it”: what was filtered before stays filtered."""
    one, other = world.source("one"), world.source("other")
    fill([one, other])
    for action in Action:
        assert DataSource.objects.filter(slug="one").visible_to(Caller(world.users["owner"]), action).get() == one
        for model in (*CONTENT, IngestionJob):
            assert model.objects.filter(source=one).visible_to(Caller(world.users["owner"]), action).count() == 1
