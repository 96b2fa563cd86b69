"""Dynamic client registration: what is accepted, and its bounds."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import OAuthClient
from accounts.oauth import clients
from tests.accounts.oauth.conftest import Program


def test_a_client_without_a_secret_is_registered(program: Program) -> None:
    reply = program.register(token_endpoint_auth_method="client_secret_post", client_name="A\u202e  B\n" + "x" * 200)
    assert (reply.status_code, reply.headers["Cache-Control"]) == (201, "no-store")
    body = reply.json()
    assert (body["token_endpoint_auth_method"], "client_secret" in body) == ("none", False)
    assert body["client_name"] == ("A B" + "x" * 200)[:100]


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(1)",
        "data:text/html,x",
        "http://agent.example/callback",
        "http://127.0.0.1.evil.example/callback",
        "http://localhost@evil.example/callback",
        "https://agent.example/callback#x",
        "https://agent.example\\@evil.example/",
        "https:///callback",
        "//agent.example/callback",
        "https://agent.example/\n",
        "https://agent.example:x/",
        "https://%65vil.example/",  # it is shown before anybody allows something
        "https://agent.example/" + "x" * 500,
        7,
    ],
)
def test_codes_are_not_sent_to_such_addresses(program: Program, uri: Any) -> None:
    reply = program.register(redirect_uris=[uri])
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "metadata",
    [
        {"redirect_uris": []},
        {"redirect_uris": ["https://agent.example/"] * 11},
        {"grant_types": ["client_credentials"]},
        {"grant_types": "authorization_code"},
        {"response_types": ["token"]},
    ],
)
def test_a_client_that_needs_something_else_is_refused(program: Program, metadata: dict[str, Any]) -> None:
    assert program.register(**metadata).status_code == 400


def test_a_body_that_is_no_document_is_refused(program: Program) -> None:
    for body in ("[]", "x", "[" * 5_000, "\udcff".encode("utf-8", "surrogateescape")):
        reply = Client().post("/oauth/register", body, content_type="application/json")
        assert (reply.status_code, reply.json()["error"]) == (400, "invalid_client_metadata")
    assert program.register(client_uri="x" * 20_000).status_code == 413


@pytest.mark.parametrize("name", ["register", "token", "revoke"])
def test_other_methods_than_post_are_refused_in_words(name: str) -> None:
    """Programs read JSON: it was an empty page."""
    for method in ("get", "put", "delete", "options"):
        reply = getattr(Client(), method)(f"/oauth/{name}")
        assert (reply.status_code, reply.headers["Allow"]) == (405, "POST"), method
        assert reply.json() == {"error": "invalid_request", "error_description": "Send a POST request."}


def test_a_program_on_the_persons_machine_may_listen_on_any_port(program: Program) -> None:
    client = OAuthClient(redirect_uris=["http://127.0.0.1:1234/callback", "https://agent.example:1234/callback"])
    for uri, expected in {
        "http://127.0.0.1:5678/callback": True,
        "http://127.0.0.1/callback": True,
        "http://127.0.0.1:5678/other": False,
        "http://localhost:5678/callback": False,
        "https://127.0.0.1:5678/callback": False,
        "https://agent.example:5678/callback": False,
        "https://agent.example:1234/callback": True,
    }.items():
        assert clients.has_redirect_uri(client, uri) is expected, uri


def test_unused_clients_are_bounded(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program.sign_in()
    monkeypatch.setattr(clients, "MAX_UNUSED_CLIENTS", 3)
    ids = [program.register().json()["client_id"] for _ in range(5)]
    kept = {str(pk) for pk in OAuthClient.objects.values_list("pk", flat=True)}
    assert kept == {program.client_id, *ids[2:]}


def test_clients_that_a_person_allows_in_a_row_are_bounded(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each consent cost 5 KB for 30 days."""
    monkeypatch.setattr(clients, "MAX_UNUSED_CLIENTS", 3)
    program.sign_in()
    connected, ids = program.client_id, []
    for _ in range(5):
        program.client_id = program.register().json()["client_id"]
        ids.append(program.client_id)
        program.decide()
    assert {str(pk) for pk in OAuthClient.objects.values_list("pk", flat=True)} == {connected, *ids[2:]}


def test_registrations_are_limited_by_address(program: Program, settings: Any) -> None:
    settings.RAG_RATE_LIMITS = True
    settings.RAG_REQUESTS_PER_MINUTE = {**settings.RAG_REQUESTS_PER_MINUTE, "ip": 0}
    for reply in (program.register(), program.refresh("x")):
        assert (reply.status_code, reply.json()["error"]) == (429, "temporarily_unavailable")


def test_credentials_need_https(program: Program) -> None:
    program.sender.defaults["REMOTE_ADDR"] = "203.0.113.78"
    assert program.refresh("x").status_code == 403
