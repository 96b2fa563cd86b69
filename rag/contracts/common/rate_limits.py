"""Rate limits per minute and user or API key; several endpoints may share one. Redis counts for all processes.

Each window is fixed and lasts one minute; it starts at a different second for each caller. If Redis does not answer,
requests are served without being counted.
"""

import time
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django_ratelimit.core import get_usage
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled
from rest_framework.request import Request

from orgs.access.caller import get_caller
from orgs.access.organization_resolver import read_header
from orgs.policies.organization_rate_limits import requests_per_minute
from ragsite.http.addresses import client_address, rate_limit_key
from ragsite.http.error_envelope import TooManyRequests, whole_seconds

logger = structlog.get_logger(__name__)

_MINUTE_SECONDS = 60
MAX_BURSTS = {"agent_requests": 10}
# Where each API key is counted separately, all keys of a user together have so many times the limit: a user may have a
# hundred keys.
MAX_KEYS_AT_LIMIT = 10
_USAGE_META_KEY = "ragsite.rate_limit_usage"
# How long a process does not count requests after a Redis error: otherwise every request would wait for a time-out.
_REDIS_PAUSE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A limit of requests a minute for each user.

    Attributes:
        name: The key in the setting RAG_REQUESTS_PER_MINUTE, which has the default; the organisation's own limit is its
            field `<name>_per_minute`.
        burst_seconds: In this many seconds at most `MAX_BURSTS[name]` requests are served.
        retry_after_seconds: The fixed `Retry-After` of a 429; None: the seconds until the window ends.
        per_key: Each API key is counted separately.
        standard_headers: Headers without `X-`, and the reset in seconds from now instead of as a Unix time.
        in_headers: Responses show the limit, and an organisation may have a limit of its own.
    """

    name: str
    burst_seconds: int | None = None
    retry_after_seconds: int | None = None
    per_key: bool = False
    standard_headers: bool = False
    in_headers: bool = True

    @property
    def openapi_headers(self) -> dict[str, object]:
        """The response headers as OpenAPI header objects."""
        prefix = "" if self.standard_headers else "X-"
        descriptions = {
            "Limit": "Requests a minute.",
            "Remaining": "Requests left in this minute.",
            "Reset": "Seconds until the minute ends."
            if self.standard_headers
            else "End of the minute, in Unix seconds.",
        }
        schema = {"type": "string", "pattern": "^[0-9]+$"}
        return {
            f"{prefix}RateLimit-{name}": {"description": description, "schema": schema}
            for name, description in descriptions.items()
        }

    @property
    def default(self) -> int:
        return int(settings.RAG_REQUESTS_PER_MINUTE[self.name])

    @property
    def burst(self) -> int:
        return MAX_BURSTS[self.name]


QUERIES = RateLimit("queries")
INGESTIONS = RateLimit("ingestions")
AGENT_REQUESTS = RateLimit("agent_requests", burst_seconds=10, retry_after_seconds=60)
# Every other request that changes something: more than anybody does by hand.
CHANGES = RateLimit("changes", in_headers=False)
SERVICE_SEARCHES = RateLimit("service_searches", per_key=True, standard_headers=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """How much of a rate limit is left.

    Attributes:
        reset: End of the window, in Unix seconds.
    """

    rate_limit: RateLimit
    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        prefix = "" if self.rate_limit.standard_headers else "X-"
        reset = max(0, self.reset - int(time.time())) if self.rate_limit.standard_headers else self.reset
        values = {"Limit": self.limit, "Remaining": self.remaining, "Reset": reset}
        return {f"{prefix}RateLimit-{name}": str(value) for name, value in values.items()}


def consume(request: Request | HttpRequest, rate_limit: RateLimit) -> None:
    """Count this request, and store the rest of the limit on the request for the response headers.

    Raises:
        Throttled: If the limit is reached.
    """
    if not settings.RAG_RATE_LIMITS:
        return
    limit = _read_limit(request, rate_limit)
    # Check the burst first: a request that it rejects must not use up the minute.
    if rate_limit.burst_seconds:
        burst = _count_caller(request, rate_limit, rate_limit.burst_seconds)
        if burst and burst.requests > rate_limit.burst:
            _reject(request, Usage(rate_limit, limit, 0, burst.end), f"{rate_limit.burst} requests at once")
    minute = _count_caller(request, rate_limit, _MINUTE_SECONDS) or _Window(0, int(time.time()) + _MINUTE_SECONDS)
    usage = Usage(rate_limit, limit, max(0, limit - minute.requests), minute.end)
    if minute.requests > limit:
        _reject(request, usage, f"{limit} requests a minute")
    _consume_of_all_keys(request, rate_limit, limit)
    _store_usage(request, usage)


def _consume_of_all_keys(request: Request | HttpRequest, rate_limit: RateLimit, limit: int) -> None:
    caller, maximum = get_caller(request), MAX_KEYS_AT_LIMIT * limit
    if not (rate_limit.per_key and caller.key):
        return
    minute = _count_key(request, rate_limit, f"keys of {caller.user.pk}", _MINUTE_SECONDS)
    if minute and minute.requests > maximum:
        usage = Usage(rate_limit, limit, 0, minute.end)
        _reject(request, usage, f"{maximum} requests a minute with all API keys together")


def seconds_until_allowed(request: HttpRequest, rate_limit: RateLimit) -> int:
    """Count a request of a page.

    Returns:
        0 if the request may be served, else the seconds until the caller may send the next one.
    """
    try:
        consume(request, rate_limit)
    except Throttled as error:
        return whole_seconds(getattr(error, "wait", None) or 1)  # the stubs lack it
    return 0


def headers(request: HttpRequest) -> dict[str, str]:
    """Return the rate-limit headers of any response.

    If the request ended before it was counted, they show the default limit, which may not be the organisation's.
    """
    if not settings.RAG_RATE_LIMITS:
        return {}
    usage: Usage | None = request.META.get(_USAGE_META_KEY)
    if usage is None and (rate_limit := _rate_limit_of(request)):
        usage = Usage(rate_limit, rate_limit.default, rate_limit.default, int(time.time()) + _MINUTE_SECONDS)
    return usage.headers() if usage and usage.rate_limit.in_headers else {}


def seconds_to_wait(request: HttpRequest) -> int:
    """Count a request to an open path for its client address.

    Returns:
        0 if the request may be served, else the seconds until the address may send the next one.
    """
    if not settings.RAG_RATE_LIMITS:
        return 0
    address = rate_limit_key(client_address(request))
    window = _count(request, "open", f"address {address}", _MINUTE_SECONDS) if address else None
    if window is None or window.requests <= settings.RAG_REQUESTS_PER_MINUTE["ip"]:
        return 0
    return whole_seconds(window.end - time.time())


def _rate_limit_of(request: HttpRequest) -> RateLimit | None:
    """Return the rate limit of the path's action (`@action(rate_limit=…)`), else the one of its view class."""
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return None
    view_class, options = getattr(match.func, "cls", None), getattr(match.func, "initkwargs", {})
    rate_limit: RateLimit | None = options.get("rate_limit", getattr(view_class, "rate_limit", None))
    return rate_limit


def _read_limit(request: Request | HttpRequest, rate_limit: RateLimit) -> int:
    """Return how many requests a minute this caller may send."""
    if not rate_limit.in_headers:
        return rate_limit.default
    field = f"{rate_limit.name}_per_minute"
    caller = get_caller(request)
    if organization := caller.organization:
        return getattr(organization, field) or rate_limit.default
    # On pages, the header restricts nothing, so it must not choose another limit either.
    named = read_header(request) if isinstance(request, Request) else ""
    return requests_per_minute(caller.user, field, default=rate_limit.default, named=named)


@dataclass(frozen=True, slots=True)
class _Window:
    """Requests counted in one window. end: the first second after it, in Unix seconds."""

    requests: int
    end: int


_uncounted_until = 0.0


def _count_caller(request: Request | HttpRequest, rate_limit: RateLimit, seconds: int) -> _Window | None:
    """Count this request for its API key or user; None if Redis does not answer."""
    caller = get_caller(request)
    key = f"key {caller.key.pk}" if rate_limit.per_key and caller.key else f"user {caller.user.pk}"
    return _count_key(request, rate_limit, key, seconds)


def _count_key(request: Request | HttpRequest, rate_limit: RateLimit, key: str, seconds: int) -> _Window | None:
    http_request = request._request if isinstance(request, Request) else request
    return _count(http_request, rate_limit.name, key, seconds)


def _count(request: HttpRequest, name: str, key: str, seconds: int) -> _Window | None:
    """Count a request in the fixed window of this key; None if Redis does not answer."""
    global _uncounted_until
    if time.monotonic() < _uncounted_until:
        return None
    try:
        # Only count here and compare with the limit later: the library keeps a counter for each limit, and one caller
        # may have another limit in each organisation.
        usage: Any = get_usage(request, group=name, key=lambda group, request: key, rate=(0, seconds), increment=True)
        cause = "the counter was lost"
    except RedisError as error:
        usage, cause = None, type(error).__name__
        _uncounted_until = time.monotonic() + _REDIS_PAUSE_SECONDS
    if usage is None:
        logger.warning("rate_limit_not_counted", rate_limit=name, cause=cause)
        return None
    return _Window(usage["count"], int(time.time()) + max(0, usage["time_left"]) + 1)


def _reject(request: Request | HttpRequest, usage: Usage, limit_text: str) -> None:
    _store_usage(request, usage)
    retry_after_seconds = usage.rate_limit.retry_after_seconds or whole_seconds(usage.reset - time.time())
    raise TooManyRequests(retry_after_seconds, f"At most {limit_text} are allowed.")


def _store_usage(request: Request | HttpRequest, usage: Usage) -> None:
    """Store the usage on the request, where the middleware that writes the headers finds it."""
    request.META[_USAGE_META_KEY] = usage
