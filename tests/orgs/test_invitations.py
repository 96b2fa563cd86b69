"""People are invited by e-mail: a link that works once, and never gives more than its inviter holds."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone

from accounts.audit.events import AuditAction, AuditEvent, AuditObject
from accounts.models import User
from orgs.invitations import invitation_lifecycle
from orgs.models import IdentityProvider, Invitation, Membership, Organization, Role, SignInDomain, Team
from tests.orgs.admin.test_delegation import clerk, membership, role
from tests.support.browsers import staff_browser
from tests.support.factories import PASSWORD, World

ADDRESS = "new.person@mail.example"
PAGE = "/admin/orgs/invitation/"
NEW_ACCOUNT: dict[str, Any] = {
    "name": "New Person",
    "password": "a quiet zebra at noon",
    "repeated": "a quiet zebra at noon",
}


@pytest.fixture(autouse=True)
def mail_server(settings: Any) -> None:
    settings.RAG_EMAIL_URL = "smtp://mail.example.com"


@pytest.fixture
def invite(world: World, django_capture_on_commit_callbacks: Any) -> Any:
    """invite(client, **changes) submits the form as this client, and returns the response."""

    def submit(client: Client, *roles: str, **changes: Any) -> Any:
        values = {"email": ADDRESS, "organization": world.home.pk, "roles": [role(world, name).pk for name in roles]}
        with django_capture_on_commit_callbacks(execute=True):
            return client.post(f"{PAGE}add/", {**values, **changes})

    return submit


def sent_token(number: int = -1) -> str:
    match = re.search(r"http://testserver/invitation\?token=(\S+)", str(mail.outbox[number].body))
    assert match
    return match[1]


def accept(token: str, client: Client | None = None, **fields: Any) -> Any:
    return (client or Client()).post("/invitation", {"token": token, **fields})


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


def test_invitations_of_a_deleted_account_and_old_ones_are_deleted(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner, email=world.users["foreigner"].email)
    invite(owner)
    world.users["foreigner"].delete()
    assert Invitation.objects.get().email == ADDRESS
    Invitation.objects.update(expires_at=timezone.now() - timedelta(days=31))
    invitation_lifecycle.delete_ended()
    assert not Invitation.objects.exists()


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


def test_an_address_is_invited_once_a_minute(world: World, invite: Any) -> None:
    owner = staff_browser(world.users["owner"])
    invite(owner)
    invite(owner)
    assert len(mail.outbox) == 1
    Invitation.objects.update(sent_at=timezone.now() - invitation_lifecycle.MIN_PAUSE)
    invite(owner)
    assert len(mail.outbox) == 2


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


def test_the_name_of_an_organisation_adds_no_paragraph_to_the_message(world: World, invite: Any) -> None:
    Organization.objects.filter(pk=world.home.pk).update(name="Home\r\n\r\nYour account is\u2028blocked")
    assert invite(staff_browser(world.users["owner"]), "member").status_code == 302
    assert mail.outbox[0].subject == "Invitation to Home Your account is blocked"
    assert "invites you to Home Your account is blocked on ragsite, where" in mail.outbox[0].body
