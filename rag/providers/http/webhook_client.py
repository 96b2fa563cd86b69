"""Posts to addresses that people enter: no private networks, no redirects, and an end after a fixed time."""

import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any

import httpcore2
import httpx2

from ragsite.http import outbound

from .bounded import BoundedClient


class PostFailed(Exception):
    """There was no response. The text says why, for the people who manage the webhook."""


class _DeadlineStream(httpcore2.NetworkStream):
    """A connection that ends at a deadline: a server that sends a byte now and then would keep it for ever."""

    def __init__(self, stream: httpcore2.NetworkStream, deadline: float) -> None:
        self._stream, self._deadline = stream, deadline

    def _remaining(self, timeout: float | None) -> float:
        remaining = max(0.01, self._deadline - time.monotonic())
        return remaining if timeout is None else min(timeout, remaining)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if time.monotonic() > self._deadline:
            raise httpcore2.ReadTimeout
        return self._stream.read(max_bytes, self._remaining(timeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._remaining(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        encrypted = self._stream.start_tls(ssl_context, server_hostname, self._remaining(timeout))
        return _DeadlineStream(encrypted, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _DeadlineBackend(outbound.GuardedBackend):
    def __init__(self, deadline: float) -> None:
        super().__init__(setting=outbound.WEBHOOK_HOSTS)
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _DeadlineStream(stream, self._deadline)


class _Client(BoundedClient):
    """Connects to allowed addresses only, until the deadline. With a proxy (HTTPS_PROXY) the proxy decides."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._backend = _DeadlineBackend(time.monotonic() + timeout_seconds)
        super().__init__(timeout=timeout_seconds)

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.BaseTransport:
        options["transport"] = outbound.GuardedTransport(backend=self._backend)
        return super()._init_transport(*args, **options)


def post(url: str, *, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> int:
    """Post the body. The response's body is not read, so that nothing of it can be shown to anybody.

    Returns:
        The status of the response; redirects are not followed.

    Raises:
        PostFailed: If the address is private, or no response came in time.
    """
    try:
        with (
            _Client(timeout_seconds=timeout_seconds) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as response,
        ):
            return response.status_code
    except outbound.ForbiddenAddress as error:
        raise PostFailed(str(error)) from None
    except httpx2.TimeoutException:
        raise PostFailed(f"There was no response within {timeout_seconds:g} seconds.") from None
    except httpx2.HTTPError as error:
        raise PostFailed(f"The address could not be reached: {type(error).__name__}.") from None
    except (httpx2.InvalidURL, ValueError):
        raise PostFailed("The address is not a valid URL.") from None
