"""Access without a credential, to the organisation that RAG_ANONYMOUS_ORG names (docs/contracts/authentication.md)."""

import re

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from accounts.models import User
from orgs import creation
from orgs.access.caller import Caller

from .api_key_header import read_credential_headers
from .base import authenticated

_OPEN_PATHS = re.compile(r"/api/(rag|chat)(/|$)")


class AnonymousOrganizationAuthentication(BaseAuthentication):
    """Runs a request without any credential as the service user of RAG_ANONYMOUS_ORG, below /api/rag and /api/chat."""

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:
        slug = settings.RAG_ANONYMOUS_ORG
        if not slug or not _OPEN_PATHS.match(request.path) or any(read_credential_headers(request)):
            return None
        if not _is_allowed_origin(request):
            return None
        user = creation.get_service_user(slug)
        return authenticated(Caller(user)) if user else None


def _is_allowed_origin(request: Request) -> bool:
    """Return whether the request comes from this site, from a program, or from an origin in CORS_ALLOWED_ORIGINS.

    Otherwise every page that a user opens in a browser on this network could query the organisation and read the
    answers.
    """
    origin = request.headers.get("Origin")
    this_site = f"{request.scheme}://{request.get_host()}"
    return origin is None or origin == this_site or origin in settings.CORS_ALLOWED_ORIGINS
