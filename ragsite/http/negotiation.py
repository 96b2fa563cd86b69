"""Content negotiation: the format of a response."""

from collections.abc import Iterable
from typing import Any

from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class LenientNegotiation(DefaultContentNegotiation):
    """Uses a format that the client accepts, or the view's first one if it accepts none. Never responds with 406.

    RFC 9110, 12.5.1 allows a server to disregard the Accept header.
    """

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        choices = list(renderers)
        try:
            return super().select_renderer(request, choices, format_suffix)
        except (NotAcceptable, Http404):
            return choices[0], choices[0].media_type
