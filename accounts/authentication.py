"""How a request shows who is calling: a JWT access token (docs/contracts/authentication.md)."""

import ipaddress
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework_simplejwt.authentication import JWTAuthentication
from rest_framework_simplejwt.exceptions import InvalidToken

from ragsite.postgres import identity

from .models import User


class AccessTokenAuthentication(JWTAuthentication):
    """`Authorization: Bearer <jwt>`. A credential that crossed a network in clear text is refused, not used."""

    def authenticate(self, request: Request) -> Any:
        found = super().authenticate(request)
        if found is not None:
            refuse_clear_text(request)
            identity.assume_caller(found[0].pk)
        return found

    def get_validated_token(self, raw_token: bytes) -> Any:
        try:
            return super().get_validated_token(raw_token)
        except InvalidToken:
            raise InvalidToken(
                "This access token is not valid, or not any more: get a new one from POST /api/auth/token, "
                "or from POST /api/auth/token/refresh with your refresh token."
            ) from None


def caller(request: Request) -> User:
    """Who is asking: the permission classes have let nobody else through."""
    assert isinstance(request.user, User)
    return request.user


def refuse_clear_text(request: Request | HttpRequest) -> None:
    """Raise PermissionDenied unless the request came by HTTPS, from loopback, or DEBUG is on."""
    if settings.DEBUG or request.is_secure() or is_loopback(request.META.get("REMOTE_ADDR", "")):
        return
    raise PermissionDenied("This credential was sent over plain HTTP. Send it over HTTPS, and replace it.")


def is_loopback(address: str) -> bool:
    """Whether REMOTE_ADDR is this machine."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # a Unix socket has no address: its peer is on this machine
        return address == ""
