"""What every contract's views share: who may call, which organisation is meant, and how an error finds its words."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from django.db import OperationalError
from django.http.response import HttpResponseBase
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.views import set_rollback
from rest_framework.viewsets import ViewSet

from orgs import organization_resolver
from orgs.access.caller import get_caller as get_caller
from orgs.access.permissions import Scope
from orgs.models import Organization
from rag.errors import DatabaseUnavailable, Kind, ProviderFailed, RagError
from rag.services.sources import lookup
from ragsite.http import errors
from ragsite.http.openapi import COMMON_STATUSES, ErrorBody

from .rate_limits import CHANGES, RateLimit, consume

logger = structlog.get_logger(__name__)

ErrorHandler = Callable[[Exception, dict[str, Any]], Response | None]
CHOSEN_HANDLER = "ragsite.error_handler"
# A contract's shape of an error: status, message, details, and the core's error where it is one.
Body = Callable[[int, str, dict[str, Any], RagError | None], dict[str, Any]]

STATUS = {
    Kind.INVALID: 400,
    Kind.FORBIDDEN: 403,
    Kind.NOT_FOUND: 404,
    Kind.CONFLICT: 409,
    Kind.TOO_LARGE: 413,
    Kind.UNSUPPORTED: 415,
    Kind.UNPROCESSABLE: 422,
    Kind.UNAVAILABLE: 503,
    Kind.FULL: 507,
}


class ContractViewSet(ViewSet):
    """A view set of one contract. `error_handler` renders errors in that contract's format."""

    error_handler: ErrorHandler
    # The scope that an API key needs, by method.
    scopes: Mapping[str, Scope] = {}
    # Counts every request to the path, whatever its method. Without one, writes are counted as CHANGES.
    rate_limit: RateLimit | None = None
    # For the OpenAPI schema (ragsite.http.openapi).
    error_body: Any = ErrorBody
    error_statuses: tuple[int, ...] = COMMON_STATUSES
    # Further error statuses of single actions, by action.
    extra_error_statuses: Mapping[str, tuple[int, ...]] = {}
    path_names: Mapping[str, str] = {}

    @property
    def response_headers(self) -> dict[str, Any]:
        return self.rate_limit.openapi_headers if self.rate_limit else {}

    def get_exception_handler(self) -> ErrorHandler:
        return type(self).error_handler

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else request.method or ""
        require_scope(request, self.scopes.get(method))
        if self.rate_limit:
            consume(request, self.rate_limit)
        elif method not in SAFE_METHODS:
            consume(request, CHANGES)

    def handle_exception(self, exc: Exception) -> Response:
        # An unexpected one is answered outside of this view, in the same shape (rag.contracts.error_responses).
        self.request.META[CHOSEN_HANDLER] = self.get_exception_handler()
        return super().handle_exception(exc)


class CreateViewSet(ContractViewSet):
    """A view set that answers POST on its path."""

    def create(self, request: Request) -> HttpResponseBase:
        raise NotImplementedError


class SharedPathViewSet(CreateViewSet):
    """A path that two contracts define: the request body decides which contract's view set answers.

    Both need the same scope, so that it is checked before the body is read. Errors have the format of the contract
    that answers; `adapter` is the one for a body that cannot be read.
    """

    adapter: type[CreateViewSet]
    # For the OpenAPI schema: all view sets that may answer, and the id of the operation.
    adapters: tuple[type[CreateViewSet], ...]
    operation_id: str

    def select_adapter(self, body: Any) -> type[CreateViewSet]:
        raise NotImplementedError

    def create(self, request: Request) -> HttpResponseBase:
        self.adapter = self.select_adapter(request.data)
        view = self.adapter()
        view.setup(request)
        view.action = "create"
        return view.create(request)

    def get_exception_handler(self) -> ErrorHandler:
        return self.adapter.error_handler


def require_scope(request: Request, scope: Scope | None) -> None:
    """Raise PermissionDenied if the request's API key lacks the scope."""
    if scope is not None and not has_scope(request, scope):
        raise PermissionDenied(f"This API key does not have the scope `{scope.value}`.")


def has_scope(request: Request, scope: Scope) -> bool:
    """Whether the request's API key has it. An access token has no scopes: it may do everything that its user may."""
    key = get_caller(request).key
    return key is None or scope.value in key.scopes


def validated(serializer: type[Serializer[Any]], data: Any) -> dict[str, Any]:
    """The request's fields, checked. Raises DRF's ValidationError."""
    if not isinstance(data, dict):
        raise ValidationError({"body": "the body must be a JSON object"})
    form = serializer(data=data)
    form.is_valid(raise_exception=True)
    return dict(form.validated_data)


def organization(request: Request) -> Organization | None:
    """The organisation that the header X-Organization narrows to, by slug or id; None without it."""
    reference = organization_resolver.named_by_header(request)
    return lookup.resolve_organization(get_caller(request), reference) if reference else None


def organization_to_write(request: Request) -> Organization | None:
    """The organisation that a write goes to: the API key's, else the header's; None if neither names one."""
    named = organization(request)
    own = get_caller(request).organization
    if own and named and own != named:
        raise ValidationError({organization_resolver.HEADER: f"this API key writes to {own.slug} only"})
    return own or named


def status_of(error: RagError) -> int:
    """What a kind of error is in HTTP, unless a contract states another status."""
    return STATUS[error.kind]


def render(
    exception: Exception, context: dict[str, Any], body: Body, status: Callable[[RagError], int] = status_of
) -> Response | None:
    """An error in a contract's shape. None lets an unexpected exception through to the 500 handler, which logs it."""
    if isinstance(exception, OperationalError):
        outage = DatabaseUnavailable(errors.NO_DATABASE)
        outage.__cause__ = exception
        exception = outage
    if not isinstance(exception, RagError):
        response = errors.exception_handler(exception, context)
        if response is not None:
            response.data = body(response.status_code, response.data["message"], response.data["details"], None)
        return response
    set_rollback()
    code = status(exception)
    details = dict(exception.data)
    if field := getattr(exception, "field", None):
        details = {"field": field, "message": exception.message, **details}
    if code >= 500:
        cause = exception.__cause__
        logger.warning(
            "request_not_served",
            code=exception.code,
            reason=exception.message,
            cause=type(cause).__name__ if cause else "",
            exc_info=cause if isinstance(cause, OperationalError) else None,
        )
        details["request_id"] = errors.request_id()
    headers = {"Retry-After": str(wait)} if code == 503 and (wait := _wait(exception)) else {}
    return Response(body(code, exception.message, details, exception), status=code, headers=headers)


# Seconds: a server that restarts is away for as long.
_USUAL_WAIT = 2
_LONGEST_WAIT = 3600


def _wait(error: RagError) -> int:
    """Seconds after which another try makes sense; 0 where none will."""
    if not isinstance(error, ProviderFailed):
        return _USUAL_WAIT
    return max(_USUAL_WAIT, min(math.ceil(error.retry_after or 0), _LONGEST_WAIT)) if error.retry else 0
