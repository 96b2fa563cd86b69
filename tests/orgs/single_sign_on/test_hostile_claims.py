"""Tokens that a provider has signed, with claims of any type: each is accepted or refused, and none is an error."""

import base64
import json
import time
import uuid
from typing import Any

import pytest
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jwt import algorithms

from orgs.models import IdentityProvider
from orgs.single_sign_on import discovery, openid_connect, provider_requests
from orgs.single_sign_on.provider_requests import IdentityProviderFailed, Provider
from tests.orgs.single_sign_on.conftest import EMAIL
from tests.orgs.single_sign_on.openid_sign_in import begin
from tests.orgs.single_sign_on.test_back_channel_logout import logout_claims, send
from tests.support.servers.identity_provider import CLIENT_ID, IdentityProviderServer

NUMBERS = st.sampled_from([float("inf"), float("-inf"), float("nan"), 1e300, -1e300, 10**400, -(10**400), 0, True])
TEXTS = st.text(st.characters(), max_size=300)  # also lone surrogates and NUL
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda children: st.lists(children, max_size=3) | st.dictionaries(TEXTS, children, max_size=3),
    max_leaves=5,
)
NAMES = ("iss", "aud", "iat", "exp", "nbf", "jti", "sub", "events", "nonce", "sid", "azp")


@pytest.fixture
def known_issuer(monkeypatch: pytest.MonkeyPatch) -> IdentityProviderServer:
    """A provider whose documents are known, so that nothing is requested."""
    server = IdentityProviderServer()
    server._server.server_close()
    documents = {True: server.configuration(), False: server.keys()}
    monkeypatch.setattr(discovery, "_cache", {})
    with monkeypatch.context() as answering:
        answering.setattr(discovery, "request", lambda _, url, **__: documents[url.endswith("configuration")])
        discovery.read_keys(Provider(uuid.uuid4(), server.issuer), refresh=True)
    return server


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.dictionaries(st.sampled_from(NAMES), VALUES, min_size=1, max_size=3))
def test_claims_of_logout_tokens(known_issuer: IdentityProviderServer, changes: dict[str, Any]) -> None:
    token = known_issuer.sign_with_key({**logout_claims(known_issuer), **changes})
    try:
        logout = openid_connect.verify_logout_token(Provider(uuid.uuid4(), known_issuer.issuer), CLIENT_ID, token)
    except IdentityProviderFailed:
        return
    assert 0 < len(logout.subject) <= 255
    logout.subject.encode()
    assert "\0" not in logout.subject
    assert abs(logout.issued_at.timestamp() - time.time()) < 400


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "jwk", "x5c", "b64"]), VALUES, max_size=4),
    payload=VALUES,
    keys=st.lists(st.dictionaries(st.sampled_from(["kty", "kid", "use", "alg", "crv", "x", "y", "n", "e"]), VALUES)),
)
def test_headers_and_keys(
    known_issuer: IdentityProviderServer, header: dict[str, Any], payload: Any, keys: list[dict[str, Any]]
) -> None:
    discovery._cache[known_issuer.issuer].keys = {"keys": [*keys, *known_issuer.keys()["keys"]]}
    token = ".".join(_encode(part) for part in ({"alg": "ES256", "kid": "k1", **header}, payload, "signature"))
    with pytest.raises(IdentityProviderFailed):
        openid_connect.verify_logout_token(Provider(uuid.uuid4(), known_issuer.issuer), CLIENT_ID, token)


def test_no_private_key_of_a_provider_is_computed(
    known_issuer: IdentityProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From numbers of 12 KB the library computed primes for minutes, in which the process answered nobody else."""
    recovered: list[int] = []
    monkeypatch.setattr(algorithms, "rsa_recover_prime_factors", lambda *numbers: recovered.extend(numbers))
    number = base64.urlsafe_b64encode(b"\xff" * 12_000).decode()
    key = {"kty": "RSA", "kid": "k1", "alg": "RS256", "n": number, "d": number, "e": "AQAB"}
    discovery._cache[known_issuer.issuer].keys = {"keys": [key]}
    token = ".".join(_encode(part) for part in ({"alg": "RS256", "kid": "k1"}, {}, "signature"))
    with pytest.raises(IdentityProviderFailed):
        openid_connect.verify_logout_token(Provider(uuid.uuid4(), known_issuer.issuer), CLIENT_ID, token)
    assert recovered == []


def _encode(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e300", "NaN", "Infinity"])
@pytest.mark.parametrize("claim", ["iat", "exp", "nbf"])
def test_impossible_times_are_refused(
    provider: IdentityProvider, server: IdentityProviderServer, claim: str, number: str
) -> None:
    token = server.sign_with_key({**logout_claims(server), claim: float(number)})
    expected = 200 if (claim, number) == ("exp", "1e300") else 400
    assert send(provider, token).status_code == expected


@pytest.mark.parametrize(
    "changes",
    [
        {"sub": "\ud800"},
        {"sub": "a\0"},
        {"sub": ["1"]},
        {"email": "\ud800@home.example"},
        {"email": "a\0@home.example"},
        {"nonce": "\ud800"},
        {"name": "\ud800"},
        {"iat": float("inf")},
        {"groups": [float("inf"), None, "\ud800"]},
    ],
    ids=str,
)
def test_a_sign_in_with_claims_that_cannot_be_stored(
    provider: IdentityProvider, server: IdentityProviderServer, changes: dict[str, Any]
) -> None:
    server.change_claims = lambda claims: claims.update(changes)
    assert Client().get(begin(Client())).status_code == 400, "a browser that did not begin it"
    browser = Client()
    status = browser.get(begin(browser)).status_code
    assert status == (302 if {"name", "groups"} & changes.keys() else 502 if "email" not in changes else 403)


def test_a_response_of_very_deep_json_is_refused(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_requests, "_read", lambda response: b"[" * 500_000)
    with pytest.raises(IdentityProviderFailed, match="not a JSON object"):
        provider_requests.request("GET", f"{server.issuer}/keys", provider=Provider(uuid.uuid4(), server.issuer))


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("token_endpoint_auth_methods_supported", 5, 302),
        ("token_endpoint_auth_methods_supported", True, 302),
        ("token_endpoint", "https://[", 502),
        ("end_session_endpoint", "https://\ud800", 302),
    ],
    ids=str,
)
def test_a_sign_in_with_a_configuration_of_any_type(
    provider: IdentityProvider,
    server: IdentityProviderServer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
    status: int,
) -> None:
    configuration = {**server.configuration(), name: value}
    monkeypatch.setattr(server, "configuration", lambda: configuration)
    browser = Client()
    assert browser.get(begin(browser)).status_code == status
    if status == 302:
        assert browser.post("/sign-out").status_code in (200, 302)


def test_an_address_to_sign_in_at_that_cannot_be_sent(
    provider: IdentityProvider, server: IdentityProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    configuration = {**server.configuration(), "authorization_endpoint": "https://\ud800"}
    monkeypatch.setattr(server, "configuration", lambda: configuration)
    assert Client().post("/sign-in/organization", {"email": EMAIL}).status_code == 502
