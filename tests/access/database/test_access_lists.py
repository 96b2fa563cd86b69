"""Access lists: sources with the same audience share one, and triggers alone decide which source has which."""

import datetime
import threading
import uuid
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.models import DataSource, Grant
from rag.models.grants import AccessList
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import Question
from ragsite.postgres import identity
from tests.support.factories import World, ingest_text

Eventually = Callable[..., Any]


def list_of(source: DataSource) -> AccessList:
    return AccessList.objects.get(pk=DataSource.objects.values_list("access_list", flat=True).get(pk=source.pk))


def titles(world: World) -> set[str]:
    caller = Caller(world.users["member"])
    with identity.run_as(caller.database_identity):
        retrieval = permitted_queries.search(Question("zebra", 10), SourceSelection(caller))
    return {passage.title for passage in retrieval.passages}


def test_sources_with_the_same_audience_share_a_list(world: World) -> None:
    member, editor = world.users["member"], world.users["editor"]
    one, two, other = (world.source(name, visibility="private") for name in ("one", "two", "other"))
    Grant.objects.bulk_create([Grant(source=source, user=user) for source in (one, two) for user in (member, editor)])
    Grant.objects.create(source=other, user=editor)
    assert list_of(one) == list_of(two) != list_of(other)
    assert set(list_of(one).principals) == {member.pk, editor.pk}
    # A grant whose kind does not fit the visibility has no effect.
    Grant.objects.create(source=two, role=world.home.roles.all()[0])
    assert list_of(one) == list_of(two)
    Grant.objects.filter(source=one, user=member).delete()
    assert list_of(one) == list_of(other)
    Grant.objects.filter(source=one).update(expires_at=timezone.now() + datetime.timedelta(days=1))
    assert list_of(one) != list_of(other)
    assert list_of(one).principals == list_of(other).principals == [editor.pk]


def test_a_list_without_sources_is_deleted(world: World) -> None:
    source = world.source(visibility="private")
    for user in ("member", "editor", "owner"):
        Grant.objects.create(source=source, user=world.users[user])
    DataSource.objects.filter(pk=source.pk).update(visibility="personal", owner=world.users["member"])
    assert list_of(source).principals == [world.users["member"].pk]
    assert AccessList.objects.count() == 1
    source.delete()
    assert not AccessList.objects.exists()


def test_no_statement_chooses_the_list_of_a_source(world: World) -> None:
    """Neither the owner of a source, who may change it, nor a worker."""
    owner = world.users["member"]
    source, secret = (world.source(name, visibility="private", owner=owner) for name in ("own", "secret"))
    Grant.objects.create(source=secret, user=owner)
    before = list_of(source)
    for writer in (identity.WORKER, Caller(owner).database_identity):
        with identity.run_as(writer):
            DataSource.objects.filter(pk=source.pk).update(access_list=list_of_id(secret))
            DataSource.objects.filter(pk=source.pk).update(access_list=uuid.uuid4())
        assert list_of(source) == before
    with identity.run_as(Caller(owner).database_identity):
        assert not AccessList.objects.exists()


def list_of_id(source: DataSource) -> uuid.UUID:
    with identity.run_as(identity.WORKER):
        return list_of(source).pk


def test_a_search_follows_grants_at_once(world: World) -> None:
    """Granting, the passing of a grant's end, another visibility, a revoked grant: each applies to the next search."""
    source = world.source(visibility="private")
    ingest_text(source, "zebras", "Zebras have stripes.", title="zebras")
    assert titles(world) == set()
    grant = Grant.objects.create(source=source, user=world.users["member"])
    assert titles(world) == {"zebras"}
    Grant.objects.filter(pk=grant.pk).update(expires_at=timezone.now() - datetime.timedelta(seconds=1))
    assert titles(world) == set()
    Grant.objects.filter(pk=grant.pk).update(expires_at=timezone.now() + datetime.timedelta(days=1))
    assert titles(world) == {"zebras"}
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.ROLE)
    assert titles(world) == set()
    role = world.users["member"].memberships.get(organization=world.home).roles.all()[0]
    Grant.objects.create(source=source, role=role)
    assert titles(world) == {"zebras"}
    Grant.objects.all().delete()
    assert titles(world) == set()


def _is_a_lock_awaited() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)")
        return bool(cursor.fetchone()[0])


def _in_thread(work: Callable[[], object]) -> threading.Thread:
    def run() -> None:
        with identity.run_as(identity.WORKER):
            work()
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_two_grants_at_the_same_time_are_both_in_the_list(live_world: World, eventually: Eventually) -> None:
    source = live_world.source(visibility="private")
    member, editor = live_world.users["member"], live_world.users["editor"]
    with transaction.atomic():
        Grant.objects.create(source=source, user=member)
        thread = _in_thread(lambda: Grant.objects.create(source=source, user=editor))
        eventually(_is_a_lock_awaited)
    thread.join()
    assert set(list_of(source).principals) == {member.pk, editor.pk}


def test_a_list_that_a_source_is_leaving_while_another_gets_it_stays(live_world: World, eventually: Eventually) -> None:
    member = live_world.users["member"]
    old, new = live_world.source("old", visibility="private"), live_world.source("new", visibility="private")
    Grant.objects.create(source=old, user=member)
    shared = list_of(old)
    with transaction.atomic():
        Grant.objects.filter(source=old).delete()  # the only source of the list
        thread = _in_thread(lambda: Grant.objects.create(source=new, user=member))
        eventually(_is_a_lock_awaited)
    thread.join()
    assert list_of(new) == shared
    with transaction.atomic():
        Grant.objects.create(source=old, user=member)
        thread = _in_thread(lambda: Grant.objects.filter(source=new).delete())
        eventually(_is_a_lock_awaited)
    thread.join()
    assert list_of(old) == shared
