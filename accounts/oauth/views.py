"""The endpoints that clients call: metadata, registration, tokens, revocation. Errors are those of the protocol."""

import json

from django.http import HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.http.response import HttpResponseBase
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import PermissionDenied

from accounts.models import OAuthClient
from ragsite.http.require_https import require_https
from ragsite.postgres import identity

from . import clients, grants, resource
from .errors import OAuthError

_MAX_BODY_BYTES = 16 * 1024


class ResourceMetadata(View):
    """Describes the MCP server."""

    def get(self, request: HttpRequest) -> JsonResponse:
        return JsonResponse(resource.describe_resource(request))


class ServerMetadata(View):
    """Describes the authorization server."""

    def get(self, request: HttpRequest) -> JsonResponse:
        return JsonResponse(resource.describe_server(request))


@method_decorator(csrf_exempt, name="dispatch")  # clients send no cookies
class _Endpoint(View):
    """Base: requires HTTPS, limits the body, runs with the database role of sign-in, forbids copies of the response."""

    http_method_names = ("post",)

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        identity.set_current(identity.SIGN_IN)
        try:
            require_https(request)
            if len(request.body) > _MAX_BODY_BYTES:
                raise OAuthError("invalid_request", f"The body has more than {_MAX_BODY_BYTES:,} bytes.", status=413)
            response = super().dispatch(request, *args, **kwargs)
        except PermissionDenied as error:
            response = OAuthError("invalid_request", str(error), status=403).response()
        except OAuthError as error:
            response = error.response()
        response["Cache-Control"] = "no-store"
        return response

    def http_method_not_allowed(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = OAuthError("invalid_request", "Send a POST request.", status=405).response()
        response["Allow"] = "POST"
        return response


class Register(_Endpoint):
    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            metadata = json.loads(request.body)
        except (ValueError, RecursionError):
            raise OAuthError("invalid_client_metadata", "The body is no JSON document.") from None
        return JsonResponse(clients.describe(clients.register(metadata)), status=201)


class Token(_Endpoint):
    def post(self, request: HttpRequest) -> HttpResponse:
        form, kind = request.POST, request.POST.get("grant_type")
        if kind not in clients.GRANT_TYPES:
            raise OAuthError("unsupported_grant_type", f"grant_type must be one of: {', '.join(clients.GRANT_TYPES)}.")
        client, own_resource = _read_client(form), resource.resource_url(request)
        if form.getlist("resource", [own_resource]) != [own_resource]:
            raise OAuthError("invalid_target", f"The only resource is {own_resource}.")
        if kind == "refresh_token":
            token = _required(form, "refresh_token")
            return JsonResponse(grants.refresh(token, client=client, resource=own_resource))
        code, redirect_uri, verifier = (_required(form, name) for name in ("code", "redirect_uri", "code_verifier"))
        tokens = grants.exchange_code(code, client=client, redirect_uri=redirect_uri, verifier=verifier)
        return JsonResponse(tokens)


class Revoke(_Endpoint):
    def post(self, request: HttpRequest) -> HttpResponse:
        client, token = _read_client(request.POST), _required(request.POST, "token")
        grants.revoke(token, client=client, resource=resource.resource_url(request))
        return JsonResponse({})


def _read_client(form: QueryDict) -> OAuthClient:
    client = clients.find(form.get("client_id"))
    if client is None:
        raise OAuthError("invalid_client", "There is no client with this client_id. Register again.", status=401)
    return client


def _required(form: QueryDict, name: str) -> str:
    """Return the only value of a parameter (RFC 6749, section 3.2: none may be sent twice)."""
    values = form.getlist(name)
    if len(values) != 1 or not values[0] or "\0" in values[0]:
        raise OAuthError("invalid_request", f"{name} is missing, or was sent more than once.")
    return values[0]
