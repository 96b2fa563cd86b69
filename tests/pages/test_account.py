"""The page "Account": people change their password, manage their API keys and end their sign-ins."""

import datetime
import re

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import AuditEvent, User
from orgs.models import ApiKey
from rag.pages.account.password import ChangePasswordForm
from tests.support.browsers import browser
from tests.support.factories import PASSWORD, World

NEW = "another horse battery"


def change(client: Client, old: str, new: str = NEW) -> str:
    fields = {"old_password": old, "new_password1": new, "new_password2": new}
    reply = client.post("/account/password", fields, follow=True)
    return reply.content.decode()


def test_the_page_shows_only_what_is_ones_own(world: World) -> None:
    world.key("editor", "query", name="the editor's")
    world.key("member", "query", name="the member's")
    page = browser(world.users["editor"]).get("/account").content.decode()
    assert ("the editor&#x27;s" in page, "the member&#x27;s" in page, "editor@home.example" in page) == (
        True,
        False,
        True,
    )
    assert (world.home.name in page, world.abroad.name in page) == (True, False)
    assert Client().get("/account").headers["Location"] == "/sign-in?next=/account"


def test_a_changed_password_ends_all_other_sign_ins(world: World) -> None:
    user = world.users["editor"]
    token, elsewhere, here = str(AccessToken.for_user(user)), browser(user), browser(user)
    page = here.get("/account/password").content.decode()
    assert "<li>Your password must contain at least 8 characters.</li>" in page
    assert "not your current password" in change(here, "wrong")
    assert "too common" in change(here, PASSWORD, "password")
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)
    assert "password is changed" in change(here, PASSWORD)
    assert User.objects.get(pk=user.pk).check_password(NEW)
    assert (here.get("/account").status_code, elsewhere.get("/account").status_code) == (200, 302)
    assert Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_a_new_password_restores_nothing_that_has_ended_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking a password takes a second, in which somebody else may deactivate the account."""
    user, check = world.users["editor"], ChangePasswordForm.clean_old_password
    User.objects.filter(pk=user.pk).update(is_staff=True)

    def check_slowly(form: ChangePasswordForm) -> str:
        checked = check(form)
        User.objects.filter(pk=user.pk).update(is_active=False, is_staff=False, signed_out_at=timezone.now())
        return checked

    client = browser(User.objects.get(pk=user.pk))
    monkeypatch.setattr(ChangePasswordForm, "clean_old_password", check_slowly)
    change(client, PASSWORD)
    user = User.objects.get(pk=user.pk)
    assert (user.is_active, user.is_staff, user.signed_out_at is None) == (False, False, False)
    assert user.check_password(NEW)


def test_guessing_the_current_password_locks_it(world: World) -> None:
    client = browser(world.users["editor"])
    for _ in range(5):
        change(client, "wrong")
    assert "Too many failed attempts" in change(client, PASSWORD)
    assert User.objects.get(pk=world.users["editor"].pk).check_password(PASSWORD)


def test_the_admin_has_no_second_page_that_guesses_passwords(world: World) -> None:
    user = world.users["owner"]
    User.objects.filter(pk=user.pk).update(is_staff=True)
    fields = {"old_password": PASSWORD, "new_password1": NEW, "new_password2": NEW}
    reply = browser(user).post("/admin/password_change/", fields)
    assert (reply.status_code, reply.headers["Location"]) == (302, "/account/password")
    assert User.objects.get(pk=user.pk).check_password(PASSWORD)


def test_without_a_password_there_is_none_to_change(world: World) -> None:
    user = world.users["editor"]
    user.set_unusable_password()
    user.save()
    client = browser(user)
    assert "identity provider" in client.get("/account").content.decode()
    assert client.get("/account/password").status_code == 404


def test_a_key_is_shown_once_and_works_until_it_is_revoked(world: World) -> None:
    client = browser(world.users["editor"])
    fields = {"name": "n8n", "organization": str(world.home.pk), "scopes": ["query"], "expires_on": ""}
    page = client.post("/account/keys/new", fields).content.decode()
    (secret,) = re.findall(r"rk_[\w-]{40,}", page)
    headers = {"X-API-Key": secret}
    assert Client().get("/api/rag/sources", headers=headers).status_code == 200
    account = client.get("/account").content.decode()
    assert (secret in account, "search and ask" in account) == (False, True)
    reloaded = client.post("/account/keys/new", fields).content.decode()
    assert "You have an API key with this name." in reloaded, "the page is loaded again"
    key = ApiKey.objects.get()
    stranger = browser(world.users["member"])
    assert [stranger.post(f"/account/keys/{key.pk}/revoke").status_code for _ in range(2)] == [404, 404]
    assert "n8n" in client.get(f"/account/keys/{key.pk}/revoke").content.decode()
    assert Client().get("/api/rag/sources", headers=headers).status_code == 200, "nothing happens before the question"
    assert client.post(f"/account/keys/{key.pk}/revoke").status_code == 302
    assert Client().get("/api/rag/sources", headers=headers).status_code == 401


@pytest.mark.parametrize(
    ("field", "value"), [("scopes", []), ("scopes", ["root"]), ("name", ""), ("expires_on", "2020-01-01")]
)
def test_a_key_needs_a_name_a_use_and_a_future(world: World, field: str, value: object) -> None:
    fields = {"name": "n8n", "organization": str(world.home.pk), "scopes": ["query"], "expires_on": ""}
    page = browser(world.users["editor"]).post("/account/keys/new", {**fields, field: value})
    assert ('class="error"' in page.content.decode(), ApiKey.objects.count()) == (True, 0)


def test_the_end_of_a_key_is_shown_with_its_time_and_zone(world: World) -> None:
    world.key("editor", "query", name="n8n")
    ApiKey.objects.update(expires_at=datetime.datetime(2099, 5, 1, 9, 30, tzinfo=datetime.UTC))
    assert "expires on 1 May 2099, 09:30 UTC" in browser(world.users["editor"]).get("/account").content.decode()


def test_no_key_for_an_organization_of_others(world: World) -> None:
    fields = {"name": "n8n", "organization": str(world.abroad.pk), "scopes": ["query"]}
    page = browser(world.users["editor"]).post("/account/keys/new", fields)
    assert ('class="error"' in page.content.decode(), ApiKey.objects.count()) == (True, 0)


def test_signing_out_everywhere_ends_sessions_and_tokens(world: World) -> None:
    user = world.users["editor"]
    token, elsewhere, here = str(AccessToken.for_user(user)), browser(user), browser(user)
    assert here.get("/account/sign-out-everywhere").status_code == 405
    assert here.post("/account/sign-out-everywhere").headers["Location"] == "/sign-in"
    assert [client.get("/account").status_code for client in (here, elsewhere)] == [302, 302]
    assert Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert AuditEvent.objects.filter(after={"by": "everywhere"}).count() == 1
