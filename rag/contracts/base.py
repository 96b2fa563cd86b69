"""What every contract's views share: who may call, which organisation is meant, and how an error finds its words."""

from collections.abc import Callable
from typing import Any

import structlog
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import APIView, set_rollback

from accounts import envelope
from accounts.models import User
from orgs.models import Organization
from rag.errors import Kind, RagError
from rag.services import sources

logger = structlog.get_logger(__name__)

ErrorHandler = Callable[[Exception, dict[str, Any]], Response | None]

STATUS = {
    Kind.INVALID: 400,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.TOO_LARGE: 413,
    Kind.UNSUPPORTED: 415,
    Kind.UNPROCESSABLE: 422,
    Kind.UNAVAILABLE: 503,
}


class ContractView(APIView):
    """A view of one contract. `error_handler` gives errors that contract's shape."""

    error_handler: ErrorHandler

    def get_exception_handler(self) -> ErrorHandler:
        return type(self).error_handler


class PostView(ContractView):
    """A view that answers POST."""

    def post(self, request: Request) -> Response:
        raise NotImplementedError


class SharedPath(PostView):
    """One path that two contracts claim: the body says which one answers, and errors take its shape."""

    adapter: type[PostView]

    def choose(self, body: Any) -> type[PostView]:
        raise NotImplementedError

    def post(self, request: Request) -> Response:
        self.adapter = self.choose(request.data)
        view = self.adapter()
        view.setup(request)
        return view.post(request)

    def get_exception_handler(self) -> ErrorHandler:
        return self.adapter.error_handler


def validated(serializer: type[Serializer[Any]], data: Any) -> dict[str, Any]:
    """The request's fields, checked. Raises DRF's ValidationError."""
    if not isinstance(data, dict):
        raise ValidationError({"body": "the body must be a JSON object"})
    form = serializer(data=data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def caller(request: Request) -> User:
    """Who is asking: the permission classes have let nobody else through."""
    assert isinstance(request.user, User)
    return request.user


def organization(request: Request) -> Organization | None:
    """The organisation that the header X-Organization names, by slug or id; None without it."""
    reference = request.headers.get("X-Organization", "").strip()
    return sources.organization_of(caller(request), reference) if reference else None


def render(exception: Exception, context: dict[str, Any], name: Callable[[RagError, int], str]) -> Response | None:
    """The envelope for a core error, `error` named by the contract; everything else as accounts.envelope does it."""
    if not isinstance(exception, RagError):
        return envelope.exception_handler(exception, context)
    set_rollback()
    status = STATUS[exception.kind]
    details = dict(exception.data)
    if field := getattr(exception, "field", None):
        details = {"field": field, "message": exception.message, **details}
    if status >= 500:
        cause = type(exception.__cause__).__name__ if exception.__cause__ else ""
        logger.warning("request_not_served", code=exception.code, reason=exception.message, cause=cause)
        details["request_id"] = envelope.request_id()
    return Response(envelope.envelope(name(exception, status), exception.message, details), status=status)
