"""The search service's errors: `error` is a code in snake_case (contract, "Common Error Codes")."""

from typing import Any

from rest_framework.response import Response

from rag.contracts.base import render

_CODES = {
    400: "invalid_request",
    401: "unauthorized",
    404: "not_found",
    429: "rate_limit_exceeded",
    500: "internal_error",
    503: "service_unavailable",
}


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    response = render(exception, context, lambda error, status: error.code)
    if response is not None:
        code = _CODES.get(response.status_code, "invalid_request")
        if response.data["details"].get("field") == "query":
            code = "invalid_query"
        if response.data["error"] == "QUERY_NOT_FOUND":
            code = "query_not_found"
        response.data["error"] = code
    return response
