"""The budget of password checks. One takes more than half a second of CPU time, so only a few run at a time."""

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.contrib.auth import get_backends
from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from accounts.models import User
from ragsite.http.addresses import client_address, rate_limit_key
from ragsite.http.errors import Unavailable

_MAX_WAIT_SECONDS = 2.0


class TooManyPasswordChecks(Unavailable):
    """No slot became free in time. This is no failed attempt, and depends neither on the account nor the password."""

    # The API shows it as it is, the sign-in page translated.
    default_detail = gettext_noop("Too many people sign in at the moment. Try again in a few seconds.")


class PasswordCheckLimiter:
    """Counts the password checks of a process that are in flight (waiting or running), by network address.

    With N for RAG_MAX_PASSWORD_CHECKS, N run at a time, and half of them for one address. Of one address N are in
    flight, and of all together 3 N, so that waiting sign-ins leave threads to other requests.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.in_flight: Counter[str | None] = Counter()
        self._running: Counter[str | None] = Counter()

    @contextlib.contextmanager
    def slot(self, address: str | None) -> Iterator[None]:
        """Wait for a slot, and hold it while the block runs.

        Raises:
            TooManyPasswordChecks: There are too many already, or no slot became free in time.
        """
        self._enter(address)
        try:
            yield
        finally:
            with self._changed:
                _decrement(self._running, address)
                _decrement(self.in_flight, address)
                self._changed.notify_all()

    def _enter(self, address: str | None) -> None:
        limit = settings.RAG_MAX_PASSWORD_CHECKS
        with self._changed:
            if self.in_flight[address] >= limit or self.in_flight.total() >= 3 * limit:
                raise TooManyPasswordChecks
            self.in_flight[address] += 1
            if not self._changed.wait_for(lambda: self._is_free(address), _MAX_WAIT_SECONDS):
                _decrement(self.in_flight, address)
                raise TooManyPasswordChecks
            self._running[address] += 1

    def _is_free(self, address: str | None) -> bool:
        limit = settings.RAG_MAX_PASSWORD_CHECKS
        return bool(self._running.total() < limit) and self._running[address] < max(1, limit // 2)


def _decrement(counter: Counter[str | None], address: str | None) -> None:
    counter[address] -= 1
    if not counter[address]:
        del counter[address]


PASSWORD_CHECKS = PasswordCheckLimiter()


class PasswordBackend(ModelBackend):
    """Django's check of a password, within the budget. It comes after the check of lockouts (axes)."""

    # The base class has parameters of its own for the user name and the password.
    def authenticate(self, request: HttpRequest | None, **credentials: Any) -> Any:  # type: ignore[override]
        address = rate_limit_key(client_address(request)) if request else None
        with PASSWORD_CHECKS.slot(address):
            return super().authenticate(request, **credentials)


def may_use_password(user: User) -> bool:
    """Return whether the right password lets this user in."""
    return any(
        isinstance(backend, PasswordBackend) and backend.user_can_authenticate(user) for backend in get_backends()
    )
