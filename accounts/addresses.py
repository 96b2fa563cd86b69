"""The address that a request came from."""

import ipaddress
from collections.abc import Iterable

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A Unix socket has no address: its peer is on this machine.
_THIS_MACHINE = "127.0.0.1"


def client_address(request: Request | HttpRequest) -> Address | None:
    """The connection's own peer; behind proxies that TRUSTED_PROXIES names, the nearest address before them that
    X-Forwarded-For tells. None where that is no address: it belongs to no network."""
    nearest = _read(request.META.get("REMOTE_ADDR") or _THIS_MACHINE)
    told = request.META.get("HTTP_X_FORWARDED_FOR", "")
    # The last entry is the nearest proxy's own word; what stands further left anybody may have sent.
    for entry in reversed(told.split(",") if told else []):
        if not is_within(nearest, settings.TRUSTED_PROXIES):
            break
        nearest = _read(entry.strip())
    return nearest


def is_within(address: Address | None, networks: Iterable[str]) -> bool:
    """Whether it is in one of the networks, which are in CIDR notation."""
    return address is not None and any(address in ipaddress.ip_network(each) for each in networks)


def _read(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
