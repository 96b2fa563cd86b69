"""How many requests a minute are answered: budgets that several paths share, counted in Redis for all processes.

A window is fixed and lasts a minute; where it begins differs from caller to caller. If Redis does not answer, requests
are served uncounted.
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

from orgs.organization_resolver import named_by_header
from orgs.policies.rate_limits import allowance
from ragsite.http.client_address import client_address, counted_as

logger = structlog.get_logger(__name__)

_MINUTE = 60
_NOTED = "ragsite.rate_usage"
# How long a process does not ask again after Redis has failed it: otherwise every request would wait for a time-out.
_PAUSE = 2.0


@dataclass(frozen=True, slots=True)
class Budget:
    """name: `<name>_per_minute` is the organisation's own limit, `RAG_<NAME>_PER_MINUTE` the default.

    burst_seconds: in this time at most RAG_<NAME>_BURST. retry_after: what a 429 says, whenever it is; else the seconds
    that are left. per_key: each API key has a budget of its own. standard: headers without `X-`, and the reset in
    seconds from now instead of as a Unix time.
    """

    name: str
    burst_seconds: int | None = None
    retry_after: int | None = None
    per_key: bool = False
    standard: bool = False
    told: bool = True

    @property
    def described_headers(self) -> dict[str, Any]:
        """For the OpenAPI schema."""
        prefix, reset = ("", "Seconds until then.") if self.standard else ("X-", "When, in Unix seconds.")
        meanings = {"Limit": "Requests a minute.", "Remaining": "What is left of them.", "Reset": reset}
        schema = {"type": "string", "pattern": "^[0-9]+$"}
        return {
            f"{prefix}RateLimit-{name}": {"description": meaning, "schema": schema}
            for name, meaning in meanings.items()
        }

    @property
    def default(self) -> int:
        return getattr(settings, f"RAG_{self.name.upper()}_PER_MINUTE")

    @property
    def burst(self) -> int:
        return getattr(settings, f"RAG_{self.name.upper()}_BURST")


QUERIES = Budget("queries")
INGESTIONS = Budget("ingestions")
AGENT_REQUESTS = Budget("agent_requests", burst_seconds=10, retry_after=60)
# What changes something and has no budget of its own: more than anybody does by hand.
CHANGES = Budget("changes", told=False)
SERVICE_SEARCHES = Budget("service_searches", per_key=True, standard=True)


@dataclass(frozen=True, slots=True)
class Usage:
    """What is left of a budget. reset: Unix seconds."""

    budget: Budget
    limit: int
    remaining: int
    reset: int

    def headers(self) -> dict[str, str]:
        prefix = "" if self.budget.standard else "X-"
        reset = max(0, self.reset - int(time.time())) if self.budget.standard else self.reset
        values = {"Limit": self.limit, "Remaining": self.remaining, "Reset": reset}
        return {f"{prefix}RateLimit-{name}": str(value) for name, value in values.items()}


def spend(request: Request, budget: Budget) -> None:
    """Count this request, and note on it what is left. Raises Throttled once the budget is used up."""
    if not settings.RAG_RATE_LIMITS:
        return
    limit = _limit(request, budget)
    # The burst first: what it refuses must not use up the minute.
    if budget.burst_seconds:
        burst = _count(request, budget, budget.burst_seconds)
        if burst and burst.requests > budget.burst:
            _refuse(request, Usage(budget, limit, 0, burst.ends), f"{budget.burst} requests at once")
    minute = _count(request, budget, _MINUTE) or _Tally(0, int(time.time()) + _MINUTE)
    usage = Usage(budget, limit, max(0, limit - minute.requests), minute.ends)
    if minute.requests > limit:
        _refuse(request, usage, f"{limit} requests a minute")
    _note(request, usage)


def headers(request: HttpRequest) -> dict[str, str]:
    """The budget's state for an answer of any kind; the whole budget where the request came too short to be counted."""
    if not settings.RAG_RATE_LIMITS:
        return {}
    usage: Usage | None = request.META.get(_NOTED)
    if usage is None and (budget := _budget_of(request)):
        usage = Usage(budget, budget.default, budget.default, int(time.time()) + _MINUTE)
    return usage.headers() if usage and usage.budget.told else {}


def seconds_to_wait(request: HttpRequest) -> int:
    """Count a request to an open path for its address; 0 while it may go on, else the seconds until it may again."""
    if not settings.RAG_RATE_LIMITS:
        return 0
    address = counted_as(client_address(request))
    tally = _counted(request, "open", f"address {address}", _MINUTE) if address else None
    if tally is None or tally.requests <= settings.RAG_OPEN_REQUESTS_PER_MINUTE:
        return 0
    return max(1, tally.ends - int(time.time()))


def _budget_of(request: HttpRequest) -> Budget | None:
    try:
        match = request.resolver_match or resolve(request.path_info)
    except Resolver404:
        return None
    return getattr(getattr(match.func, "cls", None), "budget", None)


def _limit(request: Request, budget: Budget) -> int:
    if not budget.told:
        return budget.default
    field = f"{budget.name}_per_minute"
    if organization := getattr(request.auth, "organization", None):
        return getattr(organization, field) or budget.default
    named = named_by_header(request)
    return allowance(request.user, field, default=budget.default, named=named)


@dataclass(frozen=True, slots=True)
class _Tally:
    """ends: Unix seconds, the first one that is no longer in the window."""

    requests: int
    ends: int


_uncounted_until = 0.0


def _count(request: Request, budget: Budget, seconds: int) -> _Tally | None:
    """This request counted in its window; None where it cannot be, and a line in the log."""
    key = f"key {request.auth.pk}" if budget.per_key and hasattr(request.auth, "scopes") else f"user {request.user.pk}"
    return _counted(request._request, budget.name, key, seconds)


def _counted(request: HttpRequest, budget: str, key: str, seconds: int) -> _Tally | None:
    global _uncounted_until
    if time.monotonic() < _uncounted_until:
        return None
    try:
        # The limit is compared here, not there: the library counts apart for each limit, and one caller may have
        # another limit in each organisation.
        usage: Any = get_usage(request, group=budget, key=lambda group, request: key, rate=(0, seconds), increment=True)
        cause = "the counter was lost"
    except RedisError as error:
        usage, cause = None, type(error).__name__
        _uncounted_until = time.monotonic() + _PAUSE
    if usage is None:
        logger.warning("rate_limit_not_counted", budget=budget, cause=cause)
        return None
    return _Tally(usage["count"], int(time.time()) + max(0, usage["time_left"]) + 1)


def _refuse(request: Request, usage: Usage, most: str) -> None:
    _note(request, usage)
    wait = usage.budget.retry_after or max(1, usage.reset - int(time.time()))
    raise Throttled(wait, f"At most {most} are answered.")


def _note(request: Request, usage: Usage) -> None:
    """Where every middleware finds it."""
    request.META[_NOTED] = usage
