"""Bounds the requests of one account that only read and are in progress in a web process.

One that reads very many rows holds its thread for seconds. Requests that change something, and questions, have rate
limits instead.
"""

import threading
import uuid
from collections import Counter

from rag.errors import TooManyReads

# Two thirds of the threads of a process.
MAX_READS = 16
_ACCOUNT_META_KEY = "ragsite.reading_account"
_lock = threading.Lock()
_in_progress: Counter[uuid.UUID] = Counter()


def begin(request_meta: dict[str, object], account: uuid.UUID | None) -> None:
    """Count a GET or HEAD request of the account until `end`. A request without an account is not counted.

    Raises:
        TooManyReads: If MAX_READS of the account are in progress.
    """
    is_read = request_meta["REQUEST_METHOD"] in ("GET", "HEAD")
    if not is_read or account is None or _ACCOUNT_META_KEY in request_meta:
        return
    with _lock:
        if _in_progress[account] >= MAX_READS:
            raise TooManyReads
        _in_progress[account] += 1
    request_meta[_ACCOUNT_META_KEY] = account


def end(request_meta: dict[str, object]) -> None:
    """End the count of a request, if it was counted. The middleware calls this when there is a response."""
    account = request_meta.pop(_ACCOUNT_META_KEY, None)
    if not isinstance(account, uuid.UUID):
        return
    with _lock:
        _in_progress[account] -= 1
        if not _in_progress[account]:
            del _in_progress[account]
