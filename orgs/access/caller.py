"""The caller of an operation: who acts, and with which credential."""

import uuid
from dataclasses import dataclass

from django.http import HttpRequest
from rest_framework.request import Request

from accounts.models import User
from orgs.models import AnyUser, ApiKey, Organization
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity


@dataclass(frozen=True, slots=True)
class Caller:
    """Who acts, created at authentication and passed to every access decision.

    Attributes:
        user: The account that acts. `AnonymousUser` sees nothing.
        key: The API key that authenticated the request. It narrows what the user may do. None for access tokens,
            sessions, commands and tests.
        organization: The organisation that the credential writes to, which is the key's. None if the caller may write
            to every organisation of the user.
        grant: The id of the grant by which a program acts for the user (accounts.oauth); None without one.
    """

    user: AnyUser
    key: ApiKey | None = None
    organization: Organization | None = None
    grant: uuid.UUID | None = None

    @classmethod
    def from_key(cls, key: ApiKey) -> "Caller":
        """Return the user of this API key, within the key's limits."""
        return cls(key.user, key, key.organization)

    @property
    def authenticated_user(self) -> User:
        """The account behind a request that the permission classes let through, which is never anonymous."""
        assert isinstance(self.user, User)
        return self.user

    @property
    def only_organization(self) -> Organization | None:
        """The only organisation that the credential may read. None if it may read every organisation of the user."""
        return None if self.key is None or self.key.all_organizations else self.key.organization

    @property
    def key_prefix(self) -> str:
        """The visible part of the API key; empty without a key. The audit trail records it."""
        return self.key.prefix if self.key else ""

    @property
    def database_identity(self) -> Identity:
        """The identity that row-level security applies to this caller's transactions."""
        return identity.of_user(self.user.pk, self.key.pk if self.key else None)


def get_caller(request: Request | HttpRequest) -> Caller:
    """Return the caller of a request.

    API requests carry the caller that authentication created, as `request.auth`. Pages of the admin have a session
    instead of a credential: there the signed-in user is the caller.
    """
    auth = getattr(request, "auth", None)
    return auth if isinstance(auth, Caller) else Caller(request.user)
