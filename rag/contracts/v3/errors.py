"""v3's errors: `error` is a short type in words (contract, section 5)."""

from typing import Any

from rest_framework.response import Response

from rag.contracts.common.base import render
from rag.errors import RagError
from ragsite.http.errors import TITLES, envelope


def body(status: int, message: str, details: dict[str, Any], error: RagError | None = None) -> dict[str, Any]:
    return envelope(TITLES.get(status, "Error"), message, details)


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    return render(exception, context, body)
