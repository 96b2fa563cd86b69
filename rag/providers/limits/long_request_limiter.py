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
class _LongRequest:
    is_in_progress: bool = True


class LongRequestLimiter:
    """The long requests of this process, by account."""

    def __init__(self) -> None:
        self._in_progress: Counter[uuid.UUID] = Counter()
        self._lock = threading.Lock()
        self._current: ContextVar[_LongRequest | None] = ContextVar("long_request", default=None)

    @contextlib.contextmanager
    def admit(self) -> Iterator[None]:
        """Count the current request among the long ones until the block ends.

        A request is counted once, even if it is admitted again within the block. Workers and commands have no account
        and are not counted.

        The account is that of the database identity: clients of models, which wait, do not know who asks.

        There are RAG_MAX_LONG_REQUESTS places. An account may take as many as then remain free: alone half of them, and
        otherwise half of what the other accounts have left.

        Raises:
            TooManyLongRequests: If the account may take no further place.
        """
        account = identity.current().user
        current = self._current.get()
        if account is None or (current is not None and current.is_in_progress):
            yield
            return
        self._enter(account)
        request = _LongRequest()
        self._current.set(request)
        try:
            yield
        finally:
            request.is_in_progress = False  # a generator may end in another thread, whose variable this must not change
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
