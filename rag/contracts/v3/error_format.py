"""v3's errors: `error` is a short error type (contract, section 5)."""

from rest_framework.response import Response

from rag.contracts.common.error_rendering import render_error
from rag.errors import RagError
from ragsite.http.error_envelope import TITLES, error_body


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    return error_body(TITLES.get(status, "Error"), message, details)


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error)
