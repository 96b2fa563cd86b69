"""The token of an organisation's directory: it is shown once, and only its hash is stored."""

import re
import secrets

from django.contrib.auth.models import AnonymousUser
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from orgs.authentication.last_use import record_use
from orgs.models import ScimToken
from orgs.models.scim import PREFIX_CHARACTERS
from ragsite.http.require_https import require_https
from ragsite.postgres import identity
from ragsite.postgres.credential_fields import hash_secret

_PATTERN = re.compile(r"scim_[A-Za-z0-9_-]{43}")


def set_new_secret(row: ScimToken) -> str:
    """Set a new secret and return it. Does not save; once saved, the old secret no longer works."""
    secret = f"scim_{secrets.token_urlsafe(32)}"
    row.prefix, row.hash = secret[:PREFIX_CHARACTERS], hash_secret(secret)
    row.last_used_at = None
    return secret


class ScimAuthentication(BaseAuthentication):
    """`Authorization: Bearer scim_…`. The caller is the directory and no user."""

    def authenticate(self, request: Request) -> tuple[AnonymousUser, ScimToken] | None:
        kind, _, secret = request.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer":
            return None
        require_https(request)
        secret = secret.strip()
        with identity.run_as(identity.SIGN_IN):
            row = _find_and_note_use(secret) if _PATTERN.fullmatch(secret) else None
        if row is None:
            raise AuthenticationFailed("This SCIM token is invalid, or was replaced.")
        # Creates accounts and changes memberships, as pages of the admin do. The code limits it to the organisation.
        identity.set_current(identity.STAFF)
        return AnonymousUser(), row

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="scim"'


def _find_and_note_use(secret: str) -> ScimToken | None:
    rows = ScimToken.objects.select_related("organization")
    row: ScimToken | None = rows.filter(
        hash=hash_secret(secret), organization__is_active=True, organization__deleted_at=None
    ).first()
    if row is not None:
        record_use(row)
    return row
