"""Lockout after failed sign-ins (django-axes, stored in PostgreSQL).

Failures are counted for each pair of account and IP address, and with a higher limit for each IP address. So nobody can
lock an account for users at other addresses. A known device (accounts.sign_in.known_devices) has a count of its own, so
that nobody behind the same address can lock out its user.
"""

import math

import structlog
from axes.handlers.database import AxesDatabaseHandler
from axes.handlers.proxy import AxesProxyHandler
from axes.models import AccessAttempt
from axes.signals import user_locked_out
from django.conf import settings
from django.db.models import Max, QuerySet, Sum
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from rest_framework.request import Request

from accounts.models import MAX_EMAIL_CHARACTERS, User
from ragsite.http.addresses import client_address, rate_limit_key
from ragsite.http.error_envelope import TooManyRequests, whole_seconds

from .known_devices import find_device

logger = structlog.get_logger(__name__)

# Failures of a known device are counted under the account's address, these words and the device's id.
_ON_DEVICE = " on the known device "
# The API shows it as it is, the sign-in page translated.
_LOCKED_MESSAGE = gettext_noop(
    "Too many failed attempts to sign in. Wait, or ask an administrator to release the lock."
)


class LockoutHandler(AxesDatabaseHandler):  # type: ignore[misc]  # untyped library
    """Adds a limit for each IP address, known devices, and a reset that an attacker cannot use."""

    def filter_user_attempts(
        self, request: HttpRequest | Request, credentials: dict[str, str] | None = None
    ) -> list[QuerySet[AccessAttempt]]:
        """Return the failures that count for the account, and those that count for the IP address.

        For the account these are its failures from this IP address. From a known device they are the failures of that
        device at any address, and the IP address does not count.
        """
        if find_device(request, _normalized_email(credentials)):
            name = get_account_name(request, credentials)
            return [AccessAttempt.objects.filter(username=name), AccessAttempt.objects.none()]
        by_account_and_address, by_address = super().filter_user_attempts(request, credentials)
        return [by_account_and_address, by_address]

    def get_failures(self, request: HttpRequest | Request, credentials: dict[str, str] | None = None) -> int:
        account_failures, address_failures = map(_failures, self.get_user_attempts(request, credentials))
        if address_failures >= settings.RAG_SIGN_IN_MAX_FAILURES_PER_IP:
            return max(account_failures, settings.AXES_FAILURE_LIMIT)
        return account_failures

    def reset_user_attempts(self, request: HttpRequest | Request, credentials: dict[str, str] | None = None) -> int:
        """Reset the failures of this account only: signing in elsewhere must not reset an attacker's count."""
        account_attempts, _ = self.filter_user_attempts(request, credentials)
        return int(account_attempts.delete()[0])

    def seconds_left(self, request: HttpRequest | Request, credentials: dict[str, str]) -> int:
        """Return how many seconds the lockout still lasts, at least 1."""
        account_attempts, address_attempts = self.get_user_attempts(request, credentials)
        locking = account_attempts if _failures(account_attempts) >= settings.AXES_FAILURE_LIMIT else address_attempts
        last = locking.aggregate(last=Max("attempt_time"))["last"] or timezone.now()
        return whole_seconds((last + settings.AXES_COOLOFF_TIME - timezone.now()).total_seconds())


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return int(attempts.aggregate(sum=Sum("failures_since_start", default=0))["sum"])


def is_locked(attempt: AccessAttempt) -> bool:
    """Return whether the account is locked for this IP address, or the IP address for all accounts."""
    recent = AccessAttempt.objects.filter(attempt_time__gte=timezone.now() - settings.AXES_COOLOFF_TIME)
    if _ON_DEVICE in attempt.username:
        return _failures(recent.filter(username=attempt.username)) >= int(settings.AXES_FAILURE_LIMIT)
    counting = recent.filter(ip_address=attempt.ip_address)
    if _failures(counting.filter(username=attempt.username)) >= settings.AXES_FAILURE_LIMIT:
        return True
    return bool(_failures(counting) >= settings.RAG_SIGN_IN_MAX_FAILURES_PER_IP)


def get_account_name(request: HttpRequest | Request, credentials: dict[str, str] | None) -> str:
    """Return what failures are counted under (AXES_USERNAME_CALLABLE).

    It is the canonical address of the account, and for a known device the device's id too.
    """
    email, suffix = _normalized_email(credentials), ""
    if device := find_device(request, email):
        suffix = _ON_DEVICE + device
    return email[: MAX_EMAIL_CHARACTERS - len(suffix)] + suffix


def _normalized_email(credentials: dict[str, str] | None) -> str:
    credentials = credentials or {}
    return User.objects.normalize_email(credentials.get("email") or credentials.get("username"))


def get_client_ip(request: HttpRequest | Request) -> str | None:
    """Return the IPv4 address, or IPv6 /64 network, that failures are counted for (AXES_CLIENT_IP_CALLABLE)."""
    return rate_limit_key(client_address(request))


def require_unlocked(request: Request, email: str) -> None:
    """Raise TooManyRequests if the account is locked for this IP address, or the IP address for all accounts."""
    credentials = {"email": email}
    if AxesProxyHandler.is_locked(request, credentials):
        raise TooManyRequests(_seconds_left(request, credentials), _LOCKED_MESSAGE)


def render_lockout_page(
    request: HttpRequest, response: HttpResponse | None, credentials: dict[str, str] | None
) -> HttpResponse:
    """Render the response of the sign-in page during a lockout (AXES_LOCKOUT_CALLABLE)."""
    seconds = _seconds_left(request, credentials or {})
    context = {"reason": gettext(_LOCKED_MESSAGE), "minutes": math.ceil(seconds / 60), "title": gettext("Locked")}
    page = render(request, "accounts/locked.html", context, status=429)
    page["Retry-After"] = str(seconds)
    return page


def _seconds_left(request: HttpRequest | Request, credentials: dict[str, str]) -> int:
    handler = AxesProxyHandler.get_implementation()
    assert isinstance(handler, LockoutHandler)
    return handler.seconds_left(request, credentials)


@receiver(user_locked_out)
def _log_lockout(sender: object, ip_address: str, **_: object) -> None:
    logger.warning("sign_in_locked", address=ip_address)
