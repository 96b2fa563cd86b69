"""The MCP server as an OAuth resource, and the authorization server beside it: their addresses and descriptions."""

from django.http import HttpRequest
from django.urls import reverse
from rest_framework.request import Request

from ragsite.http.addresses import build_public_url

from .clients import GRANT_TYPES, RESPONSE_TYPES
from .grants import SCOPE

# The path of the only resource (rag/contracts/mcp).
RESOURCE_PATH = "/mcp"


def resource_url(request: HttpRequest | Request) -> str:
    """Return the address of the MCP server, which access tokens name as their audience."""
    return _url(request, RESOURCE_PATH)


def metadata_url(request: HttpRequest | Request) -> str:
    """Return where the resource is described, for the header WWW-Authenticate (RFC 9728, section 5.1)."""
    return _url(request, f"/.well-known/oauth-protected-resource{RESOURCE_PATH}")


def issuer(request: HttpRequest) -> str:
    """Return the identifier of the authorization server."""
    return _url(request, "")


def describe_resource(request: HttpRequest) -> dict[str, object]:
    """Describe the MCP server (RFC 9728)."""
    return {
        "resource": resource_url(request),
        "authorization_servers": [issuer(request)],
        "scopes_supported": [SCOPE],
        "bearer_methods_supported": ["header"],
        "resource_name": "ragsite",
    }


def describe_server(request: HttpRequest) -> dict[str, object]:
    """Describe the authorization server (RFC 8414)."""
    return {
        "issuer": issuer(request),
        "authorization_endpoint": _url(request, reverse("oauth_authorize")),
        "token_endpoint": _url(request, reverse("oauth_token")),
        "registration_endpoint": _url(request, reverse("oauth_register")),
        "revocation_endpoint": _url(request, reverse("oauth_revoke")),
        "scopes_supported": [SCOPE],
        "response_types_supported": RESPONSE_TYPES,
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANT_TYPES,
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


def _url(request: HttpRequest | Request, path: str) -> str:
    http_request = request._request if isinstance(request, Request) else request
    return build_public_url(http_request, path or "/").rstrip("/")
