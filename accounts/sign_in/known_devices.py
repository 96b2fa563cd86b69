"""Known devices: after a sign-in, a cookie names the account and the device.

A lock of the network address does not apply to them, so somebody who fails on purpose locks out strangers only. The
cookie signs nobody in. It is signed, and ends with the account's password or after 90 days (OWASP: device cookies).
"""

import secrets
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request

from accounts.models import User

COOKIE = "ragsite_device"
_LIFETIME = timedelta(days=90)
_ID_BYTES = 12


def remember(response: HttpResponseBase, user: User) -> None:
    """Set the cookie in the response to a sign-in. Each sign-in gives the device a new id."""
    values = [str(user.pk), secrets.token_urlsafe(_ID_BYTES), _password_mac(user)]
    response.set_cookie(
        COOKIE,
        signing.dumps(values, salt=COOKIE),
        max_age=_LIFETIME,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Strict",
    )


def find_device(request: HttpRequest | Request, email: str) -> str | None:
    """Return the id of the request's device, if the account with this normalised e-mail address has used it before.

    The account is looked up by the cookie, so the duration does not reveal whether the address has an account.
    """
    cookie = request.COOKIES.get(COOKIE)
    if not cookie:
        return None
    try:
        user_id, device, password_mac = signing.loads(cookie, salt=COOKIE, max_age=_LIFETIME)
    except signing.BadSignature:
        return None
    user = User.objects.filter(pk=user_id, is_active=True).first()
    if user is None or user.email != email or not constant_time_compare(password_mac, _password_mac(user)):
        return None
    return str(device)


def _password_mac(user: User) -> str:
    """Return a value that changes with the password and does not reveal its hash."""
    return salted_hmac(COOKIE, user.password, algorithm="sha256").hexdigest()
