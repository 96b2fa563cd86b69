"""Errors that no view renders: unknown paths, bodies that are rejected before a view runs, unexpected exceptions."""

import re

from django.db import OperationalError
from django.http import HttpRequest, JsonResponse
from rest_framework.exceptions import APIException
from rest_framework.response import Response

from accounts.oauth import errors as oauth
from orgs.scim import errors as scim

from .agent import error_format as agent
from .common.base import ERROR_HANDLER_META_KEY
from .common.error_rendering import ErrorHandler
from .mcp import error_format as mcp
from .openai_api import error_format as openai_api
from .pipeline import error_format as pipeline
from .retrieval import error_format as retrieval
from .search_service import error_format as search_service
from .v3 import error_format as v3

# The contract whose error format a path has: the first match. Paths outside all contracts have the format of v3.
_HANDLERS_BY_PATH: tuple[tuple[re.Pattern[str], ErrorHandler], ...] = (
    (re.compile(r"/agent(/|$)"), agent.handle_exception),
    (re.compile(r"/api/v1(/|$)"), search_service.handle_exception),
    (re.compile(r"/mcp/?$"), mcp.handle_exception),
    (re.compile(r"/v1(/|$)|/(models|chat/completions|embeddings)/?$"), openai_api.handle_exception),
    (re.compile(r"/functions(/|$)|/api/rag/answer/?$"), retrieval.handle_exception),
    (
        re.compile(r"/api/rag/(sources|webhooks|retrieve|explain|query)(/|$)|/api/rag/ingest/."),
        pipeline.handle_exception,
    ),
    (re.compile(r"/oauth/(register|token|revoke)/?$"), oauth.handle_exception),
    (re.compile(r"/scim(/|$)"), scim.handle_exception),
    (re.compile(r"/(api|metrics)(/|$)"), v3.handle_exception),
)


class _HttpError(APIException):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status


def returns_json(request: HttpRequest) -> bool:
    """Return whether errors of this path are JSON, never an HTML page."""
    return _handler_of(request) is not None


def error_response(request: HttpRequest, status: int, message: str) -> JsonResponse:
    """Render an error in the format of the path's contract; if a view has started, in the format that it uses."""
    response = _handle(request, _HttpError(status, message))
    return JsonResponse(response.data, status=status)


def database_error_response(request: HttpRequest, error: OperationalError) -> JsonResponse:
    """Render that the database does not answer, as the views of the path's contract do, with their `Retry-After`."""
    response = _handle(request, error)
    headers = {name: value for name, value in response.items() if name == "Retry-After"}
    return JsonResponse(response.data, status=response.status_code, headers=headers)


def _handle(request: HttpRequest, exception: Exception) -> Response:
    handle = request.META.get(ERROR_HANDLER_META_KEY) or _handler_of(request) or v3.handle_exception
    response = handle(exception, {})
    assert response is not None
    return response


def _handler_of(request: HttpRequest) -> ErrorHandler | None:
    path = re.sub("^/+", "/", request.path_info)
    return next((handle for pattern, handle in _HANDLERS_BY_PATH if pattern.match(path)), None)
