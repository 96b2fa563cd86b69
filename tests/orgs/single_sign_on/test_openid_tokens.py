"""Which ID tokens of an OpenID Connect provider are accepted: their claims, clocks, keys and signatures."""

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client

from accounts.models import User
from orgs.models import IdentityProvider
from tests.orgs.single_sign_on.conftest import EMAIL
from tests.orgs.single_sign_on.openid_sign_in import sign_in
from tests.support.servers.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProviderServer

CHANGES: dict[str, dict[str, Any]] = {
    "another nonce": {"nonce": "x"},
    "another client": {"aud": "other"},
    "also another client": {"aud": [CLIENT_ID, "other"]},
    "an authorised party": {"azp": "other"},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": 1_000_000_000},
    "no subject": {"sub": ""},
    "another person's user info": {"sub": "9"},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_tokens_that_prove_nothing_are_refused(provider: IdentityProvider, server: Any, change: dict[str, Any]) -> None:
    server.change_claims = lambda claims: claims.update(change)
    browser = Client()
    assert sign_in(browser).status_code == 502
    assert (User.objects.filter(email=EMAIL).exists(), browser.get("/").status_code) == (False, 302)


@pytest.mark.parametrize(("claim", "seconds"), [("iat", 1), ("nbf", 1), ("exp", -1)])
def test_clocks_may_differ_by_a_minute(provider: IdentityProvider, server: Any, claim: str, seconds: int) -> None:
    for difference, status in ((50, 302), (90, 502)):
        value = int(time.time()) + seconds * difference
        server.change_claims = lambda claims, value=value: claims.update({claim: value})
        reply = sign_in(Client())
        assert (reply.status_code, "Compare the clocks" in reply.content.decode()) == (status, status == 502)


@pytest.mark.parametrize(
    ("algorithm", "named", "status"),
    [
        *((algorithm, {}, 302) for algorithm in ("RS256", "RS512", "PS256")),
        ("PS256", {"alg": "PS256"}, 302),
        ("RS256", {"alg": "PS256"}, 502),
        ("RS256", {"alg": "none"}, 502),
        ("RS256", {"use": "enc"}, 502),
    ],
)
def test_a_key_need_not_name_its_algorithm(
    provider: IdentityProvider, server: Any, algorithm: str, named: dict[str, str], status: int
) -> None:
    key = rsa.generate_private_key(65_537, 2_048)
    published = {**json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key())), "kid": "rsa", "use": "sig"}
    del published["key_ops"]
    server.keys = lambda: {"keys": [{**published, **named}]}
    server.sign = lambda claims: jwt.encode(claims, key, algorithm=algorithm, headers={"kid": "rsa"})
    assert sign_in(Client()).status_code == status


@pytest.mark.parametrize("names_algorithm", [True, False])
def test_forged_signatures_are_refused(provider: IdentityProvider, server: Any, names_algorithm: bool) -> None:
    other = IdentityProviderServer()
    (key,) = server.keys()["keys"]
    public_key = str(key)
    published = key if names_algorithm else {name: value for name, value in key.items() if name != "alg"}
    server.keys = lambda: {"keys": [published]}
    forgeries = (
        lambda claims: jwt.encode(claims, "", algorithm="none", headers={"kid": "k1"}),
        lambda claims: jwt.encode(claims, CLIENT_SECRET * 2, algorithm="HS256", headers={"kid": "k1"}),
        lambda claims: jwt.encode(claims, public_key, algorithm="HS256", headers={"kid": "k1"}),
        lambda claims: jwt.encode(claims, rsa.generate_private_key(65_537, 2_048), "RS256", headers={"kid": "k1"}),
        other.sign_with_key,
        lambda claims: "x.y.z",
    )
    for forgery in forgeries:
        server.sign = forgery
        assert sign_in(Client()).status_code == 502
    assert not User.objects.filter(email=EMAIL).exists()
