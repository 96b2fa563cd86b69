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
# Web threads that may wait for providers at the same time, and how many of these for providers that have been slow
# lately: organisations choose their providers, and some together must not occupy all places.
_MAX_PLACES, _MAX_PLACES_OF_SLOW = 8, 4
# A provider that takes this long for a request counts as slow for this long. How long a thread waits for its turn.
_SLOW_SECONDS, _SLOW_FOR_SECONDS, _MAX_WAIT_SECONDS = 2.0, 600.0, 1.0
_MAX_SLOW_ISSUERS = 10_000
_issuers_waited_for: list[str] = []
_slow_until: dict[str, float] = {}
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
    with _places:
        if not _places.wait_for(lambda: _is_free(issuer), _MAX_WAIT_SECONDS):
            text = "Too many people sign in with identity providers at the moment. Try again in a minute."
            raise ProviderFailed(text)
        _issuers_waited_for.append(issuer)
    started_at = time.monotonic()
    try:
        yield
    finally:
        with _places:
            _issuers_waited_for.remove(issuer)
            if time.monotonic() - started_at > _SLOW_SECONDS:
                _remember_slow(issuer)
            _places.notify_all()


def _is_free(issuer: str) -> bool:
    """Return whether there is a place for the provider. It may take as many as it leaves free.

    Alone it gets half of the places, and the next one half of the rest. Slow providers share fewer.
    """
    if len(_issuers_waited_for) >= _MAX_PLACES:
        return False
    places, waited_for = _MAX_PLACES, _issuers_waited_for
    if _is_slow(issuer):
        places, waited_for = _MAX_PLACES_OF_SLOW, [other for other in _issuers_waited_for if _is_slow(other)]
    return waited_for.count(issuer) < places - len(waited_for)


def _is_slow(issuer: str) -> bool:
    return _slow_until.get(issuer, 0.0) > time.monotonic()


def _remember_slow(issuer: str) -> None:
    if len(_slow_until) >= _MAX_SLOW_ISSUERS:
        _slow_until.clear()
    _slow_until[issuer] = time.monotonic() + _SLOW_FOR_SECONDS


def _read(response: httpx2.Response) -> bytes:
    content = bytearray()
    for part in response.iter_bytes():
        content += part
        if len(content) > _MAX_BYTES:
            raise ProviderFailed("The response of the identity provider is too large.")
    return bytes(content)
