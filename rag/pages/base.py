"""The base of all pages: require a sign-in, set the database identity, limit requests, and render errors."""

import functools
from collections.abc import Callable
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache

from accounts.sign_in.pages import sign_in_redirect
from orgs.access.caller import get_caller
from rag.contracts.common.error_rendering import http_status, retry_headers
from rag.contracts.common.rate_limits import CHANGES, RateLimit, seconds_until_allowed
from rag.errors import (
    AccessEnded,
    ContextOverflow,
    ErrorKind,
    NoAccessibleSources,
    NoResults,
    RagError,
    TooManyLongRequests,
    TooManyReads,
    UnknownConversation,
)
from rag.providers.limits import read_limiter
from ragsite.http.request_id import request_id
from ragsite.postgres import identity

PageView = Callable[..., HttpResponseBase]
EVENT_STREAM = "text/event-stream"
_MAX_QUERY_CHARACTERS = 6000  # gunicorn accepts 8,190 characters in the first line of a request
_TITLES: dict[ErrorKind | type[RagError], object] = {
    NoResults: _("Nothing was found"),
    ErrorKind.FORBIDDEN: _("You may not do this"),
    ErrorKind.NOT_FOUND: _("There is no such page"),
    ErrorKind.LIMITED: _("Too many requests"),
    ErrorKind.UNAVAILABLE: _("This is not available at the moment"),
}
# What pages say instead of the message of an error, which names fields of the contracts, or is English.
_TEXTS: dict[type[RagError], object] = {
    UnknownConversation: _("There is no such conversation; perhaps it was deleted. Select “Ask” to begin a new one."),
    NoResults: _(
        "No document matches your filters, or none has a word of your question. Change the filters or the question, or "
        "choose other sources."
    ),
    ContextOverflow: _("Your question is too long for this search. Ask a shorter one, or its parts one by one."),
}
# Errors whose own messages pages show, in the language of the page.
_TRANSLATED = (AccessEnded, NoAccessibleSources, TooManyLongRequests, TooManyReads)


def page(view: PageView) -> PageView:
    """Decorate the view of a page for everybody who has signed in. Its queries run as them."""

    @never_cache
    @functools.wraps(view)
    def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if redirect := sign_in_redirect(request, **_typed_question(request)):
            return redirect
        caller = get_caller(request)
        identity.set_current(caller.database_identity)
        try:
            read_limiter.begin(request.META, caller.user.pk)
            return view(request, *args, **kwargs)
        except RagError as error:
            return render_error(request, error)

    return wrapper


def rate_limited(rate_limit: RateLimit = CHANGES) -> Callable[[PageView], PageView]:
    """Decorate a view whose POST requests count towards a rate limit, as those of the API do."""

    def decorate(view: PageView) -> PageView:
        @functools.wraps(view)
        def wrapper(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            if too_many := refuse_beyond(rate_limit, request):
                return too_many
            return view(request, *args, **kwargs)

        return wrapper

    return decorate


def refuse_beyond(rate_limit: RateLimit, request: HttpRequest) -> HttpResponse | None:
    """Count a POST request. Return the response to one beyond the limit; None if the request may be served."""
    if request.method != "POST" or not (seconds := seconds_until_allowed(request, rate_limit)):
        return None
    text = gettext("You have sent many requests within a minute. Try again in {seconds} seconds.")
    response = render_problem(request, 429, gettext("Too many requests"), text.format(seconds=seconds))
    response["Retry-After"] = str(seconds)
    return response


def wants_stream(request: HttpRequest) -> bool:
    """Return whether the request comes from the page's script, which reads a stream."""
    return EVENT_STREAM in request.headers.get("Accept", "")


def wants_json(request: HttpRequest) -> bool:
    """Return whether the request comes from the script of an upload, which reads `message` of a JSON object."""
    return request.headers.get("Accept", "").startswith("application/json")


def render_error(request: HttpRequest, error: RagError) -> HttpResponse:
    """Render an expected error: as a part of the page for its script, otherwise as a page."""
    title = _TITLES.get(type(error)) or _TITLES.get(error.kind) or _("This did not work")
    status = http_status(error)
    response = render_problem(request, status, str(title), explain(error))
    for name, value in retry_headers(error, status).items():
        response[name] = value
    return response


def _typed_question(request: HttpRequest) -> dict[str, str]:
    """Return the question of a form, which a sign-in must not lose. The page's script keeps it by itself."""
    question = "" if wants_stream(request) else request.POST.get("question", "")
    fits = len(quote(quote(question))) <= _MAX_QUERY_CHARACTERS  # it is a parameter of a page that is a parameter
    return {"q": question} if question and fits else {}


def explain(error: RagError) -> str:
    """Return what a page says about an error."""
    if type(error) in _TEXTS:
        return str(_TEXTS[type(error)])
    if type(error) in _TRANSLATED:
        return gettext(error.default_message)
    if error.kind is ErrorKind.NOT_FOUND:
        return gettext("It does not exist, or it is not visible to you.")
    return error.message


def render_problem(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    """Render a page, or the part of one, that says what is wrong."""
    if wants_stream(request):
        return HttpResponse(problem_fragment(text), status=status)
    if wants_json(request):
        return JsonResponse({"message": text}, status=status)
    context = {"status": status, "title": title, "text": text, "request_id": request_id()}
    return render(request, "site/error.html", context, status=status)


def problem_fragment(text: str) -> str:
    """Return the HTML that replaces an answer."""
    return render_to_string("pages/problem.html", {"text": text, "request_id": request_id()})
