"""The page that shows an access token to those who have signed in."""

import re

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.utils import timezone

from accounts.sign_in import pages
from accounts.sign_out_everywhere import end_sign_ins
from ragsite.postgres import identity
from tests.support.factories import World

PAGE = "/sign-in/token"


def test_whoever_has_signed_in_gets_an_access_token(world: World) -> None:
    for method in ("get", "post"):
        refused = getattr(Client(), method)(PAGE)
        assert (refused.status_code, refused.headers["Location"].startswith("/sign-in?next=")) == (302, True)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.users["editor"])
    form = browser.get(PAGE)
    assert b"eyJ" not in form.content
    assert browser.post(PAGE).status_code == 403, "not for another site"
    (csrf_token,) = re.findall(r'<form method="post">.*?value="(\w+)"', form.content.decode(), re.DOTALL)
    page = browser.post(PAGE, {"csrfmiddlewaretoken": csrf_token})
    (token,) = re.findall(r"eyJ[\w.-]+", page.content.decode())
    assert "no-store" in page.headers["Cache-Control"]
    assert Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_a_sign_out_everywhere_overtakes_no_access_token(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    user, redirect = world.users["editor"], pages.sign_in_redirect

    def check_slowly(request: HttpRequest) -> HttpResponse | None:
        checked = redirect(request)
        with identity.run_as(identity.SIGN_IN):
            end_sign_ins(user, requested_at=timezone.now(), method="everywhere")
        return checked

    browser = Client()
    browser.force_login(user)
    monkeypatch.setattr(pages, "sign_in_redirect", check_slowly)
    page = browser.post(PAGE)
    assert (page.status_code, b"eyJ" in page.content) == (302, False)
