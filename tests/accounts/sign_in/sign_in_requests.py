"""Sign-ins over the token endpoint and the admin."""

import time
from typing import Any

from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from tests.support.factories import PASSWORD

LOCAL_IP, OTHER_IP = "127.0.0.1", "127.0.0.2"


def request_token(email: str, password: str = PASSWORD, *, address: str = LOCAL_IP, **fields: str) -> Any:
    body = {"email": email, "password": password, **fields}
    return Client().post("/api/auth/token", body, content_type="application/json", REMOTE_ADDR=address)


def sign_in(email: str, password: str = PASSWORD, *, client: Client | None = None, **fields: str) -> Any:
    values = {"username": email, "password": password, "next": "/admin/", **fields}
    return (client or Client()).post("/admin/login/", values)


def current_totp(user: User, *, steps: int = 0) -> str:
    """The code that the authenticator app shows that many steps from now. Each code works once."""
    device = TOTPDevice.objects.get(user=user)
    totp = TOTP(device.bin_key, device.step, device.t0, device.digits)
    totp.time = time.time() + steps * device.step
    return f"{totp.token():06}"
