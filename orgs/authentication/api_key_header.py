"""Authentication by API key (docs/contracts/authentication.md)."""

import re

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.models import User
from orgs import audited_events
from orgs.access.caller import Caller
from orgs.api_keys import check_key
from ragsite.http.addresses import client_address
from ragsite.http.require_https import require_https
from ragsite.postgres import identity

from .base import authenticated
from .last_use import record_use

_INVALID = (
    "This API key is invalid, expired or revoked. Create another one on the page of your account, or with "
    "POST /api/auth/keys and an access token."
)
_WRONG_HEADER = (
    "This is an access token and not an API key, which begins with rk_. Send it as `Authorization: Bearer <token>`."
)
# The header of a JSON Web Token begins with {" in base64url.
_TOKEN = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer rk_…`, `X-API-Key: rk_…` or `apikey: rk_…`.

    A bearer credential of another form is left to the access tokens; the other headers are then ignored.
    """

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        secret = _find_key(request)
        if not secret:
            return None
        try:
            require_https(request)
        except PermissionDenied:
            check_key.flag_insecure_use(secret)
            raise
        key, reason = check_key.find(secret, address=client_address(request)) or (None, None)
        if key and reason:
            with identity.run_as(identity.SIGN_IN):
                audited_events.record_refused_key(key, reason)
        if key is None or reason:
            raise AuthenticationFailed(_WRONG_HEADER if _is_token(secret) else _INVALID)
        result = authenticated(Caller.from_key(key))
        record_use(key)
        return result

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


def _is_token(credential: str) -> bool:
    """Return whether the credential has the form of an access token. Its signature is not checked here."""
    return _TOKEN.fullmatch(credential.removeprefix("Bearer ").strip()) is not None


def read_credential_headers(request: Request) -> tuple[str, str, str]:
    """Return the values of Authorization, X-API-Key and apikey, in this order; empty for a header that is missing."""
    authorization, api_key, supabase_key = (
        request.headers.get(name, "").strip() for name in ("Authorization", "X-API-Key", "apikey")
    )
    return authorization, api_key, supabase_key


def _find_key(request: Request) -> str:
    """Return the credential to check as an API key; empty if there is none, or if an access token comes first."""
    authorization, api_key, supabase_key = read_credential_headers(request)
    kind, _, credential = authorization.partition(" ")
    if kind.lower() == "bearer":
        credential = credential.strip()
        return credential if credential.startswith(check_key.PREFIX) else ""
    if api_key:
        return api_key
    # supabase-js always sends this header; beside an Authorization it may hold a key of another service.
    return supabase_key if supabase_key.startswith(check_key.PREFIX) or not authorization else ""
