"""Where what happens comes from: the request in hand, read when somebody asks. Commands and workers have none."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import structlog
from django.http import HttpRequest, HttpResponse

from ragsite.http.client_address import client_address

_in_hand: ContextVar[HttpRequest | None] = ContextVar("request_in_hand", default=None)


@dataclass(frozen=True, slots=True)
class Origin:
    """user: who is signed in, by a session or by the credential of an API request. key_prefix: of their API key."""

    user: Any = None
    key_prefix: str = ""
    address: str | None = None
    request_id: str = ""


class RequestInHand:
    """Middleware: until its answer is made, this is the request that everything comes from."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = _in_hand.set(request)
        try:
            return self._get_response(request)
        finally:
            _in_hand.reset(token)


def origin() -> Origin:
    request = _in_hand.get()
    if request is None:
        return Origin()
    # REST framework writes both onto the request as soon as it has authenticated it.
    user = getattr(request, "user", None)
    caller = getattr(request, "auth", None)  # an orgs.access.caller.Caller, once an API credential was accepted
    return Origin(
        user=user if user is not None and user.is_authenticated else None,
        key_prefix=getattr(caller, "key_prefix", ""),
        address=str(address) if (address := client_address(request)) else None,
        request_id=request_id(),
    )


def request_id() -> str:
    """The id under which the log has this request."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))
