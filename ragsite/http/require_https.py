"""Refuses credentials that crossed a network unencrypted."""

import ipaddress

from django.conf import settings
from django.http import HttpRequest
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request


def require_https(request: Request | HttpRequest) -> None:
    """Raise PermissionDenied unless the request came over HTTPS or from loopback, or DEBUG is on."""
    if settings.DEBUG or request.is_secure() or is_loopback(request.META.get("REMOTE_ADDR", "")):
        return
    raise PermissionDenied("This credential was sent over plain HTTP. Send it over HTTPS, and replace it.")


def is_loopback(address: str) -> bool:
    """Return whether REMOTE_ADDR is this machine. It is empty for a Unix socket, whose peer is always local."""
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return address == ""
