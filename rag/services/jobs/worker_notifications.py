"""Notifies workers through the broker that documents are waiting."""

import math

from rag import task_queue

# As many as are embedded and written together, if they are short.
MAX_DOCUMENTS_PER_CELERY_MESSAGE = 64
# Small jobs are announced with as many messages as documents, so that every worker gets one.
_MIN_MESSAGES = 16


def notify_workers(count: int) -> None:
    """Send messages for waiting documents, once the transaction is committed.

    A message carries a number and no ids: the worker decides which documents, and how many at a time, it claims
    (claims.claim_next). The numbers add up to at least twice the documents, so that no worker ends while others still
    have many. What comes too late finds nothing to do.

    Args:
        count: Number of documents that were put into the queue.
    """
    size = min(MAX_DOCUMENTS_PER_CELERY_MESSAGE, count)
    messages = max(min(count, _MIN_MESSAGES), math.ceil(2 * count / MAX_DOCUMENTS_PER_CELERY_MESSAGE))
    task_queue.send_all("rag.ingest_documents", [[size]] * messages)
