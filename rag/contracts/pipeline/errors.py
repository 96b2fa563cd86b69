"""The pipeline contract's errors: `error` is a code (contract, "Failure Summary")."""

from typing import Any

from rest_framework.exceptions import APIException
from rest_framework.response import Response

from rag.contracts.base import render

# For what happens before a request reaches the pipeline, and has no code in the contract.
_CODES = {
    400: "INVALID_REQUEST",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    406: "NOT_ACCEPTABLE",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "RATE_LIMITED",
}


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    response = render(exception, context, lambda error, status: error.code)
    if response is not None and (isinstance(exception, APIException) or response.status_code in (403, 404)):
        response.data["error"] = getattr(exception, "code", None) or _CODES.get(response.status_code, "ERROR")
    return response
