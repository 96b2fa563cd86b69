"""Bounds the requests that hold a thread of the web server for long: streams, and requests that wait for models.

Short requests always find a thread, and one account cannot take all places.
"""

import contextlib
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from django.conf import settings

from rag.errors import TooManyLongRequests
from ragsite.postgres import identity


@dataclass(slots=True)
class _Place:
    is_taken: bool = True


class LongRequestLimiter:
    """The long requests of this process, by account."""

    def __init__(self) -> None:
        self._in_progress: Counter[uuid.UUID] = Counter()
        self._lock = threading.Lock()
        self._current: ContextVar[_Place | None] = ContextVar("place", default=None)

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Count the current request as long while the block runs.

        A request needs one place, however often it enters. Workers and commands have no account and need none.

        Raises:
            TooManyLongRequests: If the account has no place left. It may take as many of RAG_MAX_LONG_REQUESTS places
                as it leaves free: half of them if it is alone, and half of the others' rest if not.
        """
        account = identity.current().user
        current = self._current.get()
        if account is None or (current is not None and current.is_taken):
            yield
            return
        self._enter(account)
        place = _Place()
        self._current.set(place)
        try:
            yield
        finally:
            place.is_taken = False  # a generator may end in another thread, whose variable this must not change
            with self._lock:
                self._in_progress[account] -= 1
                if not self._in_progress[account]:
                    del self._in_progress[account]

    def _enter(self, account: uuid.UUID) -> None:
        with self._lock:
            free = settings.RAG_MAX_LONG_REQUESTS - self._in_progress.total()
            if self._in_progress[account] >= free:
                raise TooManyLongRequests
            self._in_progress[account] += 1


LONG_REQUESTS = LongRequestLimiter()
