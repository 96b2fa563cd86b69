"""The second factor of the admin: codes of an authenticator app (TOTP), or recovery codes (django-otp).

RAG_STAFF_OTP says whether it is off, optional or required. Only the database role of sign-in reads the devices.
"""

import base64
import hashlib
import secrets
from collections.abc import Iterable

import django_otp
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from ragsite.postgres import identity

MAX_CODE_LENGTH = 32
_RECOVERY_CODES = 10
_DIGITS = 6
WRONG_CODE = gettext_lazy(
    "This code is wrong or was already used. Wait for the next one; after several wrong codes, wait a little longer."
)
CODE_REQUIRED = gettext_lazy(
    "This account has a second factor: give the code of your authenticator app, or a recovery code."
)


def is_enabled() -> bool:
    """Return whether users can set up a second factor (RAG_STAFF_OTP)."""
    return bool(settings.RAG_STAFF_OTP != "off")


@identity.run_as(identity.SIGN_IN)
def has_second_factor(user: User) -> bool:
    """Return whether this user has confirmed a device."""
    return bool(TOTPDevice.objects.filter(user=user, confirmed=True).exists())


def is_required_to_sign_in(user: User) -> bool:
    """Return whether this user must give a code to sign in."""
    return is_enabled() and has_second_factor(user)


def must_enrol(user: User) -> bool:
    """Return whether this user must set up a second factor before they can use the admin."""
    return settings.RAG_STAFF_OTP == "required" and user.is_staff and not has_second_factor(user)


def is_verified(user: User | AnonymousUser) -> bool:
    """Return whether the signed-in user of this session has also passed the second factor, if one is required."""
    if not is_enabled() or getattr(user, "otp_device", None):
        return True
    return isinstance(user, User) and not has_second_factor(user) and not must_enrol(user)


@identity.run_as(identity.SIGN_IN)
def mark_verified_by_provider(request: HttpRequest, user: User) -> None:
    """Treat the second factor of a session as passed, because an identity provider has decided about it."""
    if device := TOTPDevice.objects.filter(user=user, confirmed=True).first():
        django_otp.login(request, device)


def complete_sign_in(request: HttpRequest, user: User, code: str) -> bool:
    """Check the code, and mark the session as signed in with the second factor. Returns whether it is right."""
    device = verify(user, code)
    if device is None:
        return False
    request.session.cycle_key()
    django_otp.login(request, device)
    return True


@identity.run_as(identity.SIGN_IN)
def verify(user: User, code: str) -> Device | None:
    """Return the device that this code belongs to; None if it is wrong, used, or follows too many wrong ones."""
    code = "".join(code.split()).lower()
    is_recovery = len(code) != _DIGITS
    model = StaticDevice if is_recovery else TOTPDevice
    with transaction.atomic():
        for device in model.objects.filter(user=user, confirmed=True).select_for_update():
            if device.verify_token(_digest(code) if is_recovery else code):
                return device
    return None


@identity.run_as(identity.SIGN_IN)
def get_or_create_unconfirmed(user: User) -> TOTPDevice:
    """Return the device that the user has yet to confirm. It stays the same until then."""
    waiting = TOTPDevice.objects.filter(user=user, confirmed=False).first()
    return waiting or TOTPDevice.objects.create(user=user, name="authenticator app", confirmed=False)


@identity.run_as(identity.SIGN_IN)
def confirm(user: User, code: str) -> TOTPDevice | None:
    """Activate the unconfirmed device. Returns None if the code is wrong, or a device is active already."""
    with transaction.atomic():
        User.objects.select_for_update().get(pk=user.pk)  # serialises concurrent requests
        device = TOTPDevice.objects.filter(user=user, confirmed=False).select_for_update().first()
        if has_second_factor(user) or device is None or not device.verify_token("".join(code.split())):
            return None
        device.confirmed = True
        device.save(update_fields=["confirmed"])
        return device


@identity.run_as(identity.SIGN_IN)
def renew_recovery_codes(user: User) -> list[str]:
    """Replace the user's recovery codes. Each works once. They are shown now and stored as hashes."""
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(_RECOVERY_CODES)]
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=user.pk)  # else two requests at once would both add codes
        StaticDevice.objects.filter(user=user).delete()
        device = StaticDevice.objects.create(user=user, name="recovery codes", confirmed=True)
        for code in codes:
            device.token_set.create(token=_digest(code))
    return codes


@identity.run_as(identity.SIGN_IN)
def remove(users: Iterable[User]) -> None:
    """Remove the second factor of these users, for example after they lost the device."""
    for model in (TOTPDevice, StaticDevice):
        model.objects.filter(user__in=users).delete()


def _digest(code: str) -> str:
    """Hash a recovery code. It has 80 random bits, so a fast hash is enough. The column holds 16 characters."""
    return base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()[:16]
