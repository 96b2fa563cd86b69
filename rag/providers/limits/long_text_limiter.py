"""Bounds how many very long texts are read from the database at a time, and shares this between accounts.

RAG_MAX_DOCUMENT_EMBEDDINGS is their number, too (expensive_work_limiter.py).
"""

import contextlib
import uuid
from collections.abc import Iterator

from rag.errors import TooManyLongRequests

from .expensive_work_limiter import SlotLimiter

# To find a place in a longer text, PostgreSQL reads all of it: of 100 MB, up to three seconds and as much memory.
_LONG_BYTES = 8 * 2**20
_LIMITER = SlotLimiter("text-slots", TooManyLongRequests)


@contextlib.contextmanager
def turn_to_read(size: int, account: uuid.UUID | None) -> Iterator[None]:
    """Wait until texts of this size may be read, and read them in the block. Only very long ones wait.

    Args:
        size: The size of the texts in bytes.
        account: The account that reads them. Without one nobody waits.

    Raises:
        TooManyLongRequests: If too many very long texts wait to be read.
    """
    if account is None or size <= _LONG_BYTES:
        yield
        return
    with _LIMITER.admit(account, size=size), _LIMITER.slot():
        yield
