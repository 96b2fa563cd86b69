"""What identity providers publish about themselves: their endpoints and keys (OpenID Connect Discovery 1.0)."""

import threading
import time
from dataclasses import dataclass

from ragsite.http.bodies.json_types import JsonObject
from ragsite.postgres.models import is_storable

from .provider_requests import IdentityProviderFailed, Provider, request

_CACHE_SECONDS = 600.0
# Anybody can send tokens that name a key which does not exist. A provider is asked again at most this often.
_KEYS_PAUSE_SECONDS = 60.0
_MAX_CACHED_ISSUERS = 1_000
# Python takes a host apart in a time that grows with the square of its length.
_MAX_ADDRESS_CHARACTERS = 2_000


@dataclass(slots=True)
class _Cached:
    expires_at: float
    configuration: dict[str, object]
    keys: JsonObject | None = None
    keys_requested_at: float | None = None


_cache: dict[str, _Cached] = {}
_cache_lock = threading.Lock()


def read_configuration(provider: Provider, *, refresh: bool = False) -> JsonObject:
    """Return the configuration document of the provider.

    Args:
        provider: The identity provider.
        refresh: Request it from the provider even if it is cached.

    Raises:
        IdentityProviderFailed: If the provider does not answer, or names another issuer.
    """
    return _load_configuration(provider, refresh=refresh).configuration


def find_endpoint(provider: Provider, name: str, *, refresh: bool = False) -> str:
    """Return the URL of one of the provider's endpoints, by its name in the metadata, such as `token_endpoint`.

    Raises:
        IdentityProviderFailed: If the provider does not say where it is.
    """
    url = read_configuration(provider, refresh=refresh).get(name)
    text = url if isinstance(url, str) and len(url) <= _MAX_ADDRESS_CHARACTERS and is_storable(url) else ""
    if not text.startswith(("https://", "http://")):
        raise IdentityProviderFailed(f"The identity provider does not say where its {name} is.")
    return text


def read_keys(provider: Provider, *, refresh: bool) -> dict[str, object]:
    """Return the provider's keys (RFC 7517).

    Args:
        provider: The identity provider.
        refresh: Request the keys even if they are cached, unless that was done within the last minute.

    Raises:
        IdentityProviderFailed: If the keys are not known and the provider does not send them.
    """
    entry = _load_configuration(provider, refresh=False)
    with _cache_lock:
        now = time.monotonic()
        was_asked = entry.keys_requested_at is not None and now < entry.keys_requested_at + _KEYS_PAUSE_SECONDS
        if entry.keys is not None and (was_asked or not refresh):
            return entry.keys
        entry.keys_requested_at = now
    entry.keys = request("GET", find_endpoint(provider, "jwks_uri"), provider=provider)
    return entry.keys


def _load_configuration(provider: Provider, *, refresh: bool) -> _Cached:
    """Return the configuration of the provider, cached or requested. It must name this issuer (Discovery 1.0, 4.3)."""
    now, issuer = time.monotonic(), provider.issuer
    with _cache_lock:
        entry = _cache.get(issuer)
    if entry is None or entry.expires_at < now or refresh:
        configuration = request("GET", f"{issuer}/.well-known/openid-configuration", provider=provider)
        if str(configuration.get("issuer", "")).rstrip("/") != issuer:
            raise IdentityProviderFailed("The identity provider names another issuer.")
        entry = _Cached(now + _CACHE_SECONDS, configuration)
        with _cache_lock:
            if len(_cache) >= _MAX_CACHED_ISSUERS:
                _cache.clear()
            _cache[issuer] = entry
    return entry
