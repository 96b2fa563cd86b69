"""Which tokens are accepted: signing keys, their rotation, and forged or ended tokens (docs/security.md)."""

import base64
import json
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from django.core.checks import Tags, run_checks
from django.test import Client
from rest_framework_simplejwt import state
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from accounts.sign_in.jwt_keys import MultiKeyTokenBackend, key_id
from tests.support.factories import World


def token_backend(key: str, *old_keys: str) -> MultiKeyTokenBackend:
    backend_settings: Any = SimpleNamespace(SIGNING_KEY=key, AUDIENCE="ragsite", ISSUER="ragsite", LEEWAY=0)
    return MultiKeyTokenBackend(backend_settings, [*old_keys])


def is_accepted(world: World, token: str) -> bool:
    reply = Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"})
    assert reply.status_code in (200, 401)
    return reply.status_code == 200


FIRST, SECOND = ("A key of sixty bytes, which is enough for longer digests: " + name for name in ("first", "second"))


def test_a_new_key_signs_and_an_old_key_is_accepted_until_it_is_removed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "token_backend", token_backend(FIRST))
    token = str(AccessToken.for_user(world.users["member"]))
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT", "kid": key_id(FIRST)}
    monkeypatch.setattr(state, "token_backend", token_backend(SECOND, FIRST))
    assert is_accepted(world, token)
    newer = str(AccessToken.for_user(world.users["member"]))
    assert jwt.get_unverified_header(newer)["kid"] == key_id(SECOND)
    monkeypatch.setattr(state, "token_backend", token_backend(SECOND))
    assert (is_accepted(world, token), is_accepted(world, newer)) == (False, True)


def test_forged_foreign_and_ended_tokens_are_rejected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "token_backend", token_backend(FIRST, SECOND))
    valid = AccessToken.for_user(world.users["member"])
    claims = {**valid.payload, "aud": "ragsite", "iss": "ragsite"}
    header, payload, signature = str(valid).split(".")
    kid = {"kid": key_id(FIRST)}

    def sign(key: str = FIRST, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **changed: Any) -> str:
        return jwt.encode({**claims, **changed}, key, algorithm=algorithm, headers=kid if headers is None else headers)

    def with_header(**changed: Any) -> str:
        header_json = json.dumps({"alg": "HS256", "typ": "JWT", **kid, **changed}).encode()
        return ".".join([base64.urlsafe_b64encode(header_json).rstrip(b"=").decode(), payload, signature])

    def without(name: str) -> str:
        return jwt.encode({k: v for k, v in claims.items() if k != name}, FIRST, "HS256", kid)

    rejected = {
        "no algorithm": ".".join([with_header(alg="none").split(".")[0], payload, ""]),
        "no algorithm, signed": with_header(alg="none"),
        "a public-key algorithm": with_header(alg="RS256"),
        "another algorithm with the same key": sign(algorithm="HS384"),
        "another key with this key's id": sign(SECOND),
        "no key id": sign(headers={}),
        "an unknown key id": sign(headers={"kid": "../../dev/null"}),
        "signed with the key id": sign(key_id(FIRST) * 2),
        "a key id that is not a string": with_header(kid=["a"]),
        "another audience": sign(aud="another-service"),
        "several other audiences": sign(aud=["a", "b"]),
        "another issuer": sign(iss="somebody"),
        "expired": sign(exp=1),
        "not valid yet": sign(nbf=4_000_000_000),
        "a refresh token": str(RefreshToken.for_user(world.users["member"])),
        "a changed payload": ".".join([header, payload.swapcase(), signature]),
        **{f"without {name}": without(name) for name in ("exp", "iss", "aud", "jti", "token_type", "sub")},
    }
    for name, token in rejected.items():
        assert not is_accepted(world, token), name
    assert is_accepted(world, sign())
    assert is_accepted(world, sign(SECOND, headers={"kid": key_id(SECOND)}))


def test_short_keys_are_a_deployment_error(settings: Any) -> None:
    def settings_with_errors() -> list[str]:
        messages = run_checks(tags=[Tags.security], include_deployment_checks=True)
        return [message.msg.split()[0] for message in messages if message.id == "ragsite.E001"]

    settings.SECRET_KEY, settings.SIMPLE_JWT = FIRST, {**settings.SIMPLE_JWT, "SIGNING_KEY": SECOND}
    assert settings_with_errors() == []
    settings.SECRET_KEY, settings.RAG_JWT_OLD_SIGNING_KEYS = "a" * 64, ["short"]
    settings.SIMPLE_JWT = {**settings.SIMPLE_JWT, "SIGNING_KEY": "thirty-one bytes, which is less"}
    assert settings_with_errors() == ["SECRET_KEY", "RAG_JWT_SIGNING_KEY", "RAG_JWT_OLD_SIGNING_KEYS"]


def test_the_configured_backend_has_several_keys() -> None:
    assert isinstance(state.token_backend, MultiKeyTokenBackend)
    assert key_id(api_settings.SIGNING_KEY) == jwt.get_unverified_header(state.token_backend.encode({}))["kid"]
