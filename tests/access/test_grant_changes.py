"""Cells of the access matrix are changed: what is offered has the announced effect, and only managers may do it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit.events import AuditEvent, AuditObject
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Membership, Role, Team
from rag.models import Action, DataSource, Grant
from rag.services.access import grant_changes
from rag.services.access.grant_changes import list_changes
from tests.support.browsers import staff_browser
from tests.support.data.rows import insert_rows
from tests.support.factories import World

URL = "/admin/rag/datasource/matrix/change/"


def membership(world: World, name: str) -> Membership:
    return Membership.objects.get(user=world.users[name], organization=world.home)


def fields(source: DataSource, member: Membership) -> dict[str, Any]:
    return {"source": str(source.pk), "person": str(member.pk)}


def can_query(world: World, source: DataSource, name: str) -> bool:
    return DataSource.objects.visible_to(Caller(world.users[name]), Action.QUERY).filter(pk=source.pk).exists()


@pytest.mark.parametrize("visibility", [Visibility.PRIVATE, Visibility.ROLE, Visibility.TEAM])
def test_a_change_opens_and_closes_a_source(world: World, visibility: Visibility) -> None:
    above = Team.objects.create(organization=world.home, name="service")
    Team.objects.filter(name="support").update(parent=above)
    source, member = world.source(visibility=visibility), membership(world, "supporter")
    owner = staff_browser(world.users["owner"])
    for change in list_changes(source, member):
        assert change.is_opening
        page = owner.get(URL, fields(source, member)).content.decode()
        assert f"Open it to {change.name}" in page.replace("\n", "")
        owner.post(URL, {**fields(source, member), "change": change.key})
        assert can_query(world, source, "supporter"), change
        grant = Grant.objects.get()
        assert grant.granted_by == world.users["owner"]
        assert AuditEvent.objects.filter(kind=AuditObject.GRANT, actor_id=world.users["owner"].pk).exists()
        repeated = owner.post(URL, {**fields(source, member), "change": change.key}, follow=True).content.decode()
        assert "Nothing was changed" in repeated
        (closing,) = (entry for entry in list_changes(source, member) if not entry.is_opening)
        owner.post(URL, {**fields(source, member), "change": closing.key})
        assert not can_query(world, source, "supporter")
    assert len(list_changes(source, member)) == (2 if visibility == Visibility.TEAM else 1)
    assert [change.people for change in list_changes(source, member)][-1] == (2 if visibility == Visibility.ROLE else 1)


def test_a_source_has_200_grants_of_each_kind(world: World) -> None:
    source, member = world.source(visibility=Visibility.PRIVATE), membership(world, "member")
    roles = Role.objects.bulk_create(Role(organization=world.home, name=f"r{number}") for number in range(200))
    Grant.objects.bulk_create(Grant(source=source, role=role) for role in roles)
    users = [User(email=f"u{number}@home.example") for number in range(199)]
    insert_rows([*users, *(Grant(source=source, user=user) for user in users)])
    owner = staff_browser(world.users["owner"])
    owner.post(URL, {**fields(source, member), "change": f"open-user-{member.user_id}"})
    assert can_query(world, source, "member"), "grants of other kinds do not count"
    other = membership(world, "supporter")
    change = {**fields(source, other), "change": f"open-user-{other.user_id}"}
    page = owner.post(URL, change, follow=True).content.decode()
    assert "has 200 grants of this kind already" in page
    assert not can_query(world, source, "supporter")
    assert source.grants.count() == 400


def test_an_expired_grant_is_replaced_at_the_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grant_changes, "MAX_GRANTS_PER_KIND", 1)
    source, member = world.source(visibility=Visibility.PRIVATE), membership(world, "member")
    Grant.objects.create(source=source, user=member.user, expires_at=timezone.now() - timedelta(days=1))
    change = {**fields(source, member), "change": f"open-user-{member.user_id}"}
    staff_browser(world.users["owner"]).post(URL, change)
    assert can_query(world, source, "member")


def test_public_and_personal_sources_are_not_changed_here(world: World) -> None:
    member = membership(world, "member")
    for number, visibility in enumerate((Visibility.PUBLIC, Visibility.PERSONAL)):
        source = world.source(f"s{number}", visibility=visibility)
        page = staff_browser(world.users["owner"]).get(URL, fields(source, member)).content.decode()
        assert "choose another visibility" in page
        key = f"open-user-{member.user_id}"
        staff_browser(world.users["owner"]).post(URL, {**fields(source, member), "change": key})
    assert not Grant.objects.exists()


def test_only_managers_change_access_and_only_for_members(world: World) -> None:
    source, member = world.source(visibility=Visibility.PRIVATE), membership(world, "member")
    foreign = Membership.objects.get(user=world.users["foreigner"])
    change = {**fields(source, member), "change": f"open-user-{member.user_id}"}
    for name in ("editor", "member", "foreigner"):
        assert staff_browser(world.users[name]).post(URL, change).status_code == 404
    other = {**fields(source, foreign), "change": f"open-user-{foreign.user_id}"}
    assert staff_browser(world.users["owner"]).post(URL, other).status_code == 404
    assert staff_browser(world.users["owner"]).get(URL, {"source": "x", "person": "\0"}).status_code == 404
    assert not Grant.objects.exists()
