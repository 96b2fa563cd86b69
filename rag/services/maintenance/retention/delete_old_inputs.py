"""Deletes the inputs of job documents after the retention period. Until then a failed document can be retried.

Old jobs are deleted with their rows, except for the newest of each source.
"""

import datetime
import uuid

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from rag.models import DataSource, IngestionDocument, IngestionJob

# Maximum number of documents whose inputs one statement deletes.
_BATCH_SIZE = 500
# How many jobs of a source are kept longer than the retention period.
MAX_ENDED_JOBS = 1_000


def delete_expired_inputs() -> None:
    """Delete texts and references to files of documents that ended RAG_JOB_RETENTION_DAYS ago.

    The rows of a job that ended before that time stay if it is among the newest MAX_ENDED_JOBS jobs of its source.
    """
    cutoff = timezone.now() - datetime.timedelta(days=settings.RAG_JOB_RETENTION_DAYS)
    expired = IngestionDocument.objects.filter(finished_at__lt=cutoff).exclude(text="", original=None)
    while ids := list(expired.order_by("finished_at").values_list("pk", flat=True)[:_BATCH_SIZE]):
        # Checked again: a retry may have put some of them back into the queue.
        ended = IngestionDocument.objects.filter(pk__in=ids, finished_at__lt=cutoff)
        if not ended.update(text="", original=None):
            break
    for source_id in DataSource.objects.order_by("pk").values_list("pk", flat=True):
        _delete_old_jobs(source_id, cutoff)


def _delete_old_jobs(source_id: uuid.UUID, cutoff: datetime.datetime) -> None:
    jobs = IngestionJob.objects.filter(source=source_id, finished_at__isnull=False).order_by("-pk")
    for job in jobs[MAX_ENDED_JOBS:].iterator():
        if job.finished_at is None or job.finished_at >= cutoff:
            continue
        with transaction.atomic():
            # A retry may have opened the job again.
            ended = IngestionJob.objects.select_for_update().filter(pk=job.pk, finished_at__lt=cutoff).first()
            if ended is not None:
                ended.delete()
