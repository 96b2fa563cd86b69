"""Sign-in with a password. A check takes more than half a second of CPU time, so only a few run at a time."""

from typing import Any

from django.conf import settings
from django.contrib.auth import get_backends
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from accounts.models import User
from ragsite.http.addresses import client_address, rate_limit_key
from ragsite.http.error_envelope import Unavailable
from ragsite.http.fair_slots import FairSlots

_MAX_WAIT_SECONDS = 2.0


class TooManyPasswordChecks(Unavailable):
    """No slot became free in time. It is not a failed attempt, and depends neither on account nor password."""

    # The API shows it as it is, the sign-in page translated.
    default_detail = gettext_noop("Too many people sign in at the moment. Try again in a few seconds.")


# By network address.
PASSWORD_CHECKS = FairSlots(
    lambda: settings.RAG_MAX_PASSWORD_CHECKS, TooManyPasswordChecks, max_wait_seconds=_MAX_WAIT_SECONDS
)


class PasswordBackend(ModelBackend):
    """Django's check of a password, when a slot is free. It comes after the check of lockouts (axes)."""

    # The base class has parameters of its own for the user name and the password.
    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> AbstractBaseUser | None:  # type: ignore[override]
        address = rate_limit_key(client_address(request)) if request else None
        with PASSWORD_CHECKS.slot(address):
            return super().authenticate(request, **credentials)


def may_use_password(user: User) -> bool:
    """Return whether the right password lets this user in."""
    return any(
        isinstance(backend, PasswordBackend) and backend.user_can_authenticate(user) for backend in get_backends()
    )
