"""Ends waiting for libraries whose calls have no deadline, such as those that connect to a server of SFTP."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from .base import ListingFailed
from .http_client import TIMEOUT_SECONDS

Result = TypeVar("Result")

# How many abandoned calls of a server may wait in this process before it is left alone, and for how long: a connection
# that was cut off without a word never ends, and the server may be there again. It is left alone longer each time, so
# that the calls of a server that is away for good do not pile up.
MAX_ABANDONED, ABANDONED_SECONDS = 4, 3600
_abandoned: defaultdict[str, list[tuple[threading.Thread, float]]] = defaultdict(list)


class BoundedCalls:
    """Runs the calls of one connection, each in a thread that is abandoned when the time is over.

    After that the connection is not used any more: the abandoned call still uses it.
    """

    def __init__(self, server: str) -> None:
        """Prepare calls of the server with this address."""
        self._server, self._has_abandoned = server, False

    def call(self, function: Callable[[], Result], *, ends_at: float | None = None) -> Result:
        """Return what the function returns.

        Args:
            function: The call.
            ends_at: When to give up, of time.monotonic; TIMEOUT_SECONDS from now without it.

        Raises:
            ListingFailed: If it has not returned in time, or a call of this connection has not.
        """
        waiting = _abandoned[self._server]
        waiting[:] = [(thread, since) for thread, since in waiting if thread.is_alive()]
        oldest = time.monotonic() - ABANDONED_SECONDS * max(1, len(waiting) // MAX_ABANDONED)
        if self._has_abandoned or sum(since > oldest for _, since in waiting) >= MAX_ABANDONED:
            raise ListingFailed("The file system still does not answer an earlier request.")
        future: Future[Result] = Future()
        thread = threading.Thread(target=_run, args=(function, future), daemon=True)
        thread.start()
        thread.join(max(0.0, TIMEOUT_SECONDS if ends_at is None else ends_at - time.monotonic()))
        if not future.done():
            self._has_abandoned = True
            waiting.append((thread, time.monotonic()))
            raise ListingFailed("The file system did not answer in time.")
        return future.result()


def _run(function: Callable[[], Result], future: "Future[Result]") -> None:
    try:
        future.set_result(function())
    except BaseException as error:
        future.set_exception(error)
