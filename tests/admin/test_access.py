"""The admin's part in who may what: grants with an end, teams within teams, keys that end (docs/admin/README.md)."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import Team
from rag.models import Action, DataSource, Grant
from rag.services.sources import editing
from rag.services.sources.editing import AccessLists, SourceSettings
from tests.admin.test_admin import browser
from tests.support.factories import World

AHEAD = timedelta(days=7)


def page(grant: Grant) -> str:
    return f"/admin/rag/datasource/{grant.source_id}/change/"


def form(grant: Grant, end: datetime | None) -> dict[str, Any]:
    """The source's page as it is sent with another end."""
    source = grant.source
    return {
        **{name: getattr(source, name) for name in ("name", "slug", "visibility", "source_type")},
        "owner": source.owner_id,
        "grants-TOTAL_FORMS": 1,
        "grants-INITIAL_FORMS": 1,
        "grants-0-id": grant.pk,
        "grants-0-source": source.pk,
        "grants-0-user": grant.user_id,
        "grants-0-expires_at_0": f"{end:%Y-%m-%d}" if end else "",
        "grants-0-expires_at_1": f"{end:%H:%M:%S}" if end else "",
    }


@pytest.fixture
def grant(world: World) -> Grant:
    """To the member, by the owner, a month ago."""
    source = world.source("closed", visibility=Visibility.PRIVATE)
    grant = source.grants.create(user=world.users["member"], granted_by=world.users["owner"])
    Grant.objects.update(granted_at=timezone.now() - timedelta(days=30))
    return Grant.objects.get(pk=grant.pk)


def readable(world: World) -> bool:
    return DataSource.objects.visible_to(Caller(world.users["member"]), Action.QUERY).exists()


def test_a_grant_is_given_an_end_by_whoever_says_so_then(world: World, grant: Grant) -> None:
    client, end = browser(world.users["admin"]), timezone.now().replace(microsecond=0) + AHEAD
    reply = client.post(page(grant), form(grant, end))
    assert reply.status_code == 302, reply.content.decode()
    changed = Grant.objects.get()
    assert (changed.expires_at, changed.granted_by) == (end, world.users["admin"])
    assert timezone.now() - changed.granted_at < timedelta(minutes=1)
    assert readable(world)
    client.post(page(grant), form(changed, end))
    assert Grant.objects.get().granted_at == changed.granted_at, "a row that is left as it is stays whose it was"


def test_an_end_in_the_past_is_refused(world: World, grant: Grant) -> None:
    reply = browser(world.users["owner"]).post(page(grant), form(grant, timezone.now() - AHEAD))
    assert "This time is past: choose a later one. To end it now, delete the row." in reply.content.decode()
    assert Grant.objects.get().expires_at is None


def test_a_grant_that_has_ended_is_shown_as_such_and_can_be_renewed(world: World, grant: Grant) -> None:
    client = browser(world.users["owner"])
    assert "expired" not in client.get(page(grant)).content.decode()
    Grant.objects.update(expires_at=timezone.now().replace(microsecond=0) - AHEAD)
    assert ">expired<" in client.get(page(grant)).content.decode()
    ended = Grant.objects.get()
    assert client.post(page(grant), form(ended, ended.expires_at)).status_code == 302, "other rows can be changed"
    assert not readable(world)
    assert client.post(page(grant), form(ended, timezone.now() + AHEAD)).status_code == 302
    assert readable(world)


def test_a_list_of_the_api_renews_what_has_ended_and_keeps_what_lasts(world: World, grant: Grant) -> None:
    """docs/contracts/pipeline.md: the lists show whom a source is open to now."""
    admin, owner = world.users["admin"], world.users["owner"]
    settings = SourceSettings(access=AccessLists(users=("member@home.example",)))
    Grant.objects.update(expires_at=timezone.now() + AHEAD)
    editing.update_source(Caller(admin), "closed", settings)
    kept = Grant.objects.get()
    assert (kept.pk, kept.granted_by, kept.expires_at is None) == (grant.pk, owner, False)
    Grant.objects.update(expires_at=timezone.now())
    assert editing.get_access_lists(Caller(owner), [grant.source])[grant.source_id].users == ()
    editing.update_source(Caller(admin), "closed", settings)
    renewed = Grant.objects.get()
    assert (renewed.granted_by, renewed.expires_at) == (admin, None)
    assert editing.get_access_lists(Caller(owner), [grant.source])[grant.source_id].users == ("member@home.example",)
    assert readable(world)


def test_a_team_is_part_of_another_of_its_organisation_and_never_of_itself(world: World) -> None:
    support = world.home.teams.get(name="support")
    service, company = (Team.objects.create(organization=world.home, name=name) for name in ("service", "company"))
    foreign = Team.objects.create(organization=world.abroad, name="foreign")
    client = browser(world.users["owner"])

    def nest(team: Team, parent: Team, **more: Any) -> str:
        values = {"organization": team.organization_id, "name": team.name, "parent": parent.pk, **more}
        reply = client.post(f"/admin/orgs/team/{team.pk}/change/", values)
        return "" if reply.status_code == 302 else reply.content.decode()

    assert nest(support, service) == nest(service, company) == ""
    assert "company · Home" in client.get("/admin/orgs/team/").content.decode()
    for team, parent in ((company, support), (company, company)):
        assert "is a part of this team, or this team itself" in nest(team, parent)
    assert "valid choice" in nest(company, foreign), "what they may not see is not offered"
    root = world.users["admin"]
    root.is_superuser = True
    client = browser(root)
    assert "Choose a team of the same organisation" in nest(company, foreign)
    assert "are a part of it" in nest(company, foreign, organization=world.abroad.pk)
    company.refresh_from_db()
    assert company.parent is None
    Team.objects.filter(pk=company.pk).update(parent=support)
    assert "is a part of this team" in nest(service, company), "rows with a cycle do not hold the form up"


def test_keys_are_ended_with_time_to_replace_them(world: World) -> None:
    """docs/admin/README.md: no key is made in the admin, for whoever makes one reads it."""
    long, short, revoked = (world.key("editor").key for _ in range(3))
    soon = timezone.now() + timedelta(hours=1)
    type(short).objects.filter(pk=short.pk).update(expires_at=soon)
    type(short).objects.filter(pk=revoked.pk).update(revoked_at=soon)
    chosen = {"action": "end_after_overlap", "_selected_action": [str(key.pk) for key in (long, short, revoked)]}
    reply = browser(world.users["owner"]).post("/admin/orgs/apikey/", chosen, follow=True)
    assert "Ending in 24 hours: 1." in reply.content.decode()
    for key in (long, short, revoked):
        key.refresh_from_db()
    assert long.expires_at
    assert abs(long.expires_at - soon - timedelta(hours=23)) < timedelta(minutes=1)
    assert (short.expires_at, revoked.expires_at) == (soon, None)
    assert type(long).objects.count() == 3
