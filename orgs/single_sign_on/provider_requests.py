"""Requests to identity providers, whose addresses organisations enter: no private networks, no redirects, bounded."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2

from ragsite.http import private_networks

_TIMEOUT_SECONDS = 5.0
_MAX_SECONDS = 10.0
# Web threads that may wait for providers at the same time, how many of them for one provider, so that the others remain
# for those of other organisations, and how long a thread waits for its turn.
_MAX_PLACES, _MAX_PLACES_PER_ISSUER = 8, 4
_MAX_WAIT_SECONDS = 1.0
_issuers_waited_for: list[str] = []
_places = threading.Condition()
_MAX_BYTES = 1024 * 1024


class ProviderFailed(Exception):
    """The identity provider gave no usable response. The text says why, for people who sign in."""


class _Client(httpx2.Client):
    """Connects to allowed addresses only, until the deadline: also headers may come byte by byte."""

    def _init_transport(self, *args: Any, **options: Any) -> httpx2.BaseTransport:
        backend = private_networks.DeadlineBackend(
            time.monotonic() + _MAX_SECONDS, setting=private_networks.SIGN_IN_HOSTS
        )
        options["transport"] = private_networks.GuardedTransport(backend=backend)
        return super()._init_transport(*args, **options)


def request(
    method: str,
    url: str,
    *,
    issuer: str,
    form: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
    bearer: str = "",
) -> dict[str, Any]:
    """Send a request and return the JSON object of its response.

    Args:
        method: The HTTP method.
        url: The address: HTTPS, or a private host that the operator allows.
        issuer: The identity provider's address, which names it.
        form: The fields of a form to post.
        credentials: The client's id and secret, for basic authentication.
        bearer: An access token.

    Raises:
        ProviderFailed: If there is no such response.
    """
    private_networks.check_scheme(url, setting=private_networks.SIGN_IN_HOSTS, error=ProviderFailed)
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {bearer}"} if bearer else {})}
    try:
        with (
            _place(issuer),
            _Client(timeout=_TIMEOUT_SECONDS, follow_redirects=False) as client,
            client.stream(method, url, data=form, headers=headers, auth=credentials) as response,
        ):
            content = _read(response)
    except private_networks.ForbiddenAddress as error:
        raise ProviderFailed(str(error)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise ProviderFailed(f"The identity provider could not be reached: {type(error).__name__}.") from None
    if response.status_code != 200:
        raise ProviderFailed(f"The identity provider answered with the status {response.status_code}.")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise ProviderFailed("The response of the identity provider is not a JSON object.")
    return body


@contextlib.contextmanager
def _place(issuer: str) -> Iterator[None]:
    """Take one of the places: identity providers that respond slowly must not occupy all threads of the web process."""

    def is_free() -> bool:
        waited_for = _issuers_waited_for
        return len(waited_for) < _MAX_PLACES and waited_for.count(issuer) < _MAX_PLACES_PER_ISSUER

    with _places:
        if not _places.wait_for(is_free, _MAX_WAIT_SECONDS):
            text = "Too many people sign in with identity providers at the moment. Try again in a minute."
            raise ProviderFailed(text)
        _issuers_waited_for.append(issuer)
    try:
        yield
    finally:
        with _places:
            _issuers_waited_for.remove(issuer)
            _places.notify_all()


def _read(response: httpx2.Response) -> bytes:
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > _MAX_BYTES:
            raise ProviderFailed("The response of the identity provider is too large.")
    return bytes(content)
