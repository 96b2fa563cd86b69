"""Authorization codes, and the tokens that clients get for them (OAuth 2.1, RFC 7636, RFC 8707, RFC 9700).

The refresh tokens of a grant are a family like those of a sign-in: each works once, and the reuse of one ends all.
Tokens are signed and not stored. Each use of an access token checks that its family still exists, so a revoked grant
ends immediately.
"""

import copy
import datetime
import secrets
import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from rest_framework_simplejwt import state
from rest_framework_simplejwt.exceptions import TokenBackendError
from rest_framework_simplejwt.settings import api_settings

from accounts import audited_events
from accounts.models import OAuthClient, OAuthCode, TokenFamily, User
from accounts.sign_in import password_backend, refresh_tokens
from accounts.sign_in.jwt_keys import MultiKeyTokenBackend
from accounts.sign_out_everywhere import require_not_ended
from ragsite.http.bodies.json_types import JsonObject
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import hash_secret
from ragsite.postgres.models import uuid7

from . import clients
from .errors import OAuthError
from .pkce import build_challenge

SCOPE = "query"
# Grants of a person. A further one ends the oldest.
MAX_GRANTS = 200
_ACCESS, _REFRESH = "oauth_access", "oauth_refresh"
_CODE_LIFETIME = datetime.timedelta(seconds=60)
_ENDED = "This is invalid, expired, or was used already."


@dataclass(frozen=True, slots=True)
class Authorization:
    """What a client asks a person for.

    Attributes:
        challenge: SHA-256 of the client's verifier, in base64url (PKCE).
        resource: The address of the server that the tokens are for.
        by_password: The person's session began with a password.
    """

    client: OAuthClient
    redirect_uri: str
    challenge: str
    resource: str
    by_password: bool


@transaction.atomic
def create_code(user: User, authorization: Authorization) -> str:
    """Store that the person has given the authorization, and return the code for the client.

    Raises:
        SignInEnded: If all sign-ins of the person have ended meanwhile.
    """
    require_not_ended(user)
    code = secrets.token_urlsafe(32)
    OAuthCode.objects.create(
        hash=hash_secret(code),
        client=authorization.client,
        user=user,
        redirect_uri=authorization.redirect_uri,
        challenge=authorization.challenge,
        resource=authorization.resource,
        by_password=authorization.by_password,
        password_digest=user.password_digest,
        expires_at=timezone.now() + _CODE_LIFETIME,
    )
    clients.record_use(authorization.client)
    audited_events.record_sign_in(user, "application")
    return code


def exchange_code(code: str, *, client: OAuthClient, redirect_uri: str, verifier: str) -> dict[str, object]:
    """Exchange a code for tokens. It works once: a second use ends the tokens of the first (RFC 6749, 4.1.2).

    Raises:
        OAuthError: If the code is not valid for this client, address and verifier.
    """
    with transaction.atomic():  # what a wrong use ends stays ended, so the error is raised outside
        stored = _lock_code(OAuthCode.objects.filter(hash=hash_secret(code), client=client))
        tokens = _use_code(stored, client, redirect_uri, verifier) if stored else None
    if tokens is None:
        raise OAuthError("invalid_grant", _ENDED)
    return tokens


def refresh(token: str, *, client: OAuthClient, resource: str) -> dict[str, object]:
    """Exchange a refresh token for the next pair.

    Raises:
        OAuthError: If the token is not valid for this client, was used already, or its user may not sign in any more.
    """
    claims = _decode(token, resource)
    if claims is None or claims.get("token_type") != _REFRESH or claims.get("client_id") != str(client.pk):
        raise OAuthError("invalid_grant", _ENDED)
    with transaction.atomic():
        family = refresh_tokens.use(uuid.UUID(claims["family"]), uuid.UUID(claims["jti"]))
        tokens = _next_pair(family, claims, resource) if family else None
    if tokens is None:
        raise OAuthError("invalid_grant", _ENDED)
    return tokens


def revoke(token: str, *, client: OAuthClient, resource: str) -> None:
    """End the grant that a token of this client belongs to. A token that is not valid is not an error (RFC 7009)."""
    claims = _decode(token, resource)
    if claims is None or claims.get("client_id") != str(client.pk):
        return
    family = TokenFamily.objects.select_related("user").filter(pk=claims["family"], client=client).first()
    if family is not None:
        family.delete()
        audited_events.record_sign_out(family.user, "application")


def read_access_token(token: str, *, resource: str) -> JsonObject | None:
    """Return the claims of a token; None if it is no access token for this resource. Its grant may have ended."""
    claims = _decode(token, resource)
    return claims if claims is not None and claims.get("token_type") == _ACCESS else None


@identity.run_as(identity.SIGN_IN)  # requests do not read tokens
def is_granted(user: User, grant: uuid.UUID) -> bool:
    """Return whether this grant of the user has not ended."""
    return TokenFamily.objects.filter(pk=grant, user=user.pk).exists()


def _lock_code(codes: QuerySet[OAuthCode]) -> OAuthCode | None:
    """Lock a code and, before it, its user, as `end_sign_ins` does: in another order, each could wait for the other."""
    for user_id in codes.values_list("user", flat=True):
        User.objects.select_for_update(no_key=True).get(pk=user_id)
    return codes.select_for_update(of=("self",)).select_related("user").first()


def _use_code(stored: OAuthCode, client: OAuthClient, redirect_uri: str, verifier: str) -> dict[str, object] | None:
    user = stored.user
    if stored.family is not None:
        if TokenFamily.objects.filter(pk=stored.family).delete()[0]:
            audited_events.record_token_reuse(user)
        return None
    is_proved = secrets.compare_digest(build_challenge(verifier).encode(), stored.challenge.encode())
    is_valid = is_proved and redirect_uri == stored.redirect_uri and stored.expires_at >= timezone.now()
    if not is_valid or not _may_continue(user, by_password=stored.by_password, password_digest=stored.password_digest):
        stored.delete()
        return None
    family = TokenFamily(user=user, client=client, newest_token=uuid7(), expires_at=_refresh_expiry())
    family.save(force_insert=True)
    _end_oldest_grants(user)
    stored.family = family.pk
    stored.save(update_fields=["family"])
    return _pair(family, stored.resource, by_password=stored.by_password)


def _end_oldest_grants(user: User) -> None:
    grants = TokenFamily.objects.filter(user=user, client__isnull=False).order_by("-created_at", "-pk")
    grants.filter(pk__in=list(grants.values_list("pk", flat=True)[MAX_GRANTS : MAX_GRANTS + 100])).delete()


def _next_pair(family: TokenFamily, claims: JsonObject, resource: str) -> dict[str, object] | None:
    """Return the tokens that replace the newest ones; None if the person lost access, which ends the family."""
    by_password = bool(claims.get("by_password", True))
    password_digest = claims.get(api_settings.REVOKE_TOKEN_CLAIM)
    if not _may_continue(family.user, by_password=by_password, password_digest=password_digest):
        family.delete()
        return None
    family.newest_token, family.expires_at = uuid7(), _refresh_expiry()
    family.save(update_fields=["newest_token", "expires_at"])
    if family.client is not None:
        clients.record_use(family.client)
    return _pair(family, resource, by_password=by_password)


def _may_continue(user: User, *, by_password: bool, password_digest: str | None) -> bool:
    """Return whether the authorization of the person is still valid, as POST /api/auth/token/refresh decides it.

    A new password ends it. If the session in which it was given began with a password, it also ends when the person has
    to sign in with an identity provider.
    """
    is_unchanged = user.is_active and password_digest == user.password_digest
    return is_unchanged and (not by_password or password_backend.may_use_password(user))


def _pair(family: TokenFamily, resource: str, *, by_password: bool) -> dict[str, object]:
    lifetime: datetime.timedelta = settings.SIMPLE_JWT["ACCESS_TOKEN_LIFETIME"]
    return {
        "access_token": _encode(_access_claims(family, lifetime), resource),
        "token_type": "Bearer",
        "expires_in": int(lifetime.total_seconds()),
        "refresh_token": _encode(_refresh_claims(family, by_password=by_password), resource),
        "scope": SCOPE,
    }


def _access_claims(family: TokenFamily, lifetime: datetime.timedelta) -> dict[str, object]:
    expires_at = timezone.now() + lifetime
    return {"token_type": _ACCESS, "jti": uuid7().hex, "exp": int(expires_at.timestamp()), **_shared_claims(family)}


def _refresh_claims(family: TokenFamily, *, by_password: bool) -> dict[str, object]:
    claims = {"token_type": _REFRESH, "jti": family.newest_token.hex, "by_password": by_password}
    return {**claims, "exp": int(family.expires_at.timestamp()), **_shared_claims(family)}


def _shared_claims(family: TokenFamily) -> dict[str, object]:
    return {
        "sub": str(family.user_id),
        "family": family.pk.hex,
        "client_id": str(family.client_id),
        "iat": int(timezone.now().timestamp()),
        # Every token ends when the password changes, as those of POST /api/auth/token do.
        api_settings.REVOKE_TOKEN_CLAIM: family.user.password_digest,
    }


def _encode(claims: dict[str, object], resource: str) -> str:
    return str(_backend(resource).encode(claims))


def _decode(token: str, resource: str) -> JsonObject | None:
    try:
        claims = _backend(resource).decode(token)
    except TokenBackendError:
        return None
    return claims if {"sub", "jti", "family", "client_id"} <= claims.keys() else None


def _backend(resource: str) -> MultiKeyTokenBackend:
    """Return the signing keys with this audience: no API but the resource accepts the tokens (RFC 8707)."""
    backend = copy.copy(state.token_backend)
    assert isinstance(backend, MultiKeyTokenBackend)
    backend.audience = resource
    return backend


def _refresh_expiry() -> datetime.datetime:
    lifetime: datetime.timedelta = settings.SIMPLE_JWT["REFRESH_TOKEN_LIFETIME"]
    return timezone.now() + lifetime
