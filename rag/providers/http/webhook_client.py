"""Posts to addresses that people enter: no private networks, no redirects, and an end after a fixed time."""

import time
from collections.abc import Mapping
from typing import Any

import httpx2

from ragsite.http import private_networks

from .bounded_responses import BoundedClient


class PostFailed(Exception):
    """There was no response. The text says why, for the people who manage the webhook."""


class _Client(BoundedClient):
    """Connects to allowed addresses only, until the deadline. With a proxy (HTTPS_PROXY) the proxy decides."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self._backend = private_networks.DeadlineBackend(
            time.monotonic() + timeout_seconds, setting=private_networks.WEBHOOK_HOSTS
        )
        super().__init__(timeout=timeout_seconds)

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.BaseTransport:
        options["transport"] = private_networks.GuardedTransport(backend=self._backend)
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
    except private_networks.ForbiddenAddress as error:
        raise PostFailed(str(error)) from None
    except httpx2.TimeoutException:
        raise PostFailed(f"There was no response within {timeout_seconds:g} seconds.") from None
    except httpx2.HTTPError as error:
        raise PostFailed(f"The address could not be reached: {private_networks.explain(error)}.") from None
    except (httpx2.InvalidURL, ValueError):
        raise PostFailed("The address is not a valid URL.") from None
