"""The base of all pages: require a sign-in, set the database identity, limit requests, and render errors."""

import functools
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from accounts.sign_in.pages import sign_in_redirect
from orgs.access.caller import get_caller
from rag.contracts.common.errors import http_status
from rag.contracts.common.rate_limits import CHANGES, RateLimit, seconds_until_allowed
from rag.errors import ErrorKind, RagError
from ragsite.http.request_id import request_id
from ragsite.postgres import identity

PageView = Callable[..., HttpResponseBase]
EVENT_STREAM = "text/event-stream"
_TITLES = {
    ErrorKind.FORBIDDEN: _("You may not do this"),
    ErrorKind.NOT_FOUND: _("There is no such page"),
    ErrorKind.LIMITED: _("Too many requests"),
    ErrorKind.UNAVAILABLE: _("This is not available at the moment"),
}


def page(view: PageView) -> PageView:
    """Decorate the view of a page for everybody who has signed in. Its queries run as them."""

    @never_cache
    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if redirect := sign_in_redirect(request):
            return redirect
        identity.set_current(get_caller(request).database_identity)
        try:
            return view(request, *args, **kwargs)
        except RagError as error:
            return render_error(request, error)

    return wrapper


def rate_limited(rate_limit: RateLimit = CHANGES) -> Callable[[PageView], PageView]:
    """Decorate a view whose POST requests count towards a rate limit, as those of the API do."""

    def decorate(view: PageView) -> PageView:
        @functools.wraps(view)
        def wrapper(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method == "POST" and (seconds := seconds_until_allowed(request, rate_limit)):
                text = gettext("You have sent many requests within a minute. Try again in {seconds} seconds.")
                text = text.format(seconds=seconds)
                response = render_problem(request, 429, gettext("Too many requests"), text)
                response["Retry-After"] = str(seconds)
                return response
            return view(request, *args, **kwargs)

        return wrapper

    return decorate


def wants_stream(request: HttpRequest) -> bool:
    """Return whether the request comes from the page's script, which reads a stream."""
    return EVENT_STREAM in request.headers.get("Accept", "")


def render_error(request: HttpRequest, error: RagError) -> HttpResponse:
    """Render an expected error: as a part of the page for its script, otherwise as a page."""
    title = str(_TITLES.get(error.kind, _("This did not work")))
    return render_problem(request, http_status(error), title, error.message)


def render_problem(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    """Render a page, or the part of one, that says what is wrong."""
    if wants_stream(request):
        return HttpResponse(problem_fragment(text), status=status)
    context = {"status": status, "title": title, "text": text, "request_id": request_id()}
    return render(request, "site/error.html", context, status=status)


def problem_fragment(text: str) -> str:
    """Return the HTML that replaces an answer."""
    return render_to_string("pages/problem.html", {"text": text, "request_id": request_id()})
