"""Refuses passwords of people whose organisation requires single sign-on, and sessions that began with a password."""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.models import User
from accounts.sign_in import password_backend
from orgs.models import IdentityProvider, Membership
from ragsite.postgres import identity


def providers_enforced_for(user: User) -> QuerySet[IdentityProvider]:
    """Return the providers one of which the user must sign in with; none if a password is right too.

    Only the organisation that owns the domain of the user's address requires its provider. No other provider could sign
    them in, and any organisation can invite them.
    """
    providers: QuerySet[IdentityProvider] = IdentityProvider.objects.all()
    if user.is_superuser:
        return providers.none()
    organizations = Membership.objects.active_for(user).values("organization")
    enforced = providers.filter(
        is_active=True,
        is_enforced=True,
        organization__in=organizations,
        organization__sign_in_domains__domain=user.email.rpartition("@")[2],
        organization__sign_in_domains__verified_at__isnull=False,
    )
    return enforced.exclude(emergency_user=user)


class PasswordBackend(password_backend.PasswordBackend):
    """Refuses the right password of somebody who has to use single sign-on, as if it was wrong.

    Another response would tell an attacker that the password is right. Sessions and refresh tokens that began with the
    password are refused too, from the moment at which single sign-on is required of the person.
    """

    @identity.run_as(identity.SIGN_IN)
    def user_can_authenticate(self, user: Any) -> bool:
        """Return whether a password lets the user in. Django asks this at sign-in and in each request of a session."""
        return bool(super().user_can_authenticate(user)) and not providers_enforced_for(user).exists()


class SingleSignOnBackend(ModelBackend):
    """Reads the account of a session that a provider has begun. It accepts no password."""

    def authenticate(self, request: HttpRequest | None, **credentials: object) -> object:  # type: ignore[override]
        return None
