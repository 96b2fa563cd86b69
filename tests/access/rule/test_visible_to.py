"""Content and API keys by the queryset rule (`visible_to`) and by the oracle (oracle.py), in random worlds.

tests/access/database/test_row_level_security.py compares the rule for data sources.
"""

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from orgs.access.caller import Caller
from orgs.access.permissions import Permission, Scope, Visibility
from orgs.api_keys import check_key
from orgs.creation import add_member
from orgs.models import Role, Team
from rag.models import Action, Chunk, DataSource, Document, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from tests.access.rule import oracle
from tests.access.worlds import ADDRESSES, Rows, add_content, build, secret, worlds
from tests.support.data.database import rolled_back
from tests.support.factories import World

pytestmark = pytest.mark.django_db

CONTENT = (Document, Chunk, Embedding384)
IsAllowed = Callable[[oracle.World, oracle.User | None, oracle.Source, str, oracle.Key | None], bool]


def compare(world: oracle.World, rows: Rows, action: Action, model: Any, field: str, is_allowed: IsAllowed) -> None:
    """Compare what every caller sees with the oracle: as lists, so that duplicate rows are detected."""
    names = {row.pk: name for name, row in rows.sources.items()}
    for user, key, caller in rows.callers():
        source_ids = model.objects.visible_to(caller, action).values_list(field, flat=True)
        expected = [source.name for source in world.sources if is_allowed(world, user, source, action.value, key)]
        assert sorted(names[pk] for pk in source_ids) == sorted(expected), f"{model.__name__}, {action}, {user}, {key}"


@given(world=worlds(), action=st.sampled_from(Action))
# Not shrunk, which takes minutes: errors of the rule itself are, in tests/access/database/test_row_level_security.py.
@settings(max_examples=25, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_content_is_visible_where_its_source_is(world: oracle.World, action: Action) -> None:
    """“`DataSource` is the thing access is granted on”; jobs belong to managing and ingesting."""
    with rolled_back():
        rows = build(world)
        add_content(DataSource.objects.all())
        for model in CONTENT:
            compare(world, rows, action, model, "source", oracle.is_allowed)
        compare(world, rows, action, IngestionJob, "source", oracle.is_allowed_on_jobs)


@given(world=worlds(), address=st.sampled_from(ADDRESSES))
# Hypothesis's explain phase costs a hundred more worlds and adds nothing to the shrunk example.
@settings(max_examples=30, phases=set(Phase) - {Phase.explain})
def test_keys_are_usable_as_the_contract_says(world: oracle.World, address: str) -> None:
    """docs/contracts/authentication.md: revoked, expired and inactive keys, and networks."""
    with rolled_back():
        rows = build(world)
        for key in world.keys:
            expected = rows.keys[key] if oracle.is_usable(world, key) and oracle.accepts_address(key, address) else None
            key_in_database, reason = check_key.find(secret(key), address=ipaddress.ip_address(address)) or (
                None,
                None,
            )
            assert (None if reason else key_in_database) == expected, (key, address, reason)


def test_the_oracle_covers_all_actions_visibilities_permissions_and_scopes() -> None:
    """A new action, visibility, permission or scope must be added to the oracle."""
    assert {action.value for action in Action} == set(oracle.ACTIONS)
    assert set(Visibility.values) == set(oracle.VISIBILITIES)
    assert set(Permission.values) == set(oracle.PERMISSIONS)
    assert set(Scope.values) == set(oracle.SCOPES)


def test_each_row_is_returned_once(world: World) -> None:
    """A user may have several of the source's roles and teams (design: subqueries, not joins)."""
    roles = Role.objects.filter(organization=world.home)
    add_member(user=world.users["owner"], organization=world.home, roles=[r.name for r in roles], teams=("a", "b"))
    by_role, by_team = world.source("r", visibility="role"), world.source("t", visibility="team")
    for role in roles:
        by_role.grants.create(role=role)
    for team in Team.objects.filter(organization=world.home):
        by_team.grants.create(team=team)
    add_content([by_role, by_team])
    for action in Action:
        assert list(DataSource.objects.visible_to(Caller(world.users["owner"]), action)) == [by_role, by_team]
        for model in (*CONTENT, IngestionJob):
            assert model.objects.visible_to(Caller(world.users["owner"]), action).count() == 2


def test_visible_to_keeps_earlier_filters(world: World) -> None:
    """“unless `org_id`, `dataSources` or the header … narrows it”: earlier filters of the queryset are kept."""
    one, other = world.source("one"), world.source("other")
    add_content([one, other])
    for action in Action:
        assert DataSource.objects.filter(slug="one").visible_to(Caller(world.users["owner"]), action).get() == one
        for model in (*CONTENT, IngestionJob):
            assert model.objects.filter(source=one).visible_to(Caller(world.users["owner"]), action).count() == 1
