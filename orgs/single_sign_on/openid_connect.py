"""The client side of OpenID Connect: the authorization code flow with PKCE, ID tokens and logout tokens.

OpenID Connect Core 1.0, RFC 7636 (PKCE), RFC 9207 (the issuer in the response), RFC 9700.
"""

import datetime
import secrets
import time
from dataclasses import dataclass
from urllib.parse import urlencode

import jwt
from django.utils.translation import gettext_noop

from accounts.oauth.pkce import build_challenge
from orgs.models.single_sign_on import MAX_SUBJECT_CHARACTERS
from ragsite.http.bodies.json_types import JsonObject
from ragsite.postgres.models import is_storable

from . import discovery
from .attempts import SignInAttempt
from .clocks import LEEWAY, MAX_SIGN_OUT_AGE
from .provider_requests import IdentityProviderFailed, Provider, request

# Signatures with a key pair. With a shared secret (HS256), a leaked secret would sign tokens.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_SCOPES = "openid email profile"
# What a public key consists of (RFC 7517, 4; RFC 7518, 6). From the members of a private RSA key the library would
# compute its primes: for hours, if a provider publishes large numbers, and meanwhile the process answers nobody.
_PUBLIC_MEMBERS = ("kty", "use", "kid", "n", "e", "crv", "x", "y")


class InvalidResponse(IdentityProviderFailed):
    """The response does not prove who signs in."""


@dataclass(frozen=True, slots=True)
class Client:
    """This installation as a client of a provider."""

    provider: Provider
    client_id: str
    client_secret: str


@dataclass(frozen=True, slots=True)
class Logout:
    """Who has signed out of the provider, and when it said so."""

    subject: str
    issued_at: datetime.datetime


def authorization_url(client: Client, attempt: SignInAttempt, *, redirect_uri: str) -> str:
    """Return the address of the provider at which a person signs in.

    Raises:
        IdentityProviderFailed: If the provider does not describe itself.
    """
    endpoint = discovery.find_endpoint(client.provider, "authorization_endpoint")
    parameters = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "scope": _SCOPES,
        "state": attempt.state,
        "nonce": attempt.nonce,
        "code_challenge": build_challenge(attempt.verifier),
        "code_challenge_method": "S256",
    }
    return endpoint + ("&" if "?" in endpoint else "?") + urlencode(parameters)


def check_issuer(provider: Provider) -> None:
    """Check that the address of the issuer has the description of a provider with all endpoints that a sign-in needs.

    Raises:
        IdentityProviderFailed: If there is no description, or it lacks an endpoint.
    """
    for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
        discovery.find_endpoint(provider, name, refresh=name == "authorization_endpoint")


def check_response_issuer(provider: Provider, named: str | None) -> None:
    """Check that the response comes from the provider to which the browser was sent (RFC 9207).

    Args:
        provider: The provider to which the browser was sent.
        named: The parameter `iss` of the response; None if it has none.

    Raises:
        IdentityProviderFailed: If the response names another provider, or none although this one always names itself.
    """
    if (
        named is None
        and discovery.read_configuration(provider).get("authorization_response_iss_parameter_supported") is not True
    ):
        return
    if named is None or named.rstrip("/") != provider.issuer:
        raise InvalidResponse("The response is not of the identity provider that was asked.")


def exchange_code(
    client: Client, attempt: SignInAttempt, code: str, *, redirect_uri: str, groups_claim: str
) -> tuple[JsonObject, str]:
    """Exchange the code of the provider's response for what it says about the person.

    Returns:
        The verified claims, and the ID token, which a sign-out names.

    Raises:
        IdentityProviderFailed: If the provider refuses, or its response is not valid.
    """
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": redirect_uri,
        "code_verifier": attempt.verifier,
    }
    methods = discovery.read_configuration(client.provider).get("token_endpoint_auth_methods_supported")
    is_basic = not isinstance(methods, list) or not methods or "client_secret_basic" in methods
    credentials = (client.client_id, client.client_secret) if is_basic else None
    if credentials is None:
        form |= {"client_id": client.client_id, "client_secret": client.client_secret}
    endpoint = discovery.find_endpoint(client.provider, "token_endpoint")
    tokens = request("POST", endpoint, provider=client.provider, form=form, credentials=credentials)
    id_token = tokens.get("id_token")
    if not isinstance(id_token, str):
        raise InvalidResponse("The identity provider sent no ID token.")
    claims = _verify(client, id_token, attempt.nonce)
    return _add_user_info(client.provider, claims, tokens, groups_claim), id_token


def end_session_url(client: Client, id_token: str, *, return_to: str) -> str:
    """Return the address at which the person also signs out of the provider; empty if it has none."""
    try:
        endpoint = discovery.find_endpoint(client.provider, "end_session_endpoint")
    except IdentityProviderFailed:
        return ""
    parameters = {"id_token_hint": id_token, "post_logout_redirect_uri": return_to, "client_id": client.client_id}
    return endpoint + ("&" if "?" in endpoint else "?") + urlencode(parameters)


def verify_logout_token(provider: Provider, client_id: str, token: str) -> Logout:
    """Check a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6).

    Raises:
        IdentityProviderFailed: If it is not valid, or names no person.
    """
    claims = _decode(provider, client_id, token, require=["iat", "iss", "aud", "jti", "sub", "events"])
    issued_at, subject, events = claims["iat"], claims["sub"], claims["events"]
    # An ID token, which everybody has who once signed in, must not be accepted as a logout token.
    is_logout = isinstance(events, dict) and isinstance(events.get(_LOGOUT_EVENT), dict) and "nonce" not in claims
    _check_subject(subject)
    # The library has checked that it is not in the future.
    is_recent = isinstance(issued_at, int | float) and issued_at >= time.time() - MAX_SIGN_OUT_AGE.total_seconds()
    if not is_logout or not is_recent:
        raise InvalidResponse("This is not a logout token, or it is an old one.")
    return Logout(subject, datetime.datetime.fromtimestamp(issued_at, datetime.UTC))


def _verify(client: Client, id_token: str, nonce: str) -> JsonObject:
    """Check the signature and the claims of an ID token (OpenID Connect Core 1.0, 3.1.3.7)."""
    claims = _decode(client.provider, client.client_id, id_token, require=["exp", "iat", "iss", "aud", "sub"])
    _check_subject(claims["sub"])
    if not secrets.compare_digest(str(claims.get("nonce", "")).encode(errors="replace"), nonce.encode()):
        raise InvalidResponse("The ID token belongs to another sign-in.")
    audience = claims["aud"]
    if (
        claims.get("azp", client.client_id if isinstance(audience, str) or len(audience) == 1 else "")
        != client.client_id
    ):
        raise InvalidResponse("The ID token is for another client.")
    return claims


def _check_subject(subject: object) -> None:
    if not isinstance(subject, str) or not 0 < len(subject) <= MAX_SUBJECT_CHARACTERS or not is_storable(subject):
        raise InvalidResponse("The identity provider sent no usable subject.")


def _decode(provider: Provider, client_id: str, token: str, *, require: list[str]) -> JsonObject:
    """Check the signature of a token, its issuer, its audience and its times, and return its claims."""
    try:
        key = _signing_key(provider, jwt.get_unverified_header(token))
        claims: dict[str, object] = jwt.decode(
            token,
            key,
            algorithms=_ALGORITHMS,
            audience=client_id,
            issuer=discovery.read_configuration(provider)["issuer"],
            leeway=LEEWAY,
            options={"require": require},
        )
    except (jwt.ImmatureSignatureError, jwt.ExpiredSignatureError):
        raise InvalidResponse(
            gettext_noop("The token is not valid at this time. Compare the clocks of both servers.")
        ) from None
    except (jwt.PyJWTError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidResponse(f"The token is not valid: {type(error).__name__}.") from None
    return claims


def _add_user_info(provider: Provider, claims: JsonObject, tokens: JsonObject, groups_claim: str) -> JsonObject:
    """Add claims that the provider sends only from its userinfo endpoint."""
    access_token = tokens.get("access_token")
    if ("email" in claims and groups_claim in claims) or not isinstance(access_token, str):
        return claims
    if not discovery.read_configuration(provider).get("userinfo_endpoint"):
        return claims
    endpoint = discovery.find_endpoint(provider, "userinfo_endpoint")
    info = request("GET", endpoint, provider=provider, bearer=access_token)
    if info.get("sub") != claims["sub"]:
        raise InvalidResponse("The identity provider speaks about another person.")
    return {**info, **claims}


def _signing_key(provider: Provider, header: JsonObject) -> jwt.PyJWK:
    """Return the provider's key that a token names. An unknown key is looked up once: providers replace their keys."""
    key_id = header.get("kid")
    for refresh in (False, True):
        keys = _keys_for(header.get("alg"), discovery.read_keys(provider, refresh=refresh))
        matching = [key for key in keys if key.public_key_use in (None, "sig") and key_id in (None, key.key_id)]
        if matching and (key_id is not None or len(matching) == 1):
            return matching[0]
    raise InvalidResponse("The token names a key that the identity provider does not have.")


def _keys_for(algorithm: object, key_set: JsonObject) -> list[jwt.PyJWK]:
    """Return the keys for an algorithm: those that name it, or none (RFC 7517, 4.4; the library would take RS256)."""
    published = key_set.get("keys")
    if not isinstance(published, list) or algorithm not in _ALGORITHMS:
        return []
    keys = [
        {name: key[name] for name in _PUBLIC_MEMBERS if name in key} | {"alg": algorithm}
        for key in published
        if isinstance(key, dict) and (key.get("alg") or algorithm) == algorithm
    ]
    return jwt.PyJWKSet.from_dict({"keys": keys}).keys if keys else []
