"""Bounds how many documents the web server's machine embeds at a time with a local model while their clients wait.

A web process embeds questions and documents on the same cores. A question takes no slot.
"""

from rag.errors import EmbeddingFailed
from rag.providers.limits import expensive_work_limiter


def _busy() -> EmbeddingFailed:
    return EmbeddingFailed(
        "Too many documents and long texts wait for the embedding model already. Try again in a moment. A document "
        "can also be sent as a job: POST /api/rag/ingest with `documents`.",
        is_rate_limited=True,
        is_own_limit=True,
        retry_after_seconds=expensive_work_limiter.MAX_WAIT_SECONDS,
    )


DOCUMENT_LIMITER = expensive_work_limiter.SlotLimiter("document-slots", _busy)
