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
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import Action, DataSource, Grant
from rag.types import Mode
from ragsite.postgres.replicas import routing
from tests.access import check_counts
from tests.access.database.access_changes import Changes
from tests.access.database.injection import web_process
from tests.access.database.replicas.replica_searches import SearchOutcome, search, search_again
from tests.support.factories import World, ingest_text
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
        monkeypatch.setattr(
            routing, name, getattr(routing, name).replace("rag_access_version(%s::uuid[])", "length(%s::text) * 0")
        )
    Changes(live_world, random.Random("unchecked"))
    member = live_world.users["member"]
    permitted_later, revoked_later = DataSource.objects.filter(visibility=Visibility.PRIVATE).order_by("slug")
    Grant.objects.create(source=revoked_later, user=member)
    before = search(Caller(member)).document_ids
    assert before >= documents_of(revoked_later)
    in_sync()
    for replica in replicas:
        replica.pause()
    Grant.objects.filter(source=revoked_later).delete()
    Grant.objects.create(source=permitted_later, user=member)
    assert search(Caller(member)) == SearchOutcome(before - documents_of(revoked_later), used_replica=True)


def test_a_change_sends_only_those_to_the_primary_whom_it_concerns(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    users = live_world.users
    member, editor, foreigner = (Caller(users[name]) for name in ("member", "editor", "foreigner"))
    source = live_world.source("private", visibility=Visibility.PRIVATE)
    live_world.source("abroad", organization=live_world.abroad)
    document = ingest_text(source, "zebra", "animals").document_id
    Grant.objects.create(source=source, user=users["editor"])
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    Grant.objects.create(source=source, user=users["member"])
    assert search(member) == SearchOutcome({document}, used_replica=False)
    assert search(editor) == SearchOutcome({document}, used_replica=True)
    DataSource.objects.filter(pk=source.pk).update(visibility=Visibility.PUBLIC)
    assert search(editor) == SearchOutcome({document}, used_replica=False)
    assert search(foreigner) == SearchOutcome(set(), used_replica=True)


def documents_of(source: DataSource) -> set[uuid.UUID]:
    return set(source.documents.values_list("pk", flat=True))


def access_version(*subjects: uuid.UUID) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_access_version(%s::uuid[])", [list(subjects)])
        return int(cursor.fetchone()[0])


def test_what_changes_what_a_caller_may_find_changes_their_version(live_world: World) -> None:
    """Every kind of change. The version is that of the caller and of the organisations that are searched afterwards."""
    changes = Changes(live_world, random.Random("every change"))
    changed, unchanged = 0, 0
    for change in (*changes.all(), *changes.all()):
        before = {key_of(caller): readable_sources(caller) for caller in changes.callers()}
        versions = {subject: access_version(subject) for subject in subjects()}
        change()
        for caller in changes.callers():
            readable = readable_sources(caller)
            searched = set(readable.values())
            readable_before = {pk for pk, organization in before[key_of(caller)].items() if organization in searched}
            is_changed = any(access_version(subject) != versions[subject] for subject in subjects_of(caller, searched))
            assert is_changed or set(readable) == readable_before, (change, caller)
            changed += is_changed
            unchanged += not is_changed
    assert changed > 20
    assert unchanged > 20
    with connection.cursor() as cursor:
        marks = "SELECT count(*) - count(DISTINCT subject) FROM ragsite_private.access_mark WHERE subject = ANY(%s)"
        cursor.execute(marks, [subjects()])
        assert cursor.fetchone() == (0,)  # marks are merged


def subjects_of(caller: Caller, organization_ids: set[uuid.UUID]) -> set[uuid.UUID]:
    assert caller.user.pk
    return {caller.user.pk, *organization_ids}


def key_of(caller: Caller) -> tuple[object, object]:
    return caller.user.pk, caller.key and caller.key.pk


def readable_sources(caller: Caller) -> dict[uuid.UUID, uuid.UUID]:
    """Return the sources that the caller may query, with their organisations."""
    return dict(DataSource.objects.visible_to(caller, Action.QUERY).values_list("pk", "organization"))


def subjects() -> list[uuid.UUID]:
    return [*User.objects.values_list("pk", flat=True), *Organization.objects.values_list("pk", flat=True)]


def test_a_change_of_access_changes_the_version_of_those_whom_it_concerns(live_world: World) -> None:
    member, editor = live_world.users["member"], live_world.users["editor"]
    home, abroad = live_world.home.pk, live_world.abroad.pk
    source = live_world.source("private", visibility=Visibility.PRIVATE)
    key, role = live_world.key("member").key, Role.objects.filter(organization=home).first()
    membership = Membership.objects.get(user=member, organization=home)
    assert role

    def concerned(change: Callable[[], object]) -> set[uuid.UUID]:
        before = {subject: access_version(subject) for subject in (member.pk, editor.pk, home, abroad)}
        change()
        return {subject for subject, version in before.items() if access_version(subject) != version}

    assert concerned(lambda: Grant.objects.create(source=source, user=member)) == {member.pk}
    assert concerned(lambda: Grant.objects.filter(source=source).update(user=editor)) == {member.pk, editor.pk}
    assert concerned(lambda: Grant.objects.all().delete()) == {editor.pk}
    assert concerned(lambda: membership.roles.add(role)) == {member.pk}
    assert concerned(lambda: membership.delete()) == {member.pk}
    assert concerned(lambda: ApiKey.objects.filter(pk=key.pk).update(scopes=["ingest"])) == {member.pk}
    assert concerned(lambda: Grant.objects.create(source=source, role=role)) == {home}
    assert concerned(lambda: Role.objects.filter(pk=role.pk).update(permissions=["audit.view"])) == {home}
    team = Team.objects.create(organization=live_world.home, name="team")
    parent = Team.objects.create(organization=live_world.home, name="parent")
    assert concerned(lambda: Team.objects.filter(pk=team.pk).update(parent=parent)) == {home}
    assert concerned(lambda: User.objects.filter(pk=member.pk).update(is_active=False)) == {member.pk}
    assert concerned(lambda: DataSource.objects.update(owner=member)) == {home}
    assert concerned(lambda: DataSource.objects.update(visibility=Visibility.PUBLIC)) == {home}
    assert concerned(lambda: DataSource.objects.update(organization=live_world.abroad)) == {home, abroad}
    assert concerned(lambda: Organization.objects.filter(pk=abroad).update(is_active=False)) == {
        member.pk, editor.pk, home, abroad,
    }  # fmt: skip


def test_what_decides_no_access_changes_no_version(world: World) -> None:
    key, source = world.key("owner").key, world.source()
    with connection.cursor() as cursor:
        cursor.execute("SELECT rag_access_version()")
        before = cursor.fetchone()
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=timezone.now())
        User.objects.update(last_login=timezone.now())
        DataSource.objects.update(description="text")
        source.save()  # of all columns
        cursor.execute("SELECT rag_access_version()")
        assert cursor.fetchone() == before
