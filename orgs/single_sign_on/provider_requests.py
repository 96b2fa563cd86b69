"""Requests to identity providers, whose addresses organisations enter: no private networks, no redirects, bounded."""

import contextlib
import json
import math
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from ragsite.http import outbound_connections

_TIMEOUT_SECONDS = 5.0
_MAX_SECONDS = 10.0
# Web threads that may wait for providers at the same time, and how many of these for providers that are new or have
# been slow lately: organisations enter any addresses, and some together must not occupy all places.
_MAX_PLACES, _MAX_PLACES_OF_UNKNOWN = 8, 4
# A provider that takes this long for a request counts as slow for this long. How long a thread waits for its turn.
_SLOW_SECONDS, _SLOW_FOR_SECONDS, _MAX_WAIT_SECONDS = 2.0, 600.0, 1.0
_MAX_KNOWN = 10_000
_MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Provider:
    """An identity provider as an organisation has entered it."""

    organization_id: uuid.UUID | None
    issuer: str


_waited_for: list[Provider] = []
# From when on a provider is known to be quick: immediately if it has answered quickly, and later if it was slow.
_known_from: dict[Provider, float] = {}
_places = threading.Condition()


class IdentityProviderFailed(Exception):
    """The identity provider gave no usable response. The text says why, for people who sign in."""


class _Client(httpx2.Client):
    """Connects to allowed addresses only."""

    def _init_transport(self, *args: object, **options: object) -> httpx2.BaseTransport:
        return outbound_connections.BackendTransport(
            outbound_connections.GuardedBackend(setting=outbound_connections.SIGN_IN_HOSTS)
        )


def request(
    method: str,
    url: str,
    *,
    provider: Provider,
    form: Mapping[str, str] | None = None,
    credentials: tuple[str, str] | None = None,
    bearer: str = "",
) -> dict[str, object]:
    """Send a request and return the JSON object of its response.

    Args:
        method: The HTTP method.
        url: The address: HTTPS, or a private host that the operator allows.
        provider: Whose place the request takes.
        form: The fields of a form to post.
        credentials: The client's id and secret, for basic authentication.
        bearer: An access token.

    Raises:
        IdentityProviderFailed: If there is no such response.
    """
    outbound_connections.check_scheme(url, setting=outbound_connections.SIGN_IN_HOSTS, error=IdentityProviderFailed)
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    headers |= {"Authorization": f"Bearer {bearer}"} if bearer else {}
    try:
        with (
            _admit(provider),
            # Even headers may come byte by byte.
            _Client(timeout=outbound_connections.Deadline(_TIMEOUT_SECONDS, total=_MAX_SECONDS)) as client,
            client.stream(method, url, data=form, headers=headers, auth=credentials) as response,
        ):
            content = _read(response)
    except outbound_connections.ForbiddenAddress as error:
        raise IdentityProviderFailed(str(error)) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise IdentityProviderFailed(
            f"The identity provider could not be reached: {outbound_connections.explain(error)}."
        ) from None
    if response.status_code != 200:
        raise IdentityProviderFailed(f"The identity provider answered with the status {response.status_code}.")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise IdentityProviderFailed("The response of the identity provider is not a JSON object.")
    return body


@contextlib.contextmanager
def _admit(provider: Provider) -> Iterator[None]:
    """Take one of the places: identity providers that respond slowly must not occupy all threads of the web process."""
    with _places:
        if not _places.wait_for(lambda: has_place(provider), _MAX_WAIT_SECONDS):
            text = "Too many people sign in with identity providers at the moment. Try again in a minute."
            raise IdentityProviderFailed(text)
        _waited_for.append(provider)
    started_at = time.monotonic()
    try:
        yield
    finally:
        with _places:
            _waited_for.remove(provider)
            _remember(provider, is_slow=time.monotonic() - started_at > _SLOW_SECONDS)
            _places.notify_all()


def has_place(provider: Provider) -> bool:
    """Return whether there is a place for the provider.

    An organisation may take as many places as remain free. So the first one gets half of all places, and the next one
    half of the rest. The places for providers that are not known to be quick are divided in the same way.
    """
    if not _has_share(provider, _waited_for, _MAX_PLACES):
        return False
    unknown = [other for other in _waited_for if not _is_known(other)]
    return _is_known(provider) or _has_share(provider, unknown, _MAX_PLACES_OF_UNKNOWN)


def _has_share(provider: Provider, waited_for: list[Provider], places: int) -> bool:
    taken = sum(other.organization_id == provider.organization_id for other in waited_for)
    return taken < places - len(waited_for)


def _is_known(provider: Provider) -> bool:
    return _known_from.get(provider, math.inf) <= time.monotonic()


def _remember(provider: Provider, *, is_slow: bool) -> None:
    now = time.monotonic()
    if is_slow:
        _known_from[provider] = now + _SLOW_FOR_SECONDS
    else:
        _known_from.setdefault(provider, now)
    if len(_known_from) > _MAX_KNOWN:  # the provider that has been here for longest counts as new again
        del _known_from[next(iter(_known_from))]


def _read(response: httpx2.Response) -> bytes:
    """Return the body as it was sent: a few kilobytes, compressed several times, take hours to be decompressed."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise IdentityProviderFailed("The identity provider compresses although it was asked not to.")
    content = bytearray()
    for part in response.iter_raw():
        content += part
        if len(content) > _MAX_BYTES:
            raise IdentityProviderFailed("The response of the identity provider is too large.")
    return bytes(content)
