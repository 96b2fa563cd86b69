"""The retrieval contract's errors: v3's words, and `"status": "error"`."""

from typing import Any

from rest_framework.response import Response

from rag.contracts.common.base import render, status_of
from rag.errors import Kind, NoLanguageModel, ProviderFailed, RagError
from ragsite.http.errors import TITLES, envelope


def body(status: int, message: str, details: dict[str, Any], error: RagError | None = None) -> dict[str, Any]:
    return {"status": "error", **envelope(TITLES.get(status, "Error"), message, details)}


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    return render(exception, context, body, _status)


def _status(error: RagError) -> int:
    """ "500: Embedding API failure, DB error, or LLM timeout"; "Handle 429 from AI Gateway gracefully → return 503".

    Without a language model there is nothing that has failed: 503, as elsewhere.
    """
    if error.kind is not Kind.UNAVAILABLE:
        return status_of(error)
    busy = isinstance(error, ProviderFailed) and error.busy
    return 503 if busy or isinstance(error, NoLanguageModel) else 500
