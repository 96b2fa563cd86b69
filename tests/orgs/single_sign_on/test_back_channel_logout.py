"""A provider says that a person has signed out there: their sessions and tokens end here immediately."""

import time
from typing import Any

import pytest
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import AuditEvent, TokenFamily, User
from accounts.sign_in import refresh_tokens
from orgs.models import IdentityProvider
from orgs.single_sign_on import discovery
from tests.orgs.single_sign_on.conftest import EMAIL
from tests.orgs.single_sign_on.openid_sign_in import sign_in
from tests.support.servers.identity_provider import CLIENT_ID, IdentityProviderServer

EVENT = "http://schemas.openid.net/event/backchannel-logout"


def logout_claims(server: Any) -> dict[str, Any]:
    now = int(time.time())
    claims = {"iss": server.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 60, "jti": "1", "sub": "1"}
    return {**claims, "events": {EVENT: {}}}


def send(provider: IdentityProvider, token: str) -> Any:
    return Client(enforce_csrf_checks=True).post(f"/sign-in/back-channel-logout/{provider.pk}", {"logout_token": token})


def list_sources(token: str) -> int:
    return Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"}).status_code


def test_everything_that_the_person_has_signed_in_to_ends(provider: IdentityProvider, server: Any) -> None:
    browsers = [Client(), Client()]
    for browser in browsers:
        sign_in(browser)
        assert browser.get("/").status_code == 200
    user = User.objects.get(email=EMAIL)
    pair = refresh_tokens.issue(user)
    token = str(AccessToken.for_user(user))
    assert list_sources(token) == 200
    reply = send(provider, server.sign_with_key(logout_claims(server)))
    assert (reply.status_code, reply.headers["Cache-Control"]) == (200, "no-store")
    assert [browser.get("/").status_code for browser in browsers] == [302, 302]
    assert list_sources(token) == 401
    assert not TokenFamily.objects.exists()
    for path, body in {"refresh": {"refresh": str(pair)}, "verify": {"token": token}}.items():
        refused = Client().post(f"/api/auth/token/{path}", body, content_type="application/json")
        assert refused.status_code == 401, path
    event = AuditEvent.objects.filter(action="signed_out").latest("at")
    assert (event.subject_id, event.after) == (user.pk, {"by": "identity provider"})


def test_a_repeated_logout_token_does_not_end_later_sign_ins(provider: IdentityProvider, server: Any) -> None:
    sign_in(Client())
    token = server.sign_with_key(logout_claims(server))
    assert send(provider, token).status_code == 200
    browser = Client()
    sign_in(browser)
    assert send(provider, token).status_code == 200
    assert browser.get("/").status_code == 200


def change(claims: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {name: value for name, value in {**claims, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    "changes",
    [
        {"iss": "https://other.example"},
        {"aud": "another client"},
        {"sub": None},
        {"iat": "1700000000"},
        {"events": None},
        {"events": {}},
        {"events": {EVENT: "yes"}},
        {"nonce": "as in an ID token"},
        {"jti": None},
        {"iat": 1},
        {"iat": int(time.time()) + 3_600},
        {"iat": True},
        {"iat": float("nan")},
        {"iat": float("inf")},
        {"exp": 1},
    ],
)
def test_other_tokens_end_nothing(provider: IdentityProvider, server: Any, changes: dict[str, Any]) -> None:
    browser = Client()
    sign_in(browser)
    reply = send(provider, server.sign_with_key(change(logout_claims(server), **changes)))
    assert (reply.status_code, reply.json()["error"]) == (400, "invalid_request")
    assert browser.get("/").status_code == 200


def test_a_logout_token_counts_for_five_minutes(provider: IdentityProvider, server: Any) -> None:
    """An end that the provider gives does not lengthen this. The provider's clock may be a minute fast."""
    statuses = {}
    for age in (-45, 200, 301, 3_600):
        for end in (int(time.time()) + 86_400, None):
            token = server.sign_with_key(change(logout_claims(server), iat=int(time.time()) - age, exp=end))
            statuses[age, end is None] = send(provider, token).status_code
    assert {age for (age, _), status in statuses.items() if status == 200} == {-45, 200}
    assert {age for (age, _), status in statuses.items() if status == 400} == {301, 3_600}


def test_only_the_provider_ends_sign_ins(provider: IdentityProvider, server: Any) -> None:
    browser = Client()
    sign_in(browser)
    claims = logout_claims(server)
    stranger = IdentityProviderServer()
    try:
        assert send(provider, stranger.sign_with_key(claims)).status_code == 400
    finally:
        stranger._server.server_close()
    assert send(provider, "").status_code == 400
    assert Client().get(f"/sign-in/back-channel-logout/{provider.pk}").status_code == 405
    assert send(provider, server.sign_with_key({**claims, "sub": "somebody else"})).status_code == 200
    assert browser.get("/").status_code == 200
    provider.is_active = False
    provider.save(update_fields=["is_active"])
    assert send(provider, server.sign_with_key(claims)).status_code == 400


def test_a_provider_without_the_domain_ends_nothing(provider: IdentityProvider, server: Any) -> None:
    browser = Client()
    sign_in(browser)
    provider.organization.sign_in_domains.update(domain="other.example")
    assert send(provider, server.sign_with_key(logout_claims(server))).status_code == 200
    assert browser.get("/").status_code == 200
    # Without any verified domain it decides about nobody, so nobody's token makes this server ask it for anything.
    provider.organization.sign_in_domains.update(verified_at=None)
    discovery._cache.clear()
    server.requested_paths.clear()
    assert send(provider, server.sign_with_key(logout_claims(server))).status_code == 400
    assert (browser.get("/").status_code, server.requested_paths) == (200, [])


def test_unknown_keys_are_looked_up_once_a_minute(
    provider: IdentityProvider, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can send such a token, and each would otherwise cost a request to the provider."""

    def send_unknown() -> None:
        for number in range(5):
            token = server.sign_with_key(logout_claims(server), key_id=f"unknown {number}")
            assert send(provider, token).status_code == 400

    send_unknown()
    assert server.requested_paths.count("/keys") == 1
    assert send(provider, server.sign_with_key(logout_claims(server))).status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(discovery, "_KEYS_PAUSE_SECONDS", -1.0)  # as if a minute had passed
        assert send(provider, server.sign_with_key(logout_claims(server), key_id="unknown")).status_code == 400
    send_unknown()
    assert server.requested_paths.count("/keys") == 2


def test_the_sign_ins_of_a_deactivated_account_do_not_continue(provider: IdentityProvider, server: Any) -> None:
    browser = Client()
    sign_in(browser)
    User.objects.filter(email=EMAIL).update(is_active=False)
    assert send(provider, server.sign_with_key(logout_claims(server))).status_code == 200
    User.objects.filter(email=EMAIL).update(is_active=True)
    assert browser.get("/").status_code == 302


def test_the_provider_does_not_end_the_sign_ins_of_superusers(provider: IdentityProvider, server: Any) -> None:
    browser = Client()
    sign_in(browser)
    User.objects.filter(email=EMAIL).update(is_superuser=True)
    assert send(provider, server.sign_with_key(logout_claims(server))).status_code == 200
    assert browser.get("/").status_code == 200
