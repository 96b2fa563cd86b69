"""Deletes the inputs of job documents after the retention period. Until then a failed document can be retried."""

import datetime

from django.conf import settings
from django.utils import timezone

from rag.models import IngestionDocument

# Maximum number of documents whose inputs one statement deletes.
_BATCH_SIZE = 500


def delete_expired_inputs() -> None:
    """Delete texts and references to files of documents that ended RAG_JOB_RETENTION_DAYS ago. The rows stay."""
    cutoff = timezone.now() - datetime.timedelta(days=settings.RAG_JOB_RETENTION_DAYS)
    expired = IngestionDocument.objects.filter(finished_at__lt=cutoff).exclude(text="", original=None)
    while ids := list(expired.order_by("finished_at").values_list("pk", flat=True)[:_BATCH_SIZE]):
        # Checked again: a retry may have put some of them back into the queue.
        ended = IngestionDocument.objects.filter(pk__in=ids, finished_at__lt=cutoff)
        if not ended.update(text="", original=None):
            return
