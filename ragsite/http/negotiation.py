"""What a client says it accepts."""

from collections.abc import Iterable
from typing import Any

from django.http import Http404
from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


class LenientNegotiation(DefaultContentNegotiation):
    """What is accepted, if the view has it, else what the view answers anyway (RFC 9110, 12.5.1): never a 406."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> Any:
        choices = list(renderers)
        try:
            return super().select_renderer(request, choices, format_suffix)
        except (NotAcceptable, Http404):
            return choices[0], choices[0].media_type
