"""The gauges of /metrics about ingestion jobs and their documents."""

from collections.abc import Iterator

from django.db.models import Count, Min
from django.utils import timezone

from rag.models import Condition, IngestionDocument, IngestionJob
from rag.services.jobs import job_lookup

from .gauge import Gauge

State, Status = IngestionDocument.State, IngestionJob.Status


def collect_job_gauges() -> Iterator[Gauge]:
    """Yield the gauges. The cost does not grow with the stored data: only open jobs and documents are counted."""
    yield Gauge("ragsite_open_jobs", "Ingestion jobs that have not ended.", "status", _open_jobs())
    open_documents = IngestionDocument.objects.filter(state__in=[State.QUEUED, State.RUNNING])
    by_state = dict.fromkeys((State.QUEUED.value, State.RUNNING.value), 0.0)
    by_state |= dict(open_documents.order_by().values_list("state").annotate(Count("pk")))
    yield Gauge("ragsite_open_documents", "Documents of ingestion jobs that are queued or running.", "state", by_state)
    by_condition = dict.fromkeys(Condition.values, 0.0) | job_lookup.count_by_condition(open_documents)
    yield Gauge("ragsite_document_condition", "Queued and running documents by condition.", "condition", by_condition)
    oldest = open_documents.aggregate(oldest=Min("job__created_at"))["oldest"]
    age_seconds = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    yield Gauge(
        "ragsite_oldest_open_document_seconds",
        "Age of the oldest job with queued or running documents.",
        values={"": age_seconds},
    )


def _open_jobs() -> dict[str, float]:
    open_statuses = (Status.QUEUED.value, Status.PROCESSING.value)
    open_jobs = IngestionJob.objects.filter(status__in=open_statuses).order_by()
    return {**dict.fromkeys(open_statuses, 0.0), **dict(open_jobs.values_list("status").annotate(Count("pk")))}
