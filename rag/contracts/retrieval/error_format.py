"""The retrieval contract's errors: the format of v3 with `"status": "error"`."""

from rest_framework.response import Response

from rag.contracts.common.error_rendering import http_status, render_error
from rag.errors import ErrorKind, NoLanguageModel, ProviderFailed, RagError
from ragsite.http.error_envelope import TITLES, error_body


def format_error(
    status: int, message: str, details: dict[str, object], error: RagError | None = None
) -> dict[str, object]:
    return {"status": "error", **error_body(TITLES.get(status, "Error"), message, details)}


def handle_exception(exception: Exception, context: dict[str, object]) -> Response | None:
    return render_error(exception, context, format_error, _status)


def _status(error: RagError) -> int:
    """Return the status of an error.

    Contract: "500: Embedding API failure, DB error, or LLM timeout"; "Handle 429 from AI Gateway gracefully → return
    503". A language model that is not configured is a 503, as in the other contracts.
    """
    if error.kind is not ErrorKind.UNAVAILABLE:
        return http_status(error)
    is_busy = isinstance(error, ProviderFailed) and error.is_rate_limited
    return 503 if is_busy or isinstance(error, NoLanguageModel) else 500
