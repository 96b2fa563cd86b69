"""Retrieval's errors: v3's words, and `status` as in its successes (docs/contracts.md)."""

from typing import Any

from rest_framework.response import Response

from accounts.envelope import TITLES
from rag.contracts.base import render


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    response = render(exception, context, lambda error, status: TITLES[status])
    if response is not None:
        response.data = {"status": "error", **response.data}
    return response
