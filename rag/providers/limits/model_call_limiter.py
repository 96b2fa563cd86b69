"""Limits how many requests of a process wait for a model, so that a hanging model cannot occupy all threads."""

import contextlib
import threading
from collections.abc import Iterator

from django.conf import settings
from opentelemetry.trace import Span, SpanKind

from rag.errors import ProviderFailed
from ragsite.observability import measurement_buffer

from .long_request_limiter import LONG_REQUESTS


class ModelCallLimiter:
    """Counts the calls of one kind of model that are in progress."""

    def __init__(self, operation: str) -> None:
        """Count calls of this operation, as the semantic conventions of OpenTelemetry name it."""
        self._operation = operation
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def call(self, model: str, failure: type[ProviderFailed], *, measured_as: str = "") -> Iterator[Span | None]:
        """Count and trace a call while the block runs. Yields its span; None if traces are off.

        Args:
            model: The model's name, for the message.
            failure: The exception to raise.
            measured_as: See measure_model_call.

        Raises:
            ProviderFailed: If RAG_MAX_MODEL_CALLS calls are in progress already; its class is `failure`.
            TooManyLongRequests: If the account has too many long requests in progress.
        """
        with LONG_REQUESTS.admit(), self._counted(model, failure, measured_as) as span:
            yield span

    @contextlib.contextmanager
    def _counted(self, model: str, failure: type[ProviderFailed], measured_as: str) -> Iterator[Span | None]:
        with self._lock:
            if self._count >= settings.RAG_MAX_MODEL_CALLS:
                raise failure(
                    f"Too many requests wait for {model} already. Try again in a moment.",
                    is_rate_limited=True,
                    is_own_limit=True,
                )
            self._count += 1
        try:
            with measure_model_call(self._operation, model, measured_as=measured_as) as span:
                yield span
        finally:
            with self._lock:
                self._count -= 1


def measure_model_call(
    operation: str, model: str, *, measured_as: str = ""
) -> contextlib.AbstractContextManager[Span | None]:
    """Measure a call of a model behind an endpoint, with the attributes of OpenTelemetry's GenAI conventions.

    Args:
        operation: What the model does, as the conventions name it.
        model: The model's name.
        measured_as: Under which name it is measured; empty for `model`. Each name is kept for ever.
    """
    name = measured_as or model
    return measurement_buffer.measure(
        "model",
        name,
        span_name=f"{operation} {name}",
        span_kind=SpanKind.CLIENT,
        gen_ai__operation__name=operation,
        gen_ai__request__model=model,
    )


LANGUAGE_MODEL_CALLS, EMBEDDER_CALLS = ModelCallLimiter("chat"), ModelCallLimiter("embeddings")
