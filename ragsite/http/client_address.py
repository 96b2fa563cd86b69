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
    """The connection's own peer; behind proxies that RAG_TRUSTED_PROXIES names, the nearest address before them that
    X-Forwarded-For tells. None where that is no address: it belongs to no network."""
    nearest = parse_address(request.META.get("REMOTE_ADDR") or _THIS_MACHINE)
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    # The last entry is the nearest proxy's own word; what stands further left anybody may have sent.
    for entry in reversed(forwarded_for.split(",") if forwarded_for else []):
        if not is_within(nearest, settings.RAG_TRUSTED_PROXIES):
            break
        nearest = parse_address(entry.strip())
    return nearest


def is_within(address: Address | None, networks: Iterable[str]) -> bool:
    """Whether it is in one of the networks, which are in CIDR notation."""
    return address is not None and any(address in ipaddress.ip_network(network) for network in networks)


def rate_limit_key(address: Address | None) -> str | None:
    """What failures are counted for: an IPv4 address, or the /64 that an IPv6 address is in, which one subscriber has
    for himself. None if there is none."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return str(address) if address else None


def parse_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])  # without the zone of a link-local one
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
