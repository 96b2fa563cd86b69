"""The shape of errors that no view renders: unknown paths, bodies that are refused unread, unexpected exceptions."""

import re

from django.http import HttpRequest, JsonResponse
from rest_framework.exceptions import APIException

from .agent import errors as agent
from .common.base import CHOSEN_HANDLER, ErrorHandler
from .pipeline import errors as pipeline
from .retrieval import errors as retrieval
from .search_service import errors as search_service
from .v3 import errors as v3

# Whose shape a path has; the first that matches decides. What is in nobody's contract speaks v3's words.
_SHAPES: tuple[tuple[re.Pattern[str], ErrorHandler], ...] = (
    (re.compile(r"/agent(/|$)"), agent.handle),
    (re.compile(r"/api/v1(/|$)"), search_service.handle),
    (re.compile(r"/functions(/|$)|/api/rag/answer/?$"), retrieval.handle),
    (re.compile(r"/api/rag/(sources|retrieve|query)(/|$)|/api/rag/ingest/."), pipeline.handle),
    (re.compile(r"/(api|metrics)(/|$)"), v3.handle),
)


class _Refused(APIException):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status


def speaks_json(request: HttpRequest) -> bool:
    """Whether this path never answers with a page."""
    return _handler_of(request) is not None


def refusal(request: HttpRequest, status: int, message: str) -> JsonResponse:
    """The error in the shape of the contract whose path was called: the one that a view has chosen, where one has."""
    handle = request.META.get(CHOSEN_HANDLER) or _handler_of(request) or v3.handle
    response = handle(_Refused(status, message), {})
    assert response is not None
    return JsonResponse(response.data, status=status)


def _handler_of(request: HttpRequest) -> ErrorHandler | None:
    return next((handle for pattern, handle in _SHAPES if pattern.match(request.path_info)), None)
