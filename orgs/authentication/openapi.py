"""The authentication schemes of the OpenAPI schema; importing this module registers them."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema


class AccessTokenScheme(OpenApiAuthenticationExtension):
    target_class = "orgs.authentication.access_tokens.AccessTokenAuthentication"
    name = "bearer"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {
            "type": "http",
            "scheme": "bearer",
            "description": "An access token of POST /api/auth/token, or an API key (rk_…).",
        }


class ApiKeyScheme(OpenApiAuthenticationExtension):
    target_class = "orgs.authentication.api_key_header.ApiKeyAuthentication"
    name = "apiKey"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, str]:
        return {"type": "apiKey", "in": "header", "name": "X-API-Key", "description": "An API key (rk_…), not a token."}


class AnonymousOrganizationScheme(OpenApiAuthenticationExtension):
    """Not part of the schema: the API reference is the same on every installation."""

    target_class = "orgs.authentication.anonymous.AnonymousOrganizationAuthentication"
    name = []

    def get_security_requirement(self, auto_schema: AutoSchema) -> Any:
        return None

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, str]]:
        return []
