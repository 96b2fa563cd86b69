"""Where a request comes from, as far as it counts for limits."""

import ipaddress

from django.http import HttpRequest
from rest_framework.request import Request


def client_address(request: Request | HttpRequest) -> str:
    """The caller's address; empty where there is none (a Unix socket)."""
    return str(request.META.get("REMOTE_ADDR", ""))


def counted_as(address: str) -> str | None:
    """What failures are counted for: an IPv4 address, or the /64 that an IPv6 address is in, which one subscriber has
    for himself. None if there is none."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False).network_address)
