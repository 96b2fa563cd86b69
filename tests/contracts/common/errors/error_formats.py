"""The error format of each contract, for tests."""

import datetime
from collections.abc import Callable
from typing import Any

from rag.contracts.agent import error_format as agent
from rag.contracts.common.error_rendering import ErrorHandler
from rag.contracts.pipeline import error_format as pipeline
from rag.contracts.retrieval import error_format as retrieval
from rag.contracts.search_service import error_format as search_service
from rag.contracts.v3 import error_format as v3
from ragsite.http.error_envelope import TITLES

HANDLERS: dict[str, ErrorHandler] = {
    "v3": v3.handle_exception,
    "retrieval": retrieval.handle_exception,
    "pipeline": pipeline.handle_exception,
    "agent": agent.handle_exception,
    "search service": search_service.handle_exception,
}
PIPELINE = {
    400: "INVALID_REQUEST",
    401: "UNAUTHENTICATED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    500: "INTERNAL_ERROR",
}
AGENT = {
    400: "INVALID_QUERY",
    401: "UNAUTHORIZED",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "PAYLOAD_TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    500: "AGENT_ERROR",
}
SEARCH_SERVICE = {
    400: "invalid_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    500: "internal_error",
}
NAMES = {"v3": TITLES, "retrieval": TITLES, "pipeline": PIPELINE, "agent": AGENT, "search service": SEARCH_SERVICE}


def parse_error(contract: str, body: Any) -> tuple[str, str, dict[str, Any]]:
    """The name, message and details of an error; checks that it has exactly the contract's fields."""
    if contract == "agent":
        assert set(body) == {"error"}
        error = body["error"]
        assert set(error) == {"type", "message", "details", "timestamp"}
        assert datetime.datetime.fromisoformat(error["timestamp"]).tzinfo
        assert error["details"] != {}
        return error["type"], error["message"], error["details"] or {}
    status = {"status"} if contract == "retrieval" else set()
    assert set(body) == {"error", "message", "details"} | status
    assert body.get("status", "error") == "error"
    assert isinstance(body["details"], dict)
    return body["error"], body["message"], body["details"]


def raising(exception: Exception) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise exception

    return fail
