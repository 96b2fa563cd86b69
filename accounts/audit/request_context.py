"""The request that the current code runs in, for the audit trail. Commands and workers have none."""

import uuid
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from django.http import HttpRequest, HttpResponse

from ragsite.http.addresses import client_address
from ragsite.http.request_id import request_id

_current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


class Person(Protocol):
    """A user account."""

    @property
    def pk(self) -> uuid.UUID: ...

    @property
    def email(self) -> str: ...


@dataclass(frozen=True, slots=True)
class RequestContext:
    """Who sent the current request, and from where.

    Attributes:
        user: The user of the session or of the API credential; None before authentication.
        key_prefix: The visible part of the API key, if the request came with one.
    """

    user: Person | None = None
    key_prefix: str = ""
    address: str | None = None
    request_id: str = ""


class CurrentRequestMiddleware:
    """Makes the request available to `get_request_context` until it is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        token = _current_request.set(request)
        try:
            return self._get_response(request)
        finally:
            _current_request.reset(token)


def get_request_context() -> RequestContext:
    """Return the context of the current request; an empty one outside of a request."""
    request = _current_request.get()
    if request is None:
        return RequestContext()
    # Django REST framework sets both on the Django request once it has authenticated it. `auth` is then the Caller.
    user = getattr(request, "user", None)
    caller = getattr(request, "auth", None)
    address = client_address(request)
    return RequestContext(
        user=user if user is not None and user.is_authenticated else None,
        key_prefix=getattr(caller, "key_prefix", ""),
        address=str(address) if address else None,
        request_id=request_id(),
    )
