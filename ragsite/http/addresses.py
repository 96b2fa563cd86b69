"""The IP address that a request came from, and the product's public URL."""

import ipaddress
from collections.abc import Iterable

import structlog
from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request

logger = structlog.get_logger(__name__)

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# A Unix socket has no address: its peer is on this machine.
_THIS_MACHINE = "127.0.0.1"


def client_address(request: Request | HttpRequest) -> Address | None:
    """Return the IP address of the client that sent the request.

    This is the connection's peer. If the peer is a trusted proxy (RAG_TRUSTED_PROXIES), it is the last entry of
    X-Forwarded-For that is not a trusted proxy. None if that entry is no IP address; it then matches no network.
    """
    nearest = parse_address(request.META.get("REMOTE_ADDR") or _THIS_MACHINE)
    forwarded_for = request.META.get("HTTP_X_FORWARDED_FOR", "")
    if forwarded_for and not is_within(nearest, settings.RAG_TRUSTED_PROXIES):
        _warn_once(nearest)
    # The nearest proxy wrote the last entry. A client can forge the entries before the trusted ones.
    for entry in reversed(forwarded_for.split(",") if forwarded_for else []):
        if not is_within(nearest, settings.RAG_TRUSTED_PROXIES):
            break
        nearest = parse_address(entry.strip())
    return nearest


_has_warned = False


def _warn_once(peer: Address | None) -> None:
    """Log once for each process that X-Forwarded-For is ignored: perhaps the peer is a proxy that is not configured."""
    global _has_warned
    if _has_warned:
        return
    _has_warned = True
    hint = "If this is the address of your proxy, add it to RAG_TRUSTED_PROXIES."
    logger.warning("forwarded_for_ignored", peer=str(peer), hint=hint)


def is_within(address: Address | None, networks: Iterable[str]) -> bool:
    """Return whether the address is in one of the networks (CIDR notation)."""
    return address is not None and any(address in ipaddress.ip_network(network) for network in networks)


def rate_limit_key(address: Address | None) -> str | None:
    """Return the key that requests and failures of a client are counted under; None without an address.

    It is the IPv4 address, or the /64 network of an IPv6 address, because one subscriber has a whole /64.
    """
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False).network_address)
    return str(address) if address else None


def parse_address(text: str) -> Address | None:
    """Parse an IP address, without the zone of a link-local one. An IPv4-mapped IPv6 address becomes IPv4.

    Returns:
        None if the text is no IP address.
    """
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def build_public_url(request: HttpRequest, path: str) -> str:
    """Return the URL of a path for a message.

    A request names its own host, and a link with a token must not lead to a host that a stranger has chosen.
    Therefore RAG_PUBLIC_URL decides; without it, as in `make run`, the request does.
    """
    if settings.RAG_PUBLIC_URL:
        return str(settings.RAG_PUBLIC_URL).rstrip("/") + path
    return request.build_absolute_uri(path)
