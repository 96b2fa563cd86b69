"""Access in the admin: grants and API keys that expire, teams within teams (docs/admin)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Team
from rag.models import Action, DataSource, Grant
from rag.services.sources import editing, grants_by_name
from rag.services.sources.editing import SourceSettings
from rag.services.sources.grants_by_name import GrantsByName
from tests.support.browsers import staff_browser
from tests.support.factories import World

ONE_WEEK = timedelta(days=7)


def page(grant: Grant) -> str:
    return f"/admin/rag/datasource/{grant.source_id}/change/"


def form(grant: Grant, expires_at: datetime | None) -> dict[str, Any]:
    """The form of the source's page with this expiry of the grant."""
    source = grant.source
    return {
        **{name: getattr(source, name) for name in ("name", "slug", "visibility", "source_type")},
        "owner": source.owner_id,
        "grants-TOTAL_FORMS": 1,
        "grants-INITIAL_FORMS": 1,
        "grants-0-id": grant.pk,
        "grants-0-source": source.pk,
        "grants-0-grantee": f"Person: {grant.user}",
        "grants-0-expires_at_0": f"{expires_at:%Y-%m-%d}" if expires_at else "",
        "grants-0-expires_at_1": f"{expires_at:%H:%M:%S}" if expires_at else "",
    }


@pytest.fixture
def grant(world: World) -> Grant:
    """A grant to the member by the owner, a month old."""
    source = world.source("closed", visibility=Visibility.PRIVATE)
    grant = source.grants.create(user=world.users["member"], granted_by=world.users["owner"])
    Grant.objects.update(granted_at=timezone.now() - timedelta(days=30))
    return Grant.objects.get(pk=grant.pk)


def can_read(world: World) -> bool:
    return DataSource.objects.visible_to(Caller(world.users["member"]), Action.QUERY).exists()


def test_who_sets_an_expiry_becomes_the_grantor(world: World, grant: Grant) -> None:
    client, expires_at = staff_browser(world.users["admin"]), timezone.now().replace(microsecond=0) + ONE_WEEK
    reply = client.post(page(grant), form(grant, expires_at))
    assert reply.status_code == 302, reply.content.decode()
    changed = Grant.objects.get()
    assert (changed.expires_at, changed.granted_by) == (expires_at, world.users["admin"])
    assert timezone.now() - changed.granted_at < timedelta(minutes=1)
    assert can_read(world)
    client.post(page(grant), form(changed, expires_at))
    assert Grant.objects.get().granted_at == changed.granted_at, "an unchanged row keeps its grantor"


def test_an_expiry_in_the_past_is_rejected(world: World, grant: Grant) -> None:
    reply = staff_browser(world.users["owner"]).post(page(grant), form(grant, timezone.now() - ONE_WEEK))
    assert "This time is in the past. Choose a later one, or delete the row" in reply.content.decode()
    assert Grant.objects.get().expires_at is None


def test_an_expired_grant_is_marked_and_can_be_renewed(world: World, grant: Grant) -> None:
    client = staff_browser(world.users["owner"])
    assert "expired" not in client.get(page(grant)).content.decode()
    Grant.objects.update(expires_at=timezone.now().replace(microsecond=0) - ONE_WEEK)
    assert ">expired<" in client.get(page(grant)).content.decode()
    expired = Grant.objects.get()
    assert client.post(page(grant), form(expired, expired.expires_at)).status_code == 302, "other fields can be changed"
    assert not can_read(world)
    assert client.post(page(grant), form(expired, timezone.now() + ONE_WEEK)).status_code == 302
    assert can_read(world)


def test_an_access_list_of_the_api_renews_expired_grants_and_keeps_valid_ones(world: World, grant: Grant) -> None:
    """docs/contracts/pipeline.md: the lists show who may query the source now."""
    admin, owner = world.users["admin"], world.users["owner"]
    settings = SourceSettings(access=GrantsByName(users=("member@home.example",)))
    Grant.objects.update(expires_at=timezone.now() + ONE_WEEK)
    editing.update_source(Caller(admin), "closed", settings)
    unchanged = Grant.objects.get()
    assert (unchanged.pk, unchanged.granted_by, unchanged.expires_at is None) == (grant.pk, owner, False)
    Grant.objects.update(expires_at=timezone.now())
    assert grants_by_name.get_grants_by_name(Caller(owner), [grant.source])[grant.source_id].users == ()
    editing.update_source(Caller(admin), "closed", settings)
    renewed = Grant.objects.get()
    assert (renewed.granted_by, renewed.expires_at) == (admin, None)
    assert grants_by_name.get_grants_by_name(Caller(owner), [grant.source])[grant.source_id].users == (
        "member@home.example",
    )
    assert can_read(world)


def test_a_team_can_be_part_of_another_team_of_its_organisation_but_not_of_itself(world: World) -> None:
    support = world.home.teams.get(name="support")
    service, company = (Team.objects.create(organization=world.home, name=name) for name in ("service", "company"))
    foreign = Team.objects.create(organization=world.abroad, name="foreign")
    client = staff_browser(world.users["owner"])

    def nest(team: Team, parent: Team, **extra: Any) -> str:
        values = {"organization": team.organization_id, "name": team.name, "parent": parent.pk, **extra}
        reply = client.post(f"/admin/orgs/team/{team.pk}/change/", values)
        return "" if reply.status_code == 302 else reply.content.decode()

    assert nest(support, service) == nest(service, company) == ""
    assert "company · Home" in client.get("/admin/orgs/team/").content.decode()
    for team, parent in ((company, support), (company, company)):
        assert "is a part of this team, or this team itself" in nest(team, parent)
    assert "valid choice" in nest(company, foreign), "teams of other organisations are not offered"
    root = world.users["admin"]
    root.is_superuser = True
    client = staff_browser(root)
    assert "Choose a team of the same organisation" in nest(company, foreign)
    assert "are a part of it" in nest(company, foreign, organization=world.abroad.pk)
    company.refresh_from_db()
    assert company.parent is None
    Team.objects.filter(pk=company.pk).update(parent=support)
    assert "is a part of this team" in nest(service, company), "the check ends even if the stored teams form a cycle"


def test_keys_are_ended_after_an_overlap(world: World) -> None:
    """Also: no key is created, because its creator would see it (docs/admin)."""
    long, short, revoked = (world.key("editor").key for _ in range(3))
    soon = timezone.now() + timedelta(hours=1)
    type(short).objects.filter(pk=short.pk).update(expires_at=soon)
    type(short).objects.filter(pk=revoked.pk).update(revoked_at=soon)
    action = {"action": "expire_in_24_hours", "_selected_action": [str(key.pk) for key in (long, short, revoked)]}
    reply = staff_browser(world.users["owner"]).post("/admin/orgs/apikey/", action, follow=True)
    assert "Keys that expire in 24 hours: 1." in reply.content.decode()
    for key in (long, short, revoked):
        key.refresh_from_db()
    assert long.expires_at
    assert abs(long.expires_at - soon - timedelta(hours=23)) < timedelta(minutes=1)
    assert (short.expires_at, revoked.expires_at) == (soon, None)
    assert type(long).objects.count() == 3
