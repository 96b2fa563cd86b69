"""v3's errors: `error` is a short type in words (contract, section 5)."""

from typing import Any

from rest_framework.response import Response

from accounts.envelope import TITLES
from rag.contracts.base import render


def handle(exception: Exception, context: dict[str, Any]) -> Response | None:
    return render(exception, context, lambda error, status: TITLES[status])
