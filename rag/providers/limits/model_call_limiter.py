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
    def call(self, model: str, failure: type[ProviderFailed]) -> Iterator[Span | None]:
        """Count and trace a call while the block runs. Yields its span; None if traces are off.

        Args:
            model: The model's name, for the message.
            failure: The exception to raise.

        Raises:
            ProviderFailed: If RAG_MAX_MODEL_CALLS calls are in progress already; its class is `failure`.
            TooManyLongRequests: If the account has too many long requests in progress.
        """
        with LONG_REQUESTS.admit(), self._counted(model, failure) as span:
            yield span

    @contextlib.contextmanager
    def _counted(self, model: str, failure: type[ProviderFailed]) -> Iterator[Span | None]:
        with self._lock:
            if self._count >= settings.RAG_MAX_MODEL_CALLS:
                raise failure(
                    f"Too many requests wait for {model} already. Try again in a moment.",
                    is_rate_limited=True,
                    is_own_limit=True,
                )
            self._count += 1
        try:
            with measure_model_call(self._operation, model) as span:
                yield span
        finally:
            with self._lock:
                self._count -= 1


def measure_model_call(operation: str, model: str) -> contextlib.AbstractContextManager[Span | None]:
    """Measure a call of a model behind an endpoint, with the attributes of OpenTelemetry's GenAI conventions."""
    return measurement_buffer.measure(
        "model",
        model,
        span_name=f"{operation} {model}",
        span_kind=SpanKind.CLIENT,
        gen_ai__operation__name=operation,
        gen_ai__request__model=model,
    )


LANGUAGE_MODEL_CALLS, EMBEDDER_CALLS = ModelCallLimiter("chat"), ModelCallLimiter("embeddings")
