"""Notifies workers through the broker that documents are waiting."""

from rag import task_queue

# Large enough that the cost of a message is small, small enough that several workers share a job.
MAX_DOCUMENTS_PER_CELERY_MESSAGE = 32


def notify_workers(count: int) -> None:
    """Send messages for waiting documents, once the transaction is committed.

    A message carries a number and no ids: the worker decides which documents it claims (leases.claim_next). A few
    documents are sent one per message, because each may be long and every worker should get a share.

    Args:
        count: Number of documents that were put into the queue.
    """
    size = max(1, min(MAX_DOCUMENTS_PER_CELERY_MESSAGE, count // 16))
    task_queue.send_all("rag.ingest_documents", [[min(size, count - start)] for start in range(0, count, size)])
