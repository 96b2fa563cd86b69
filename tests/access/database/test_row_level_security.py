"""Row-level security (RLS): it agrees with the oracle in random worlds, and holds without the queryset filters."""

import dataclasses
import os
import threading
import unittest.mock
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from django.db import DataError, connection, transaction
from django.db.models import Model, Value
from hypothesis import Phase, given, settings

from orgs.access.caller import Caller
from orgs.models import Organization, Role, Team
from rag.models import Action, Chunk, DataSource, Document, Grant, IngestionJob
from rag.models.content.pgvector_tables import Embedding384
from rag.models.search import granted_scopes, searched_sources
from rag.models.sources import QueryableSources
from rag.types import MemberGrants, SearchScope
from ragsite.postgres import identity, role_connections
from ragsite.postgres.identity import ANONYMOUS, READER_ROLE, Identity
from tests.access import check_counts
from tests.access.database.injection import web_process
from tests.access.rule import oracle
from tests.access.worlds import add_content, build, worlds
from tests.support.data.database import rolled_back
from tests.support.factories import World

# `make prove` sets a larger number.
WORLDS = int(os.environ.get("PROVE_WORLDS", "40"))
# From this number on, the function that permits sources compares lists instead of looking sources up.
MANY = 201
# The actions that make a table's rows visible under RLS; any one of them is sufficient.
VISIBLE_FOR: dict[type[Model], tuple[str, ...]] = {
    DataSource: ("view",),
    Document: ("view",),
    Chunk: ("query",),
    Embedding384: ("query",),
    IngestionJob: ("ingest", "manage"),
}


def identity_of(caller: Caller, **changes: Any) -> Identity:
    """The caller's database identity, as authentication sets it; ANONYMOUS for anonymous callers."""
    return dataclasses.replace(caller.database_identity, **changes)


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS, phases=set(Phase) - {Phase.explain})
def test_queryset_policy_and_oracle_agree(world: oracle.World) -> None:
    """For every user, key, source and action."""
    with rolled_back():
        rows = build(world)
        everything = tuple(tuple(model.objects.values_list("pk", flat=True)) for model in (Role, Team, Organization))
        ids = [source.pk for source in rows.sources.values()]
        for person, key, caller in rows.callers():
            with identity.run_as(identity_of(caller)):
                by_policy = visible_by_policy()
            for action in Action:
                by_oracle = sorted(rows.expected(person, key, action.value))
                # A list, so that a source that is returned twice is seen.
                by_queryset = sorted(DataSource.objects.visible_to(caller, action).values_list("pk", flat=True))
                assert by_queryset == by_oracle == by_policy[action.value], (person, key, action)
                check_counts.count("decisions on which queryset, policy and oracle agree", len(world.sources))
            compact = DataSource.objects.queryable_by(caller)
            others = list(compact.other_sources.values_list("pk", flat=True))
            listed = [*compact.public.values_list("pk", flat=True), *others]
            assert sorted(listed) == sorted(rows.expected(person, key, "query")), (person, key)
            check_grants(caller, compact, set(others), everything)
            writable = rows.expected(person, key, "ingest") | rows.expected(person, key, "manage")
            for used_for, expected in (("query", rows.expected(person, key, "query")), ("write", writable)):
                with identity.run_as(identity_of(caller, action=used_for)):
                    few, many = permitted_by_function(ids, [*ids, *(uuid.uuid4() for _ in range(MANY))])
                assert sorted(few) == sorted(many) == sorted(expected), (person, key, used_for)
        check_counts.count("worlds")


def read_granted_ids(grants: MemberGrants) -> list[uuid.UUID]:
    scope = SearchScope((), model_id=uuid.uuid4(), grants=grants)
    return list(searched_sources.list_ids([scope], with_unlisted=True).ids)


def check_grants(
    caller: Caller, queryable: QueryableSources, expected: set[uuid.UUID], all_ids: tuple[tuple[uuid.UUID, ...], ...]
) -> None:
    """A search that names grants instead of sources reads these sources, by each of the two layers alone.

    Args:
        all_ids: Those of all roles, teams and organisations.
    """
    everything = MemberGrants(caller.user.pk or uuid.uuid4(), *all_ids)
    with identity.run_as(identity.WORKER):
        assert queryable.grants is None or set(read_granted_ids(queryable.grants)) == expected
    with identity.run_as(identity_of(caller)):
        # A restricted key lists its sources: it must not name grants.
        stated = set() if queryable.grants is None else expected
        assert set(read_granted_ids(everything)) == stated
        assert read_granted_ids(dataclasses.replace(everything, user_id=uuid.uuid4())) == []
        for limit, named in ((200, expected), (-1, {None})):
            with unittest.mock.patch.object(granted_scopes, "MAX_LISTED", limit):
                models = granted_scopes.read((), queryable.grants, ())
            read = {model.source_id for model in models if model.is_granted and (model.has_without or model.has_with)}
            assert read == (named if stated else set())
    check_counts.count("grants that a search names")


@pytest.mark.django_db
@given(world=worlds())
@settings(max_examples=WORLDS // 2, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_unfiltered_tables_return_only_permitted_rows(world: oracle.World) -> None:
    """Without any filter, a table returns exactly the rows that the rule allows."""
    with rolled_back():
        rows = build(world)
        add_content(DataSource.objects.all())
        stated = (*(source.pk for source in rows.sources.values()), uuid.uuid4())
        slugs = [source.slug for source in rows.sources.values()]
        granted = set(Grant.objects.values_list("source", flat=True))
        for person, key, caller in rows.callers():
            expected = {
                model: set[uuid.UUID]().union(*(rows.expected(person, key, action) for action in actions))
                for model, actions in VISIBLE_FOR.items()
            }
            expected[Grant] = granted & rows.expected(person, key, "view")
            with identity.run_as(identity_of(caller)):
                assert read_unfiltered() == expected, (person, key)
                check_counts.count("tables read without a filter", len(expected))
                with identity.hint_sources(stated):  # shows neither more nor less
                    assert read_unfiltered() == expected, (person, key)
                with identity.hint_sources((), slugs=slugs):
                    assert read_unfiltered() == expected, (person, key)


def read_unfiltered() -> dict[type[Model], set[uuid.UUID]]:
    """The sources of the rows that each table shows. One statement reads them all."""
    models: tuple[type[Model], ...] = (*VISIBLE_FOR, Grant)
    columns = ["id" if model is DataSource else "source_id" for model in models]
    tables = [
        f"(SELECT array_agg({column}) FROM {model._meta.db_table})"
        for model, column in zip(models, columns, strict=True)
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(tables)}")
        return {model: set(ids or ()) for model, ids in zip(models, cursor.fetchone(), strict=True)}


def permitted_by_function(*lists: list[uuid.UUID]) -> list[list[uuid.UUID]]:
    """Return the permitted sources of each list."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {', '.join(['rag_permitted_sources(%s::uuid[])'] * len(lists))}", lists)
        return [list(permitted) for permitted in cursor.fetchone()]


def visible_by_policy() -> dict[str, list[uuid.UUID]]:
    """The sources that each action is allowed on, in order."""
    with connection.cursor() as cursor:
        names = [action.value for action in Action]
        cursor.execute("SELECT action, rag_visible_sources(action) FROM unnest(%s::text[]) AS action", [names])
        return {action: sorted(ids) for action, ids in cursor.fetchall()}


@pytest.mark.django_db(transaction=True)
def test_a_reused_connection_keeps_no_identity(live_world: World) -> None:
    """Eight threads keep a connection each, like a web process, and alternate between identities, with and without
    transactions."""
    for name in ("member", "editor", "foreigner"):
        home = live_world.abroad if name == "foreigner" else live_world.home
        live_world.source(f"of-{name}", visibility="personal", owner=live_world.users[name], organization=home)
    expected: dict[Identity | None, set[str]] = {ANONYMOUS: set()}
    for name in ("member", "foreigner"):
        expected[identity_of(Caller(live_world.users[name]))] = {f"of-{name}"}
    # The threads start as ANONYMOUS, which sets no identity: one that an earlier request left behind would be visible.
    start = threading.Barrier(8)

    def requests(number: int) -> list[tuple[Any, set[str]]]:
        start.wait()
        wrong = []
        try:
            for step in range(40):
                current = list(expected)[(step * (number + 1)) % len(expected)]
                with identity.run_as(current):  # type: ignore[arg-type]
                    if step % 3 == 0:
                        with transaction.atomic():
                            slugs = set(DataSource.objects.values_list("slug", flat=True))
                    elif step % 3 == 1:
                        with suppress(DataError), transaction.atomic():
                            slugs = set(DataSource.objects.values_list("slug", flat=True))
                            DataSource.objects.annotate(broken=Value(1) / 0).first()
                    else:
                        slugs = set(DataSource.objects.values_list("slug", flat=True))
                if slugs != expected[current]:
                    wrong.append((current, slugs))
                with identity.run_as(ANONYMOUS), connection.cursor() as cursor:
                    cursor.execute("SELECT current_user, current_setting('rag.identity', true)")
                    role, signed = cursor.fetchone()
                    if role != READER_ROLE or signed:
                        wrong.append((role, signed))
        finally:
            role_connections.close_all()
        return wrong

    with web_process(), ThreadPoolExecutor(8) as pool:
        assert [mistake for wrong in pool.map(requests, range(8)) for mistake in wrong] == []
    check_counts.count("interleaved transactions", 8 * 40 * 2)
