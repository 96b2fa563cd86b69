"""What follows when documents of jobs have failed, wherever that is noticed."""

import uuid
from collections.abc import Sequence

from rag.services.operations.measurements import measured_documents
from rag.services.webhooks import events


def record(document_ids: Sequence[uuid.UUID]) -> None:
    """Measure the failures and store their events, inside the transaction that marks the documents as failed."""
    events.record_failed_documents(document_ids)
    measured_documents.record_failed(document_ids)
