"""POST /mcp: the streamable HTTP transport of MCP, with a JSON response to each message and without sessions."""

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from orgs.authentication.oauth_tokens import OAuthTokenAuthentication
from rag.contracts.common.base import ContractViewSet, get_caller, organization
from rag.contracts.common.rate_limits import QUERIES, consume
from ragsite.postgres.models import is_storable

from . import messages, tools
from .error_format import INVALID_REQUEST, RpcError, error_message, handle_exception


class Mcp(ContractViewSet):
    """Tools and documents for agents."""

    authentication_classes = (OAuthTokenAuthentication, *ContractViewSet.authentication_classes)
    error_handler = staticmethod(handle_exception)
    scopes = {"POST": Scope.QUERY}

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        _check_origin(request)
        super().initial(request, *args, **kwargs)

    @extend_schema(exclude=True)
    def create(self, request: Request) -> Response:
        message = request.data
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            body = error_message(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message.")
            return Response(body, status=400)
        method, request_id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if not isinstance(method, str) or request_id is None:  # a notification or a response
            return Response(status=202)
        is_id = isinstance(request_id, int) or (isinstance(request_id, str) and is_storable(request_id))
        if not is_id or not isinstance(params, dict):
            return Response(error_message(INVALID_REQUEST, "id or params have a wrong type."), status=400)
        if method in messages.COUNTED_METHODS:
            consume(request, QUERIES)
        try:
            result = messages.answer(method, params, tools.Request(get_caller(request), organization(request)))
        except RpcError as error:
            return Response(error_message(error.code, error.message, request_id))
        return Response({"jsonrpc": "2.0", "id": request_id, "result": result})


def _check_origin(request: Request) -> None:
    """Refuse web pages of origins that are not known (MCP, "Transports", security warning).

    Raises:
        PermissionDenied: If the request has an `Origin` that is neither this site nor in CORS_ALLOWED_ORIGINS.
    """
    origin = request.headers.get("Origin")
    own_origin = f"{request.scheme}://{request.get_host()}"
    if origin is not None and origin not in (own_origin, *settings.CORS_ALLOWED_ORIGINS):
        raise PermissionDenied("Web pages of this origin may not call the MCP server.")
