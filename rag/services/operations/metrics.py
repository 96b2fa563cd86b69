"""What operators watch, read from the rows at the moment of asking: so every process tells the same."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db.models import Count, Min
from django.utils import timezone

from rag import queue
from rag.models import Condition, IngestionDocument, IngestionJob, Usage
from rag.services.evaluation import quality
from rag.services.jobs import queries

from . import health

# Organisations that the gauges name: those that store most.
_NAMED = 100
_STORED = (
    ("chunks", f"Chunks stored, of the {_NAMED} organisations that have most."),
    ("bytes", "Bytes stored by them, in texts and files."),
    ("max_chunks", "The most chunks that they may store."),
    ("max_bytes", "The most bytes, likewise."),
)
# Sources whose quality is told: a label for each.
_MOST_SOURCES = 200

State, Status = IngestionDocument.State, IngestionJob.Status


@dataclass(frozen=True, slots=True)
class Gauge:
    """values: by the value of the label; under "" where there is no label."""

    name: str
    help: str
    label: str = ""
    values: dict[str, float] = field(default_factory=dict)


def collect_gauges() -> Iterator[Gauge]:
    """Cheap to read at any size: of jobs and documents only those that are open. Without a database, `up` alone."""
    up = health.check_components()
    yield Gauge(
        "ragsite_up", "Whether what a request needs answers.", "component", {name: float(ok) for name, ok in up.items()}
    )
    if not up["database"]:
        return
    yield Gauge("ragsite_open_jobs", "Jobs that have not ended.", "status", _open_jobs())
    open_documents = IngestionDocument.objects.filter(state__in=[State.QUEUED, State.RUNNING])
    counted = dict.fromkeys((State.QUEUED.value, State.RUNNING.value), 0.0)
    counted |= dict(open_documents.order_by().values_list("state").annotate(Count("pk")))
    yield Gauge("ragsite_open_documents", "Documents of jobs that are not done.", "state", counted)
    by_condition = dict.fromkeys(Condition.values, 0.0) | queries.count_by_condition(open_documents)
    yield Gauge("ragsite_document_condition", "The same documents, by how they fare.", "condition", by_condition)
    oldest = open_documents.aggregate(oldest=Min("job__created_at"))["oldest"]
    waiting = (timezone.now() - oldest).total_seconds() if oldest else 0.0
    yield Gauge("ragsite_oldest_open_document_seconds", "Since the oldest of them was sent.", values={"": waiting})
    yield from _stored()
    told = quality.latest_ndcg(_MOST_SOURCES)
    yield Gauge("ragsite_quality_ndcg10", "nDCG@10 on a data source's golden questions.", "source", told)
    if (messages := queue.count_waiting()) is not None:
        yield Gauge("ragsite_queue_messages", "Messages that wait for a worker.", values={"": float(messages)})


def _stored() -> Iterator[Gauge]:
    """By organisation; a limit only where there is one."""
    columns = ("organization__slug", "chunks", "bytes", "organization__max_chunks", "organization__max_bytes")
    rows = list(Usage.objects.order_by("-chunks", "pk").values_list(*columns)[:_NAMED])
    for place, (name, meaning) in enumerate(_STORED, start=1):
        values = {row[0]: float(row[place]) for row in rows if row[place] is not None}
        yield Gauge(f"ragsite_organization_{name}", meaning, "organization", values)


def _open_jobs() -> dict[str, float]:
    open_statuses = (Status.QUEUED.value, Status.PROCESSING.value)
    rows = IngestionJob.objects.filter(status__in=open_statuses).order_by().values_list("status").annotate(Count("pk"))
    return {**dict.fromkeys(open_statuses, 0.0), **dict(rows)}
