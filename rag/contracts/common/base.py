"""The base of all contract view sets: API key scopes, rate limits, the organisation of a request."""

import functools
from collections.abc import Iterable, Mapping

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import Serializer
from rest_framework.viewsets import ViewSet

from orgs.access import organization_resolver
from orgs.access.caller import get_caller as get_caller
from orgs.access.permissions import Scope
from orgs.models import Organization
from rag.providers.limits import read_limiter
from rag.services.sources import lookup
from ragsite.http import request_warnings
from ragsite.http.openapi import COMMON_STATUSES, ErrorBody
from ragsite.http.strict_fields import ValidatedFields

from .error_rendering import ErrorHandler
from .rate_limits import CHANGES, RateLimit, consume

ERROR_HANDLER_META_KEY = "ragsite.error_handler"


class ContractViewSet(ViewSet):
    """A view set of one contract. `error_handler` renders errors in that contract's format."""

    error_handler: ErrorHandler
    # The scope that an API key needs, by method.
    scopes: Mapping[str, Scope] = {}
    # Counts every request to the path, whatever its method. Without it, writes are counted as CHANGES.
    rate_limit: RateLimit | None = None
    # For the OpenAPI schema (ragsite.http.openapi).
    error_body: type = ErrorBody
    error_statuses: tuple[int, ...] = COMMON_STATUSES
    # Further error statuses of single actions, by action.
    extra_error_statuses: Mapping[str, tuple[int, ...]] = {}
    path_names: Mapping[str, str] = {}

    @property
    def response_headers(self) -> dict[str, object]:
        return self.rate_limit.openapi_headers if self.rate_limit else {}

    def get_exception_handler(self) -> ErrorHandler:
        return type(self).error_handler

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        method = "GET" if request.method == "HEAD" else request.method or ""
        read_limiter.begin(request.META, get_caller(request).user.pk)
        require_scope(request, self.scopes.get(method))
        if self.rate_limit:
            consume(request, self.rate_limit)
        elif method not in SAFE_METHODS:
            consume(request, CHANGES)

    def handle_exception(self, exc: Exception) -> Response:
        # Django's 500 handler renders unexpected exceptions with the same handler (rag.contracts.fallback_errors).
        self.request.META[ERROR_HANDLER_META_KEY] = self.get_exception_handler()
        return super().handle_exception(exc)


class CreateViewSet(ContractViewSet):
    """A view set that answers POST on its path."""

    def create(self, request: Request) -> HttpResponseBase:
        raise NotImplementedError


class SharedPathViewSet(CreateViewSet):
    """A path that two contracts define: the request body decides which contract's view set answers.

    Both need the same scope, so that it is checked before the body is read. Errors have the format of the contract
    that answers. `adapter` is initially the view set whose format is used for a body that cannot be read.
    """

    adapter: type[CreateViewSet]
    # For the OpenAPI schema: all view sets that may answer, and the id of the operation.
    adapters: tuple[type[CreateViewSet], ...]
    operation_id: str

    def select_adapter(self, body: object) -> type[CreateViewSet]:
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
    """Return whether the request's API key has the scope. Access tokens are not limited by scopes."""
    key = get_caller(request).key
    return key is None or scope.value in key.scopes


def validate(serializer: type[Serializer[None]], data: object) -> ValidatedFields:
    """Validate a request's data. Unknown fields of a body are ignored, with a warning (request_warnings).

    Returns:
        The validated fields.

    Raises:
        ValidationError: If a field is invalid or missing; messages by field (DRF).
    """
    if not isinstance(data, dict):
        raise ValidationError({"body": "the body must be a JSON object"})
    form = _kept_form(serializer)
    request_warnings.warn_of_unknown_fields(form, data)
    return dict(form.run_validation(data))


def validate_query(
    request: Request, serializer: type[Serializer[None]], *, others: Iterable[OpenApiParameter] = ()
) -> ValidatedFields:
    """Validate the query parameters of a list. Unknown ones are ignored, with a warning (request_warnings).

    Args:
        request: The request.
        serializer: The parameters that are validated.
        others: Further parameters of the list, which its view reads by itself.

    Returns:
        The validated parameters.

    Raises:
        ValidationError: If one is invalid or missing; messages by parameter (DRF).
    """
    form = _kept_form(serializer)
    names = [*form.fields, *(other.name for other in others)]
    request_warnings.warn_of_unknown_parameters(request.query_params, names)
    return dict(form.run_validation(request.query_params.dict()))


@functools.cache
def _kept_form(serializer: type[Serializer[None]]) -> Serializer[None]:
    """Return a serializer without data, which all requests share: a new one copies all of its fields."""
    return serializer()


def organization(request: Request) -> Organization | None:
    """Return the organisation that the header X-Organization names by slug or id; None without the header."""
    reference = organization_resolver.read_header(request)
    return lookup.resolve_organization(get_caller(request), reference) if reference else None


def organization_to_write(request: Request) -> Organization | None:
    """Return the organisation to write to: the API key's, else that of the header X-Organization, else None."""
    requested = organization(request)
    key_organization = get_caller(request).organization
    if key_organization and requested and key_organization != requested:
        raise ValidationError({organization_resolver.HEADER: f"this API key writes to {key_organization.slug} only"})
    return key_organization or requested
