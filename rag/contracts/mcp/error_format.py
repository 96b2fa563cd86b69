"""Errors of MCP: JSON-RPC errors. Requests whose message is not answered have an HTTP error status too."""

from rest_framework.exceptions import ParseError
from rest_framework.response import Response

from rag.contracts.common.error_rendering import render_error
from rag.errors import RagError

INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32600, -32601, -32602, -32603
_PARSE_ERROR = -32700  # JSON-RPC 2.0, section 5.1: "Invalid JSON was received by the server."


class RpcError(Exception):
    """A message that cannot be answered."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def error_message(code: int, message: str, request_id: object = None) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    return error_message(INTERNAL_ERROR if status >= 500 else INVALID_REQUEST, message)


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    response = render_error(exception, context, format_error)
    if response is not None and isinstance(exception, ParseError):
        response.data["error"]["code"] = _PARSE_ERROR
    return response
