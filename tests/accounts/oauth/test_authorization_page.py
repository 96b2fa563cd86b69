"""The page on which a person allows or refuses a program: what it shows, and which requests get a code."""

import uuid
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEvent, OAuthCode
from accounts.oauth import pages
from accounts.sign_out_everywhere import end_sign_ins
from tests.accounts.oauth.conftest import RESOURCE, Program, sent_back
from tests.support.factories import World


def test_a_person_allows_a_program_to_use_the_mcp_server(program: Program, world: World) -> None:
    page = program.browser.get(program.authorize_url())
    assert page.status_code == 200
    for text in ("Agent", "agent.example", world.users["member"].email, "that you may query"):
        assert text in page.content.decode()
    assert "no-store" in page.headers["Cache-Control"]
    answer = program.decide()
    assert (answer["state"], answer["iss"]) == ("a state", "http://testserver")
    tokens = program.exchange(answer["code"]).json()
    assert (tokens["token_type"], tokens["scope"]) == ("Bearer", "query")
    assert program.ping(tokens["access_token"]).status_code == 200
    assert AuditEvent.objects.filter(after={"by": "application"}, subject_id=world.users["member"].pk).count() == 1


def test_a_refused_program_gets_no_code(program: Program) -> None:
    assert program.decide("deny") == {"error": "access_denied", "state": "a state", "iss": "http://testserver"}
    assert not OAuthCode.objects.exists()


def test_visitors_sign_in_first(program: Program) -> None:
    reply = Client().get(program.authorize_url())
    assert (reply.status_code, reply.headers["Location"].startswith("/sign-in?next=/oauth/authorize")) == (302, True)


def test_strange_addresses_get_no_redirect(program: Program) -> None:
    for changes in (
        {"redirect_uri": "https://evil.example/callback"},
        {"redirect_uri": "https://agent.example/callback/"},
        {"redirect_uri": "https://agent.example/callback?x=1"},
        {"redirect_uri": None},
        {"client_id": "x"},
        {"client_id": str(uuid.uuid4())},
    ):
        reply = program.browser.post(program.authorize_url(**changes), {"decision": "allow"})
        assert (reply.status_code, b"url=" in reply.content) == (400, False), changes


def test_wrong_requests_are_sent_back_without_a_code(program: Program) -> None:
    for changes, error in (
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "query manage"}, "invalid_scope"),
    ):
        assert program.decide(**changes)["error"] == error, changes
    twice = program.browser.post(program.authorize_url() + f"&resource={RESOURCE}", {"decision": "allow"})
    assert sent_back(twice)["error"] == "invalid_request"
    assert b"http-equiv" not in twice.content, "nobody is sent away without a decision"
    assert b"http-equiv" in program.browser.post(program.authorize_url(), {"decision": "deny"}).content
    assert not OAuthCode.objects.exists()


def test_the_decision_needs_the_token_of_the_page(program: Program, world: World) -> None:
    """Otherwise a page of another site could decide for a person who is signed in."""
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(world.users["member"])
    assert browser.post(program.authorize_url(), {"decision": "allow"}).status_code == 403
    assert not OAuthCode.objects.exists()


def test_a_decision_that_a_sign_out_overtakes_gives_no_code(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody with another's session could send decisions all the time, so that one is in progress at any moment."""
    read = pages.read_authorization

    def read_slowly(*arguments: Any) -> Any:
        authorization = read(*arguments)
        end_sign_ins(world.users["member"], requested_at=timezone.now(), method="everywhere")
        return authorization

    monkeypatch.setattr(pages, "read_authorization", read_slowly)
    assert program.decide()["error"] == "access_denied"
    assert not OAuthCode.objects.exists()
