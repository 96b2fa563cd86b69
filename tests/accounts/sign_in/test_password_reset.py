"""Forgotten passwords: the link in a message works once, and nobody learns which accounts exist."""

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core import mail
from django.core.checks import Tags, run_checks
from django.db import connections
from django.test import Client, RequestFactory
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from accounts.sign_in import password_reset
from ragsite.http.request_log import RequestLogMiddleware
from tests.support.factories import PASSWORD, World

FORM = "/sign-in/forgotten"
NEW = "another horse battery"


class _SameThread:
    """Runs immediately what is submitted, so that a test sees its end and it sees the test's rows."""

    def submit(self, run: Callable[..., None], *arguments: Any) -> None:
        run(*arguments)


@pytest.fixture(autouse=True)
def sending(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RAG_EMAIL_URL = "smtp://mail.example.com"
    monkeypatch.setattr(password_reset, "_sender", _SameThread())
    monkeypatch.setattr("accounts.sign_in.password_reset.connection.close", lambda: None)


def ask(email: str) -> str:
    page = Client().post(FORM, {"email": email})
    assert page.status_code == 200
    return re.sub(r'value="[^"]*"', "", page.content.decode())


def link_in(message: Any) -> str:
    (link,) = re.findall(r"http://testserver(\S+/password/\S+)", message.body)
    return str(link)


def test_a_link_sets_a_password_once_and_ends_all_sign_ins(world: World) -> None:
    user = world.users["editor"]
    token = str(AccessToken.for_user(user))
    signed_in = Client()
    signed_in.force_login(user)
    ask("Editor@HOME.example")
    (message,) = mail.outbox
    assert (message.to, PASSWORD in message.body) == ([user.email], False)
    browser = Client()
    form = browser.get(link_in(message), follow=True)
    url = form.redirect_chain[-1][0]
    assert "<li>Your password must contain at least 8 characters.</li>" in form.content.decode()
    assert (
        "too common" in browser.post(url, {"new_password1": "password", "new_password2": "password"}).content.decode()
    )
    assert browser.post(url, {"new_password1": NEW, "new_password2": NEW}).headers["Location"] == "/sign-in"
    assert User.objects.get(pk=user.pk).check_password(NEW)
    assert b"used already" in Client().get(link_in(message), follow=True).content
    assert signed_in.get("/").status_code == 302
    assert Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"}).status_code == 401


def test_a_new_password_restores_nothing_that_has_ended_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing a password takes half a second, in which somebody else may deactivate the account."""
    user, set_password = world.users["editor"], User.set_password

    def set_slowly(account: User, password: str | None) -> None:
        set_password(account, password)
        User.objects.filter(pk=user.pk).update(is_active=False)

    ask(user.email)
    browser = Client()
    form = browser.get(link_in(mail.outbox[0]), follow=True)
    monkeypatch.setattr(User, "set_password", set_slowly)
    browser.post(form.redirect_chain[-1][0], {"new_password1": NEW, "new_password2": NEW})
    user = User.objects.get(pk=user.pk)
    assert (user.is_active, user.check_password(NEW)) == (False, True)


def test_a_link_that_is_used_twice_at_once_sets_one_password(live_world: World) -> None:
    user, barrier = live_world.users["editor"], threading.Barrier(3)
    ask(user.email)

    def follow(number: int) -> int:
        browser = Client()
        url = browser.get(link_in(mail.outbox[0]), follow=True).redirect_chain[-1][0]
        barrier.wait()
        password = f"{NEW} {number}"
        try:
            return browser.post(url, {"new_password1": password, "new_password2": password}).status_code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(3) as pool:
        statuses = list(pool.map(follow, range(3)))
    assert sorted(statuses) == [200, 200, 302], "the others are shown that the link was used"
    assert User.objects.get(pk=user.pk).check_password(f"{NEW} {statuses.index(302)}")


def test_nobody_learns_which_accounts_exist(world: World) -> None:
    User.objects.create_user("sso@home.example")
    User.objects.create_user("gone@home.example", PASSWORD, is_active=False)
    pages = {ask(email) for email in ("nobody@home.example", "sso@home.example", "gone@home.example", "x", "")}
    assert not mail.outbox
    assert {ask("editor@home.example"), ask("editor@home.example")} | pages == pages
    assert len(mail.outbox) == 1, "a mailbox is not flooded"


def test_a_link_belongs_to_its_account_and_time(world: World, settings: Any) -> None:
    ask("editor@home.example")
    ask("member@home.example")
    (_, _, _, editor, editors_token), (*_, members_token) = (link_in(message).split("/") for message in mail.outbox)
    for path in (f"/sign-in/password/{editor}/{members_token}", "/sign-in/password/x/y"):
        assert b"used already" in Client().get(path, follow=True).content
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert b"used already" in Client().get(f"/sign-in/password/{editor}/{editors_token}", follow=True).content


def test_without_e_mail_there_are_no_such_pages(world: World, settings: Any) -> None:
    assert b"Forgotten password" in Client().get("/sign-in").content
    settings.RAG_EMAIL_URL = ""
    assert b"Forgotten password" not in Client().get("/sign-in").content
    for path in (FORM, "/sign-in/password/x/y"):
        assert Client().get(path).status_code == 404


def test_a_link_leads_to_the_public_address_and_is_not_logged(world: World, settings: Any) -> None:
    settings.RAG_PUBLIC_URL = "https://rag.example.com/"
    settings.ALLOWED_HOSTS = ["*"]
    Client(headers={"Host": "evil.example:6666"}).post(FORM, {"email": world.users["editor"].email})
    (message,) = mail.outbox
    assert "evil.example" not in message.body
    (path,) = re.findall(r"https://rag\.example\.com(/sign-in/password/\S+)", str(message.body))
    token = path.rstrip("/").rpartition("/")[2]
    logged = RequestLogMiddleware.format_request(RequestFactory().get(path))
    assert logged.startswith("GET /sign-in/password/")
    assert token not in logged


def test_messages_without_a_public_address_are_reported(settings: Any) -> None:
    settings.DEBUG = settings.RAG_LOCAL = False
    assert "ragsite.E004" in [message.id for message in run_checks(tags=[Tags.security])]
    settings.RAG_PUBLIC_URL = "https://rag.example.com"
    assert "ragsite.E004" not in [message.id for message in run_checks(tags=[Tags.security])]
