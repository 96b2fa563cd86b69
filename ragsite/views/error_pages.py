"""Django's own error responses: JSON on the paths of the contracts, HTML elsewhere."""

import sys

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt

from rag.contracts.fallback_errors import database_error_response, error_response, returns_json
from ragsite.http.error_envelope import Unavailable
from ragsite.http.request_id import request_id

_TEMPLATE = "site/error.html"


@csrf_exempt
def unknown_path(request: HttpRequest) -> JsonResponse:
    """404 for API paths that do not exist, even with DEBUG."""
    return error_response(request, 404, f"There is no {request.path} here: /api/docs lists what there is.")


@csrf_exempt
def address_without_version(request: HttpRequest) -> JsonResponse:
    """404 for clients of OpenAI whose base address lacks /v1: an HTML page would not tell them why."""
    message = f"There is no {request.path} here. The base address of the OpenAI-compatible API ends with /v1."
    return error_response(request, 404, message)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render the 404 page of paths outside of the contracts (handler404)."""
    return _render_page(request, 404, _("There is no such page"), _("It does not exist, or it is not visible to you."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render the page for those who may not open a page (handler403)."""
    text = _("Your account may not open this page. Somebody who administers your organisation can change that.")
    return _render_page(request, 403, _("You may not open this page"), text)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Render the response to a form without a valid token (CSRF_FAILURE_VIEW)."""
    text = _(
        "The form is too old, or your browser does not accept cookies from this site. Go back, reload the page and try "
        "again."
    )
    return _render_page(request, 403, _("This form has expired"), text)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Render the response to a malformed request (handler400)."""
    if returns_json(request):
        return error_response(request, 400, "The request is malformed.")
    return _render_page(request, 400, _("This request is malformed"), _("Go back, reload the page and try again."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Render the response to an unexpected exception (handler500).

    It contains nothing of the exception, only the request id, by which the log entry is found.
    """
    exception = sys.exception()
    if returns_json(request):
        if isinstance(exception, OperationalError):  # the database does not answer, or ends a statement
            return database_error_response(request, exception)
        return error_response(request, 500, "Something went wrong on this side. The log has it under this request id.")
    if isinstance(exception, OperationalError):
        title, text = _("This is not available at the moment"), _("Go back, reload the page and try again.")
        response = _render_without_request(503, title, text)
        response["Retry-After"] = str(Unavailable.wait)
        return response
    text = _("An unexpected error occurred. If it happens again, tell your operator the request id: the log has it.")
    return _render_without_request(500, _("Something went wrong on this side"), text)


def _render_without_request(status: int, title: str, text: str) -> HttpResponse:
    """Render a page without the request: reading the signed-in user may be what failed."""
    context = {"status": status, "title": title, "text": text, "request_id": request_id()}
    return render(None, _TEMPLATE, context, status=status)


def _render_page(request: HttpRequest, status: int, title: str, text: str) -> HttpResponse:
    context = {"status": status, "title": title, "text": text, "request_id": request_id()}
    response = render(request, _TEMPLATE, context, status=status)
    add_never_cache_headers(response)  # the head of the page names the account
    return response
