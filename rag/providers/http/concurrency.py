"""How many requests of a process may wait for a model at a time: one that hangs must not take every thread with it."""

import contextlib
import threading
from collections.abc import Iterator

from django.conf import settings

from rag.errors import ProviderFailed


class Turns:
    """Of one kind of model."""

    def __init__(self) -> None:
        self._taken = 0
        self._changing = threading.Lock()

    @contextlib.contextmanager
    def one(self, model: str, failure: type[ProviderFailed]) -> Iterator[None]:
        """Raises the failure if RAG_MAX_MODEL_CALLS wait already."""
        with self._changing:
            if self._taken >= settings.RAG_MAX_MODEL_CALLS:
                raise failure(
                    f"Too many requests wait for {model} already. Try again in a moment.", is_rate_limited=True
                )
            self._taken += 1
        try:
            yield
        finally:
            with self._changing:
                self._taken -= 1


LANGUAGE_MODELS, EMBEDDERS = Turns(), Turns()
