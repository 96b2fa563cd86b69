"""Invitations are sent by those who may give what they give, and in limited numbers."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.models import User
from orgs.invitations import invitation_lifecycle
from orgs.models import Invitation, Organization, Team
from tests.orgs.admin.test_delegation import clerk, role
from tests.orgs.invitations.invitation_mail import ADDRESS, NEW_ACCOUNT, PAGE, accept, sent_token
from tests.support.browsers import staff_browser
from tests.support.factories import World


def test_nobody_invites_into_more_than_they_hold_themselves(world: World, invite: Any) -> None:
    limited = clerk(world)
    assert "permissions you hold yourself" in invite(limited, "owner").content.decode()
    foreign_role, foreign_team = (
        world.abroad.roles.get(name="member"),
        Team.objects.create(organization=world.abroad, name="foreign"),
    )
    owner = staff_browser(world.users["owner"])
    for changes in ({"roles": [foreign_role.pk]}, {"teams": [foreign_team.pk]}, {"organization": world.abroad.pk}):
        assert invite(owner, **changes).status_code == 200, changes
    for name in ("editor", "supporter"):
        assert invite(staff_browser(world.users[name])).status_code == 403
    assert not Invitation.objects.exists()
    assert not mail.outbox


def test_inviting_does_not_reveal_accounts(world: World, invite: Any) -> None:
    """Of other organisations: members of one's own are visible anyway."""
    owner = staff_browser(world.users["owner"])
    replies = [invite(owner, email=email) for email in (world.users["foreigner"].email, ADDRESS)]
    assert [reply.status_code for reply in replies] == [302, 302]
    rows = re.findall(r"<tr>.*?</tr>", owner.get(PAGE).content.decode(), re.DOTALL)
    of_invitations = [row for row in rows if "example" in row]
    assert len({re.sub(r"[\w.]+@[\w.]*example|[0-9a-f-]{36}", "", row) for row in of_invitations}) == 1
    assert len(of_invitations) == 2
    assert "belongs to a member" in invite(owner, email=world.users["member"].email).content.decode()


def test_an_invitation_is_sent_again_with_a_new_link_and_not_too_often(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner)
    first, invitation = sent_token(), Invitation.objects.get()
    with pytest.raises(invitation_lifecycle.InvitationRefused, match="once a minute"):
        invitation_lifecycle.renew(invitation, inviter=world.users["owner"])
    Invitation.objects.update(sent_at=timezone.now() - timedelta(hours=1), expires_at=timezone.now())
    token = invitation_lifecycle.renew(invitation, inviter=world.users["owner"])
    assert accept(first, **NEW_ACCOUNT).status_code == 404
    assert "Choose a password" in Client().get("/invitation", {"token": token}).content.decode()
    Invitation.objects.update(sends=invitation_lifecycle.MAX_SENDS, sent_at=timezone.now() - timedelta(hours=1))
    with pytest.raises(invitation_lifecycle.InvitationRefused, match="times in all"):
        invitation_lifecycle.renew(invitation, inviter=world.users["owner"])


def test_an_organisation_sends_a_limited_number_an_hour(world: World, invite: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(invitation_lifecycle, "MAX_SENT_AN_HOUR", 1)
    owner = staff_browser(world.users["owner"])
    assert invite(owner).status_code == 302
    assert "within an hour" in invite(owner, email="b@mail.example").content.decode()
    assert len(mail.outbox) == 1


def test_more_invitations_than_are_sent_in_an_hour_are_not_sent_again(
    world: World, invite: Any, monkeypatch: Any
) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner)
    invite(owner, email="b@mail.example")
    Invitation.objects.update(sent_at=timezone.now() - timedelta(hours=2))
    monkeypatch.setattr(invitation_lifecycle, "MAX_SENT_AN_HOUR", 1)
    action = {"action": "send_again", "_selected_action": list(Invitation.objects.values_list("pk", flat=True))}
    assert "Select at most 1 invitations." in owner.post(PAGE, action, follow=True).content.decode()
    assert set(Invitation.objects.values_list("sends", flat=True)) == {1}
    owner.post(PAGE, {**action, "_selected_action": [Invitation.objects.values_list("pk", flat=True)[0]]})
    assert sorted(Invitation.objects.values_list("sends", flat=True)) == [1, 2]


def test_a_mail_server_that_refuses_is_reported(world: World, invite: Any, settings: Any) -> None:
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    owner = staff_browser(world.users["owner"])
    invite(owner)
    assert not invitation_lifecycle.send(Invitation.objects.get(), "https://x.example")
    settings.RAG_EMAIL_URL = ""
    assert "RAG_EMAIL_URL" in owner.get(f"{PAGE}add/", follow=True).content.decode()


def test_forms_offer_roles_and_teams_of_one_organisation_only(world: World) -> None:
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    foreign = world.abroad.roles.get(name="editor")
    for page in ("membership", "invitation"):
        choice = root.get(f"/admin/orgs/{page}/add/?user=7").content.decode()
        assert '<input type="hidden" name="user" value="7">' in choice, "a search keeps what the link fills in"
        assert f"?user=7&amp;organization={world.abroad.pk}" in choice
        assert str(foreign.pk) not in choice
        form = root.get(f"/admin/orgs/{page}/add/?organization={world.home.pk}").content.decode()
        assert str(role(world, "editor").pk) in form
        assert str(foreign.pk) not in form
        of_owner = staff_browser(world.users["owner"]).get(f"/admin/orgs/{page}/add/").content.decode()
        assert str(role(world, "editor").pk) in of_owner
        assert str(foreign.pk) not in of_owner


def test_an_address_is_invited_once_a_minute(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner)
    invite(owner)
    assert len(mail.outbox) == 1
    Invitation.objects.update(sent_at=timezone.now() - invitation_lifecycle.MIN_PAUSE)
    invite(owner)
    assert len(mail.outbox) == 2


def test_the_name_of_an_organisation_adds_no_paragraph_to_the_message(world: World, invite: Any) -> None:
    Organization.objects.filter(pk=world.home.pk).update(name="Home\r\n\r\nYour account is\u2028blocked")
    assert invite(staff_browser(world.users["owner"]), "member").status_code == 302
    assert mail.outbox[0].subject == "Invitation to Home Your account is blocked"
    assert "invites you to Home Your account is blocked on ragsite, where" in mail.outbox[0].body
