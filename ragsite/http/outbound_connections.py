"""Connections to other servers, with deadlines, and none to private networks if the address comes from the database.

Otherwise anyone who can enter an address could make this server send requests to internal services (server-side
request forgery).

The operator allows hosts with RAG_ALLOWED_PRIVATE_HOSTS for models, which superusers enter, and with
RAG_WEBHOOK_PRIVATE_HOSTS, RAG_SIGN_IN_PRIVATE_HOSTS and RAG_SYNC_PRIVATE_HOSTS for webhooks, identity providers and
syncs, which organisations enter. Users can read what a sync fetches, so its setting names the organisation of each
host. The address is checked while connecting, and the checked address is the one connected to, so that DNS rebinding
does not help. With a proxy (HTTPS_PROXY) the proxy decides.
"""

import contextlib
import functools
import ipaddress
import os
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Self
from urllib.parse import urlsplit

import httpcore2
import httpx2
from django.conf import settings
from django.utils.translation import gettext

# The settings that name the private hosts that are allowed.
MODEL_HOSTS, WEBHOOK_HOSTS = "RAG_ALLOWED_PRIVATE_HOSTS", "RAG_WEBHOOK_PRIVATE_HOSTS"
SIGN_IN_HOSTS, SYNC_HOSTS = "RAG_SIGN_IN_PRIVATE_HOSTS", "RAG_SYNC_PRIVATE_HOSTS"
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
# Services of clouds for their machines: Azure's, whose address is in a public range, and Oracle's, whose range only
# newer versions of Python call private.
_CLOUD_SERVICES = (ipaddress.ip_network("168.63.129.16/32"), ipaddress.ip_network("192.0.0.0/24"))
_UNKNOWN_HOST = "Unknown host name."
_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_IPV4_WITHIN_IPV6 = ipaddress.ip_network("64:ff9b::/96")


class ForbiddenAddress(httpx2.ConnectError):
    """The host has a private address. The message names the host and says what to do."""

    def __init__(self, host: str, setting: str) -> None:
        text = gettext("{host} is an address within a private network. To allow it, add it to {setting}.")
        super().__init__(text.format(host=host, setting=setting))


def explain(error: Exception) -> str:
    """Return why a server could not be reached, for those who entered its address."""
    text = str(error)
    reasons = {
        _UNKNOWN_HOST: "there is no host of this name",
        "Connection refused": "it refuses connections at this port",
        "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted",
    }
    return next((reason for part, reason in reasons.items() if part in text), type(error).__name__)


def allowed_hosts(setting: str, organization_slug: str = "") -> list[str]:
    """Return the private hosts, addresses and networks that a setting allows.

    Args:
        setting: Its name.
        organization_slug: The organisation that has entered the address, if the setting names organisations.
    """
    entries: list[str] | dict[str, list[str]] = getattr(settings, setting)
    return [*entries.get("*", ()), *entries.get(organization_slug, ())] if isinstance(entries, dict) else list(entries)


def check_allowed(url: str, *, setting: str = MODEL_HOSTS, organization_slug: str = "") -> None:
    """Check the addresses to which the URL's host resolves now. An unknown host passes.

    Raises:
        ForbiddenAddress: If the host has a private address.
    """
    parts = urlsplit(url)
    with contextlib.suppress(OSError, ValueError):
        _resolve(parts.hostname or "", parts.port or 443, setting, organization_slug)


def check_scheme(url: str, *, setting: str, error: type[Exception]) -> None:
    """Raise `error` unless the URL is HTTPS, or HTTP to a host that the setting names."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        raise error("The address is not a valid URL.") from None
    if parts.scheme == "https" and host:
        return
    if parts.scheme != "http" or host not in allowed_hosts(setting):
        raise error(f"The address must begin with https://, or its host must be in {setting}.")


def _resolve(host: str, port: int, setting: str, organization_slug: str) -> list[str]:
    """Return the addresses of the host.

    Raises:
        ForbiddenAddress: If one of the addresses is refused.
        OSError: If the host is unknown.
    """
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in entries)
    allowed = allowed_hosts(setting, organization_slug)
    parsed = [ipaddress.ip_address(address.partition("%")[0]) for address in addresses]
    if not all(_is_allowed(host, address, setting, allowed) for address in parsed):
        raise ForbiddenAddress(host, setting)
    return list(addresses)


def _is_allowed(host: str, address: Address, setting: str, entries: Iterable[str]) -> bool:
    address = _unwrap(address)
    is_public = address.is_global and not address.is_multicast
    is_public = is_public and not any(address in network for network in _CLOUD_SERVICES)
    if is_public and (address.version == 4 or address in _GLOBAL_UNICAST):
        return True
    # What a sync reads is shown to people, and a name may lead to any address: networks allow only addresses.
    is_name = setting == SYNC_HOSTS and not _is_address(host)
    return any(_matches(entry, host, None if is_name else address) for entry in entries)


def _unwrap(address: Address) -> Address:
    """Return the IPv4 address inside an IPv6 address that only wraps it."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _IPV4_WITHIN_IPV6:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or (address.teredo or (None, address))[1]


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _matches(entry: str, host: str, address: Address | None) -> bool:
    """Return whether the entry of a list is a network with this address, or the name of this host."""
    try:
        network = ipaddress.ip_network(entry, strict=False)
        return address is not None and address in network
    except ValueError:
        return entry.lower() == host.lower().rstrip(".")


class Deadline(float):
    """A timeout of a whole request: of connecting, sending, the headers and the body together.

    httpx2's own timeouts are for each read and write, so that a server which sends a byte now and then would keep a
    thread for ever. httpx2 passes a request's timeouts on to its backend as they are. As a number it is the timeout of
    each read and write.
    """

    ends_at: float

    def __new__(cls, seconds: float, *, total: float | None = None) -> Self:
        """Begin a timeout of `seconds` for each read and write, and of `total` seconds, or as many, for all of them."""
        deadline = super().__new__(cls, seconds)
        deadline.ends_at = time.monotonic() + (seconds if total is None else total)
        return deadline


def _remaining(timeout: float | None) -> float | None:
    """Return the seconds that a read or write may take now. An error of an expired deadline comes at once."""
    return max(0.001, min(timeout, timeout.ends_at - time.monotonic())) if isinstance(timeout, Deadline) else timeout


class DeadlineStream(httpcore2.NetworkStream):
    """A connection whose reads and writes keep to the deadlines of requests. Several requests may use it in turn."""

    # What is written between two looks at the clock.
    _WRITE_BYTES = 64 * 1024

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if isinstance(timeout, Deadline) and time.monotonic() > timeout.ends_at:
            raise httpcore2.ReadTimeout
        return self._stream.read(max_bytes, _remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), self._WRITE_BYTES):
            if isinstance(timeout, Deadline) and time.monotonic() > timeout.ends_at:
                raise httpcore2.WriteTimeout
            self._stream.write(buffer[start : start + self._WRITE_BYTES], _remaining(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, _remaining(timeout)))

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


class DeadlineBackend(httpcore2.SyncBackend):
    """Opens connections that keep to the deadlines of requests."""

    def addresses_of(self, host: str, port: int) -> list[str]:
        """Return the addresses to try in turn for a host: here the name itself, which the system resolves.

        Raises:
            httpcore2.ConnectError: If there is none.
        """
        return [host]

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        addresses = self.addresses_of(host, port)
        deadline = timeout if timeout is None or isinstance(timeout, Deadline) else Deadline(timeout)
        for number, address in enumerate(addresses, start=1):
            try:
                stream = super().connect_tcp(address, port, _remaining(deadline), local_address, socket_options)
                return DeadlineStream(stream)
            except httpcore2.ConnectError:
                if number == len(addresses):
                    raise
        raise httpcore2.ConnectError("The host name has no address.")


class GuardedBackend(DeadlineBackend):
    """Resolves a host itself and connects to the addresses that were checked."""

    def __init__(self, *, setting: str = MODEL_HOSTS, organization_slug: str = "") -> None:
        super().__init__()
        self._setting, self._organization_slug = setting, organization_slug

    def addresses_of(self, host: str, port: int) -> list[str]:
        try:
            return _resolve(host, port, self._setting, self._organization_slug)
        except (OSError, UnicodeError) as error:  # unknown, or too long for a name
            raise httpcore2.ConnectError(_UNKNOWN_HOST) from error


def trusted_authorities() -> ssl.SSLContext:
    """Return what checks the certificates of servers, one for all connections: reading it takes 20 milliseconds."""
    return _read_authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@functools.cache
def _read_authorities(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Read the authorities that these variables name, and those of the system without them."""
    return httpx2.create_ssl_context()


class BackendTransport(httpx2.HTTPTransport):
    """Connects with a backend, directly or to a proxy."""

    def __init__(self, backend: DeadlineBackend, *, proxy: httpx2.Proxy | None = None) -> None:
        super().__init__(verify=trusted_authorities(), proxy=proxy)
        self._pool._network_backend = backend  # httpx2 has no parameter for it
