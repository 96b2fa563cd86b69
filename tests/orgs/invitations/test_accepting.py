"""People are invited by e-mail: a link that works once, and never gives more than its inviter holds."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.audit.events import AuditAction, AuditEvent, AuditObject
from accounts.models import User
from orgs.invitations import invitation_lifecycle
from orgs.models import IdentityProvider, Invitation, Membership, Role, SignInDomain, Team
from tests.orgs.admin.test_delegation import clerk, membership, role
from tests.orgs.invitations.invitation_mail import ADDRESS, NEW_ACCOUNT, PAGE, accept, sent_token
from tests.support.browsers import staff_browser
from tests.support.factories import PASSWORD, World


def test_an_invited_person_sets_a_password_and_lands_on_the_first_page(world: World, invite: Any) -> None:
    team = Team.objects.get(name="support")
    reply = invite(staff_browser(world.users["owner"]), "editor", email="New.Person@Mail.Example", teams=[team.pk])
    assert reply.status_code == 302, reply.content.decode()
    assert mail.outbox[0].to == [ADDRESS]
    token = sent_token()
    person = Client()
    assert "Choose a password" in person.get("/invitation", {"token": token}).content.decode()
    assert accept(token, person, **{**NEW_ACCOUNT, "name": "New\u202e Person"}).headers["Location"] == "/"
    assert person.get("/").status_code == 200
    member = Membership.objects.get(user__email=ADDRESS)
    assert (member.organization, [row.name for row in member.roles.all()], list(member.teams.all())) == (
        world.home, ["editor"], [team],
    )  # fmt: skip
    assert (member.user.is_staff, member.user.is_superuser, member.user.name) == (False, False, "New Person")
    assert Client().post("/sign-in", {"username": ADDRESS, "password": NEW_ACCOUNT["password"]}).status_code == 302
    events = AuditEvent.objects.filter(kind=AuditObject.INVITATION).order_by("pk")
    assert {AuditAction.CREATED, AuditAction.ACCEPTED} <= set(events.values_list("action", flat=True))
    assert ADDRESS not in str(list(events.values()))
    trail = staff_browser(world.users["owner"]).get("/admin/accounts/auditevent/").content.decode()
    assert trail.count("Show the invitation") == events.count()


def test_the_rules_for_passwords_are_shown_before_the_first_error(world: World, invite: Any) -> None:
    invite(staff_browser(world.users["owner"]), "editor")
    page = Client().get("/invitation", {"token": sent_token()})
    assert '<div class="muted small help-text" id="id_password_helptext"><ul><li>' in page.content.decode()
    assert "<li>Your password must contain at least 8 characters.</li>" in page.content.decode()
    german = Client().get("/invitation", {"token": sent_token()}, headers={"Accept-Language": "de"})
    assert "Das Passwort muss mindestens 8 Zeichen enthalten." in german.content.decode()


def test_a_link_works_once_and_not_after_it_was_revoked_replaced_or_has_expired(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])

    def ends(token: str) -> bool:
        shown = Client().get("/invitation", {"token": token})
        refused = accept(token, **NEW_ACCOUNT)
        return (shown.status_code, refused.status_code, "not valid" in shown.content.decode()) == (404, 404, True)

    invite(owner, email="a@mail.example")
    assert accept(sent_token(), **NEW_ACCOUNT).status_code == 302
    assert ends(sent_token()), "used"
    invite(owner)
    first = sent_token()
    Invitation.objects.update(sent_at=timezone.now() - invitation_lifecycle.MIN_PAUSE)
    invite(owner)
    assert ends(first), "replaced by a second invitation of the same address"
    second = sent_token()
    invitation = Invitation.objects.open().get()
    form = {"action": "revoke", "_selected_action": [str(invitation.pk)]}
    assert invitation.email in owner.post(PAGE, form).content.decode()
    assert Invitation.objects.open().exists(), "revoked only after a confirmation"
    owner.post(PAGE, {**form, "confirmed": "yes"})
    assert ends(second), "revoked"
    invite(owner)
    Invitation.objects.update(expires_at=timezone.now())
    assert ends(sent_token()), "expired"
    for unknown in ("", "x", "\x00", "é" * 300):
        assert ends(unknown)
    assert not User.objects.filter(email=ADDRESS).exists()


def test_an_existing_account_joins_after_it_has_signed_in(world: World, invite: Any) -> None:
    foreigner = world.users["foreigner"]
    invite(staff_browser(world.users["owner"]), "editor", email=foreigner.email)
    token = sent_token()
    page = Client().get("/invitation", {"token": token}).content.decode()
    assert "/sign-in?next=%2Finvitation%3Ftoken%3D" in page
    assert accept(token, **NEW_ACCOUNT).status_code == 200, "nobody sets the password of an account that exists"
    other = staff_browser(world.users["member"])
    assert "another address" in accept(token, other).content.decode()
    assert not Membership.objects.filter(user=foreigner, organization=world.home).exists()
    foreigner_browser = Client()
    fields = {"username": foreigner.email, "password": PASSWORD, "next": f"/invitation?token={token}"}
    page = foreigner_browser.post("/sign-in", fields, follow=True).content.decode()
    assert "Join" in page
    assert accept(token, foreigner_browser).headers["Location"] == "/"
    joined = Membership.objects.get(user=foreigner, organization=world.home)
    assert [row.name for row in joined.roles.all()] == ["editor"]
    assert accept(token, foreigner_browser).status_code == 404


@pytest.mark.parametrize("is_deleted", [True, False])
def test_an_invitation_does_not_bring_back_a_removed_member(world: World, invite: Any, is_deleted: bool) -> None:
    """Somebody may become a member in another way, such as by single sign-on, while their invitation is open."""
    owner, person = staff_browser(world.users["owner"]), world.users["foreigner"]
    invite(owner, "editor", email=person.email)
    token = sent_token()
    invite(owner, email=ADDRESS)
    member = Membership.objects.create(user=person, organization=world.home)
    page = f"/admin/orgs/membership/{member.pk}"
    if is_deleted:
        owner.post(f"{page}/delete/", {"post": "yes"})
    else:
        owner.post(f"{page}/change/", {"user": person.pk, "organization": world.home.pk})
    assert accept(token, staff_browser(person)).status_code == 404
    assert not Membership.objects.filter(user=person, organization=world.home, is_active=True).exists()
    assert [invitation.email for invitation in Invitation.objects.open()] == [ADDRESS]


def test_an_invitation_ends_with_the_permissions_of_its_inviter(world: World, invite: Any) -> None:
    member = clerk(world)
    invite(member)
    invite(staff_browser(world.users["owner"]), "owner", email="chief@mail.example")
    membership(world, "member").roles.clear()
    role(world, "admin").memberships.clear()
    owner = membership(world, "owner")
    owner.roles.set([Role.objects.get(organization=world.home, name="people")])
    for number in (0, 1):
        assert accept(sent_token(number), **NEW_ACCOUNT).status_code == 404
    assert not User.objects.filter(email__endswith="@mail.example").exists()


def test_a_role_that_has_become_stronger_is_not_given(world: World, invite: Any) -> None:
    weak = Role.objects.create(organization=world.home, name="reader", permissions=[])
    invite(clerk(world), "reader")
    weak.permissions = ["sources.manage"]
    weak.save()
    assert accept(sent_token(), **NEW_ACCOUNT).status_code == 404


def test_invitations_of_a_deleted_account_and_old_ones_are_deleted(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner, email=world.users["foreigner"].email)
    invite(owner)
    world.users["foreigner"].delete()
    assert Invitation.objects.get().email == ADDRESS
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=31))
    invitation_lifecycle.delete_ended()
    assert not Invitation.objects.exists()


def test_a_new_account_signs_in_with_the_provider_that_its_organisation_requires(world: World, invite: Any) -> None:
    invite(staff_browser(world.users["owner"]), "editor")
    IdentityProvider.objects.create(
        organization=world.home, name="Provider", issuer="https://idp.example", client_id="x", is_enforced=True
    )
    domain = ADDRESS.rpartition("@")[2]
    SignInDomain.objects.create(organization=world.home, domain=domain, verified_at=timezone.now())
    person = Client()
    assert accept(sent_token(), person, **NEW_ACCOUNT).headers["Location"] == "/sign-in"
    assert person.get("/").status_code == 302
    assert Membership.objects.filter(user__email=ADDRESS).exists()


def test_an_account_that_is_created_at_the_same_moment_ends_the_link(
    world: World, invite: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the invitation of another organisation: between the check and the insertion."""
    assert invite(staff_browser(world.users["owner"]), "member").status_code == 302
    token, create = sent_token(), User.objects.create_user

    def create_later(email: str, *args: Any, **fields: Any) -> User:
        create(email, *args, **fields)
        return create(email, *args, **fields)

    monkeypatch.setattr(
        type(User.objects), "create_user", lambda manager, *args, **fields: create_later(*args, **fields)
    )
    assert accept(token, **NEW_ACCOUNT).status_code < 500
    assert Invitation.objects.get(email=ADDRESS).accepted_at is None


def test_an_address_that_no_account_can_have_is_not_invited_and_ends_the_link(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    assert "Latin letters" in invite(owner, email='"a@b.example"@mail.example').content.decode()
    assert invite(owner, "member").status_code == 302
    Invitation.objects.update(email='"a\\ b"@mail.example')
    assert accept(sent_token(), **NEW_ACCOUNT).status_code < 500
    assert not User.objects.filter(email__contains="mail.example").exists()
