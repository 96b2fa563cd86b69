"""Limits how many requests of a process wait for a model, so that a hanging model cannot occupy all threads."""

import contextlib
import threading
from collections.abc import Iterator

from django.conf import settings

from rag.errors import ProviderFailed
from ragsite.observability import measurements

from .long_requests import LONG_REQUESTS


class ConcurrencyLimiter:
    """Counts the calls of one kind of model that are in progress."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def slot(self, model: str, failure: type[ProviderFailed]) -> Iterator[None]:
        """Count a call while the block runs.

        Args:
            model: The model's name, for the message.
            failure: The exception to raise.

        Raises:
            ProviderFailed: If RAG_MAX_MODEL_CALLS calls are in progress already; its class is `failure`.
            TooManyLongRequests: If the account has too many long requests in progress.
        """
        with LONG_REQUESTS.place(), self._counted(model, failure):
            yield

    @contextlib.contextmanager
    def _counted(self, model: str, failure: type[ProviderFailed]) -> Iterator[None]:
        with self._lock:
            if self._count >= settings.RAG_MAX_MODEL_CALLS:
                raise failure(
                    f"Too many requests wait for {model} already. Try again in a moment.", is_rate_limited=True
                )
            self._count += 1
        try:
            with measurements.measure("model", model):
                yield
        finally:
            with self._lock:
                self._count -= 1


LANGUAGE_MODEL_CALLS, EMBEDDER_CALLS = ConcurrencyLimiter(), ConcurrencyLimiter()
