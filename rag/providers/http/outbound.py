"""Where a process may connect to at the word of a row: not into the private network behind it, unless the operator
allows it (RAG_ALLOWED_PRIVATE_HOSTS).

Looked at when connecting, and the address that was looked at is the one connected to: a name that resolves to something
else a moment later gains nothing. Through a proxy of the environment (HTTPS_PROXY) the proxy decides.
"""

import contextlib
import ipaddress
import socket
import time
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore2
import httpx2
from django.conf import settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Public by their range and yet a cloud's own services for its machines: Azure's.
_OF_CLOUDS = {ipaddress.ip_address("168.63.129.16")}
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_IPV4_WITHIN_IPV6 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenAddress(httpx2.ConnectError):
    """The message says which host, and what to do."""

    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} is an address within a private network. If it is meant, name it in RAG_ALLOWED_PRIVATE_HOSTS."
        )


def require_allowed(url: str) -> None:
    """Raise ForbiddenAddress if the URL's host is at a private address now. A name that nobody knows passes."""
    parts = urlsplit(url)
    with contextlib.suppress(OSError, ValueError):
        _allowed(parts.hostname or "", parts.port or 443)


def _allowed(host: str, port: int) -> list[str]:
    """The addresses of the host. Raises ForbiddenAddress if one of them is refused, and OSError for an unknown name."""
    found = dict.fromkeys(str(each[4][0]) for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    if not all(_is_allowed(host, ipaddress.ip_address(address.partition("%")[0])) for address in found):
        raise ForbiddenAddress(host)
    return list(found)


def _is_allowed(host: str, address: Address) -> bool:
    address = _inner(address)
    is_public = address.is_global and not address.is_multicast and address not in _OF_CLOUDS
    if is_public and (address.version == 4 or address in _GLOBAL_UNICAST):
        return True
    return any(_names(entry, host, address) for entry in settings.RAG_ALLOWED_PRIVATE_HOSTS)


def _inner(address: Address) -> Address:
    """What an IPv6 address that only wraps an IPv4 one leads to."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _IPV4_WITHIN_IPV6:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, address))[1]


def _names(entry: str, host: str, address: Address) -> bool:
    try:
        return address in ipaddress.ip_network(entry, strict=False)
    except ValueError:
        return entry.lower() == host.lower().rstrip(".")


class _Guarded(httpcore2.SyncBackend):
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        try:
            addresses = _allowed(host, port)
        except OSError as error:
            raise httpcore2.ConnectError("The name is not known.") from error
        deadline = time.monotonic() + timeout if timeout is not None else None
        for number, address in enumerate(addresses, start=1):
            left = max(0.01, deadline - time.monotonic()) if deadline is not None else None
            try:
                return super().connect_tcp(address, port, left, local_address, socket_options)
            except httpcore2.ConnectError:
                if number == len(addresses):
                    raise
        raise httpcore2.ConnectError("The name has no address.")


class Transport(httpx2.HTTPTransport):
    """Connects to allowed addresses only."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._pool._network_backend = _Guarded()  # httpx2 has no parameter for it
