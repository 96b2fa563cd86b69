"""What the pages of people, roles and teams say: plain sentences, also in German, and names as they are written."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from orgs.models import Invitation, Membership, Team
from tests.orgs.admin.test_delegation import member_form, membership
from tests.support.browsers import staff_browser
from tests.support.factories import World

ROLES, TEAMS, MEMBERSHIPS = (f"/admin/orgs/{name}/" for name in ("role", "team", "membership"))
INVITATIONS = "/admin/orgs/invitation/"


@pytest.fixture
def owner(world: World) -> Client:
    return staff_browser(world.users["owner"])


def page(client: Client, url: str, **options: Any) -> str:
    reply = client.get(url, **options)
    assert reply.status_code == 200
    return reply.content.decode()


@pytest.mark.parametrize(("url", "kind", "taken"), [(ROLES, "role", "editor"), (TEAMS, "team", "support")])
def test_the_form_says_which_names_a_role_or_team_may_have(
    owner: Client, world: World, url: str, kind: str, taken: str
) -> None:
    assert "Letters from a to z, digits, hyphens and underscores" in page(owner, f"{url}add/")

    def add(name: str) -> str:
        return owner.post(f"{url}add/", {"organization": world.home.pk, "name": name}).content.decode()

    assert "Use only letters from a to z" in add("Vertrieb Süd")
    assert f"The organisation has a {kind} with this name." in add(taken)


@pytest.mark.parametrize(("url", "field"), [(ROLES, "roles"), (TEAMS, "teams")])
def test_a_role_or_team_leads_to_its_members(owner: Client, world: World, url: str, field: str) -> None:
    person = membership(world, "member")
    group = (world.home.roles if field == "roles" else world.home.teams).create(name="night-shift")
    getattr(person, field).add(group)
    members = f"{MEMBERSHIPS}?{field}__id__exact={group.pk}"
    assert f'<a href="{members}">1</a>' in page(owner, url)
    assert f'href="{members}"' in page(owner, f"{url}{group.pk}/change/")
    assert MEMBERSHIPS not in page(owner, f"{url}add/").split('id="content"')[1], "there are none yet"
    listed = page(owner, members).split('id="result_list"')[1]
    assert world.users["member"].email in listed
    assert world.users["editor"].email not in listed


def test_memberships_lead_to_invitations(owner: Client) -> None:
    """The form of a new membership offers members only, so there is nobody to choose."""
    assert f'href="{INVITATIONS}add/"' in page(owner, MEMBERSHIPS).split('id="content"')[1]
    assert "Somebody who is not listed is invited instead." in page(owner, f"{MEMBERSHIPS}add/")


def test_a_second_membership_of_a_person_is_refused_in_plain_words(owner: Client, world: World) -> None:
    values = {"user": world.users["member"].pk, "organization": world.home.pk, "is_active": "on"}
    assert "This person is a member already." in owner.post(f"{MEMBERSHIPS}add/", values).content.decode()


def test_a_refusal_names_permissions_as_roles_do(world: World, owner: Client) -> None:
    membership(world, "admin").roles.clear()
    owner_membership = membership(world, "owner")
    url = f"{MEMBERSHIPS}{owner_membership.pk}/change/"
    content = owner.post(url, member_form(owner_membership, roles=[]), HTTP_ACCEPT_LANGUAGE="de").content.decode()
    translation.activate("en")  # a request leaves its language to the thread
    assert "Mitglieder, Teams und Rollen ändern" in content
    assert "members.manage" not in content


def test_the_list_of_teams_takes_as_many_queries_for_many_teams(owner: Client, world: World) -> None:
    def count_queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page(owner, TEAMS)
        return len(queries)

    count_queries()  # what is read once for a session
    before = count_queries()
    teams = [Team.objects.create(organization=world.home, name=f"team-{number}") for number in range(5)]
    Membership.objects.get(user=world.users["member"]).teams.add(*teams)
    assert count_queries() == before


def test_a_team_is_no_part_of_its_own_parts(owner: Client, world: World) -> None:
    above = Team.objects.create(organization=world.home, name="above")
    below = Team.objects.create(organization=world.home, name="below", parent=above)
    values = {"organization": world.home.pk, "name": "above", "parent": below.pk}
    content = owner.post(f"{TEAMS}{above.pk}/change/", values).content.decode()
    assert "below is a part of this team, or this team itself." in content


def test_empty_pages_say_what_to_do(owner: Client, world: World) -> None:
    Team.objects.all().delete()
    assert "Add the first one, then choose it for people on the page Memberships." in page(owner, TEAMS)
    matrix = page(owner, "/admin/rag/datasource/matrix/")
    assert '<a href="/admin/rag/datasource/add/">Create the first one</a>' in matrix
    world.source()
    assert "Create the first one" not in page(owner, "/admin/rag/datasource/matrix/")
    assert "No data source has this name." in page(owner, "/admin/rag/datasource/matrix/?name=zoo")


def test_messages_show_names_as_they_are_written_and_states_in_the_language_of_the_page(
    owner: Client, world: World
) -> None:
    now = timezone.now()
    invitation = Invitation.objects.create(
        **{"organization": world.home, "email": "anna@mail.example", "invited_by": world.users["owner"]},
        **{"token_hash": "x", "sent_at": now, "expires_at": now + timedelta(days=1), "revoked_at": now},
    )
    action = {"action": "send_again", "_selected_action": [invitation.pk]}
    content = owner.post(INVITATIONS, action, follow=True).content.decode()
    assert "anna@mail.example: This invitation was accepted or revoked." in content
    german = page(owner, INVITATIONS, HTTP_ACCEPT_LANGUAGE="de")
    translation.activate("en")
    assert (">widerrufen<" in german, ">revoked<" in german) == (True, False)
    assert f"anna@mail.example · {world.home}" in page(owner, f"{INVITATIONS}{invitation.pk}/change/")


@pytest.mark.parametrize("change", ["deactivated", "role removed"])
def test_a_page_that_was_open_meanwhile_brings_no_access_back(owner: Client, world: World, change: str) -> None:
    membership = world.users["editor"].memberships.get(organization=world.home)
    address = f"/admin/orgs/membership/{membership.pk}/change/"
    shown: Any = owner.get(address)
    form = shown.context["adminform"].form
    roles = [str(role.pk) for role in membership.roles.all()]
    values = {"user": membership.user_id, "organization": world.home.pk, "is_active": "on", "roles": roles}
    values["version"] = form["version"].value()
    if change == "deactivated":
        Membership.objects.filter(pk=membership.pk).update(is_active=False)
    else:
        membership.roles.clear()
    reply = owner.post(address, values).content.decode()
    assert "This was changed after you had opened the page" in reply
    membership.refresh_from_db()
    assert (membership.is_active, membership.roles.exists()) == (change != "deactivated", change == "deactivated")
    values["version"] = owner.get(address).context["adminform"].form["version"].value()
    assert owner.post(address, values).status_code == 302
    membership.refresh_from_db()
    assert (membership.is_active, membership.roles.exists()) == (True, True)


def test_the_permissions_of_a_role_have_a_german_label(owner: Client) -> None:
    german = page(owner, f"{ROLES}add/", HTTP_ACCEPT_LANGUAGE="de")
    assert ("Berechtigungen:" in german, "Permissions:" in german) == (True, False)


def test_an_open_invitation_is_called_so_in_german(owner: Client, world: World) -> None:
    """The circuit of a model that does not respond is open, too, which is another word in German."""
    Invitation.objects.create(
        **{"organization": world.home, "email": "anna@mail.example", "invited_by": world.users["owner"]},
        **{"token_hash": "x", "sent_at": timezone.now(), "expires_at": timezone.now() + timedelta(days=1)},
    )
    assert ">offen<" in page(owner, INVITATIONS, HTTP_ACCEPT_LANGUAGE="de")
