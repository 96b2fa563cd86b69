"""The gauges of /metrics about jobs, documents, quotas and quality."""

from collections.abc import Iterator

from django.db.models import Count, Min
from django.utils import timezone

from rag.models import Condition, IngestionDocument, IngestionJob, Usage
from rag.services.evaluation import quality
from rag.services.jobs import job_lookup

from .gauge import Gauge

# How many organisations have labels of their own: those with the most chunks.
_MAX_ORGANIZATIONS = 100
_STORED = (
    ("chunks", f"Chunks that the organisation stores. Only the {_MAX_ORGANIZATIONS} organisations with most chunks."),
    ("bytes", "Bytes that the organisation stores, in texts and files."),
    ("max_chunks", "The quota: the largest number of chunks that the organisation may store."),
    ("max_bytes", "The quota: the largest number of bytes that the organisation may store."),
)
# How many data sources have labels of their own.
_MAX_SOURCES = 200

State, Status = IngestionDocument.State, IngestionJob.Status


def collect_job_gauges() -> Iterator[Gauge]:
    """Yield the gauges.

    The cost does not grow with the stored data: of jobs and documents, only the open ones are counted.
    """
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
    yield from _stored()
    ndcg_by_source = quality.latest_ndcg(_MAX_SOURCES)
    yield Gauge(
        "ragsite_quality_ndcg10",
        "nDCG@10 of the latest run on the golden questions of a data source.",
        "source",
        ndcg_by_source,
    )


def _stored() -> Iterator[Gauge]:
    """Yield the gauges of what organisations store and of their quotas."""
    columns = ("organization__slug", "chunks", "bytes", "organization__max_chunks", "organization__max_bytes")
    usage_rows = list(Usage.objects.order_by("-chunks", "pk").values_list(*columns)[:_MAX_ORGANIZATIONS])
    for column, (name, help_text) in enumerate(_STORED, start=1):
        values = {row[0]: float(row[column]) for row in usage_rows if row[column] is not None}
        yield Gauge(f"ragsite_organization_{name}", help_text, "organization", values)


def _open_jobs() -> dict[str, float]:
    open_statuses = (Status.QUEUED.value, Status.PROCESSING.value)
    open_jobs = IngestionJob.objects.filter(status__in=open_statuses).order_by()
    return {**dict.fromkeys(open_statuses, 0.0), **dict(open_jobs.values_list("status").annotate(Count("pk")))}
