"""Who is calling, beside access tokens (accounts.authentication): API keys, and nobody at all (docs/contracts/authentication.md)."""

import re

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from accounts.authentication import refuse_clear_text
from accounts.models import User
from orgs import audit_registry, services
from ragsite.http.client_address import client_address
from ragsite.postgres import identity

from . import service
from .service import ApiKey

_OPEN_PATHS = re.compile(r"/api/(rag|chat)(/|$)")


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer rk_…`, `X-API-Key: rk_…`, or `apikey: rk_…`; request.auth is then the ApiKey.

    A bearer of another kind is left to the access tokens, and no other header is read beside it.
    """

    def authenticate(self, request: Request) -> tuple[User, ApiKey] | None:
        secret = _presented_key(request)
        if not secret:
            return None
        try:
            refuse_clear_text(request)
        except PermissionDenied:
            service.flag(secret)
            raise
        address = client_address(request)
        key = service.find_usable(secret, address=address)
        if key is None:
            if known := service.find_refused(secret, address=address):
                audit_registry.key_refused(*known)
            raise AuthenticationFailed("This API key is not valid, or not any more.")
        service.note_use(key)
        identity.assume_caller(key.user_id, key.pk)
        return key.user, key

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="api"'


class AnonymousOrganizationAuthentication(BaseAuthentication):
    """With RAG_ANONYMOUS_ORG, a request without any credential acts as that organisation's service user, below
    /api/rag and /api/chat only."""

    def authenticate(self, request: Request) -> tuple[User, None] | None:
        slug = settings.RAG_ANONYMOUS_ORG
        if not slug or not _OPEN_PATHS.match(request.path) or any(_credential_headers(request)):
            return None
        if not _is_from_here(request):
            return None
        user = services.service_user(slug)
        if user is None:
            return None
        identity.assume_caller(user.pk)
        return user, None


def _is_from_here(request: Request) -> bool:
    """Not by a page of another origin, unless the operator named it: else every page that somebody opens in a browser
    beside this server could ask it, and read what it answers."""
    origin = request.headers.get("Origin")
    own = f"{request.scheme}://{request.get_host()}"
    return origin is None or origin == own or origin in settings.CORS_ALLOWED_ORIGINS


def _credential_headers(request: Request) -> tuple[str, str, str]:
    authorization, own, supabase = (
        request.headers.get(name, "").strip() for name in ("Authorization", "X-API-Key", "apikey")
    )
    return authorization, own, supabase


def _presented_key(request: Request) -> str:
    """The credential to be judged as an API key; empty if there is none, or an access token comes first."""
    authorization, own, supabase = _credential_headers(request)
    kind, _, credential = authorization.partition(" ")
    if kind.lower() == "bearer":
        credential = credential.strip()
        return credential if credential.startswith(service.PREFIX) else ""
    if own:
        return own
    # supabase-js always sends this one; beside an Authorization it may be a key of another service.
    return supabase if supabase.startswith(service.PREFIX) or not authorization else ""
