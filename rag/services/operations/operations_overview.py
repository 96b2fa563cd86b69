"""Everything that the page "Operations" shows, and one sentence about the state of the installation."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Min
from django.utils import timezone

from rag.models import Condition, IngestionDocument, ModelOutage, RecordedError, SlowOperation
from rag.services.jobs import job_lookup
from rag.services.operations.measurements import figures
from rag.services.operations.measurements.figures import Summary

from . import queue_depths, scheduled_tasks, storage_sizes, workers
from .queue_depths import QueueState
from .scheduled_tasks import ScheduledTask
from .storage_sizes import Sizes
from .workers import WorkerState

_MAX_LISTED = 10
_MAX_SECONDS_IN_QUEUE = 300
_MIN_FREE_SHARE = 0.1
_MAX_FAILURE_SHARE = 0.1
# Fewer calls than this say nothing about an error rate.
_MIN_CALLS = 5


class Level(IntEnum):
    """How urgent a finding is."""

    OK, WARNING, CRITICAL = range(3)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, and what to do about it."""

    level: Level
    text: str
    advice: str


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model behind an endpoint, in the last hour.

    Attributes:
        outage_until: Until when no document is sent to it, because it did not answer; None if it is not in an outage.
    """

    name: str
    calls: Summary
    outage_until: datetime.datetime | None


@dataclass(slots=True)
class Overview:
    """The state of the installation.

    Attributes:
        queues: None if Redis does not answer.
        sizes: None if the database does not answer.
        conditions: Condition → number of open documents.
        oldest_open: Seconds since the oldest open document was queued; None if there is none.
        findings: What is wrong, the most urgent first.
    """

    at: datetime.datetime
    has_database: bool = True
    workers: Sequence[WorkerState] = ()
    queues: Sequence[QueueState] | None = None
    conditions: dict[str, int] = field(default_factory=dict)
    oldest_open: float | None = None
    operations: Sequence[Summary] = ()
    query_stages: Sequence[Summary] = ()
    document_stages: Sequence[Summary] = ()
    queries_by_hour: Sequence[tuple[datetime.datetime, Summary]] = ()
    documents_by_hour: Sequence[tuple[datetime.datetime, Summary]] = ()
    slow_queries: Sequence[SlowOperation] = ()
    slow_documents: Sequence[SlowOperation] = ()
    models: Sequence[ModelState] = ()
    errors: Sequence[RecordedError] = ()
    schedule: Sequence[ScheduledTask] = ()
    sizes: Sizes | None = None
    findings: list[Finding] = field(default_factory=list)

    @property
    def level(self) -> Level:
        return max((finding.level for finding in self.findings), default=Level.OK)


def get_overview() -> Overview:
    """Measure the state of the installation. It returns within a second if Redis or the database does not answer."""
    overview = Overview(timezone.now(), queues=queue_depths.list_queues())
    try:
        _read(overview)
    except DatabaseError:
        overview.has_database = False
    overview.findings = sorted(find_problems(overview), key=lambda finding: -finding.level)
    return overview


def _read(overview: Overview) -> None:
    open_documents = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES)
    overview.workers = workers.list_workers()
    overview.conditions = {condition.value: 0 for condition in Condition} | job_lookup.count_by_condition(
        open_documents
    )
    oldest = open_documents.aggregate(oldest=Min("queued_at"))["oldest"]
    overview.oldest_open = (overview.at - oldest).total_seconds() if oldest else None
    overview.operations = figures.summarize("operation")
    overview.query_stages = figures.summarize("query_stage")
    overview.document_stages = figures.summarize("document_stage")
    by_hour = figures.summarize_by_hour("operation")
    overview.queries_by_hour, overview.documents_by_hour = by_hour("query"), by_hour("document")
    overview.slow_queries = _slowest(SlowOperation.Kind.QUERY)
    overview.slow_documents = _slowest(SlowOperation.Kind.DOCUMENT)
    overview.models = _models()
    overview.errors = list(RecordedError.objects.order_by("-at")[:_MAX_LISTED])
    overview.schedule = scheduled_tasks.list_scheduled_tasks()
    overview.sizes = storage_sizes.measure_sizes()


def _slowest(kind: SlowOperation.Kind) -> list[SlowOperation]:
    recent = SlowOperation.objects.filter(kind=kind, at__gte=timezone.now() - figures.DAY)
    return list(recent.order_by("-milliseconds")[:_MAX_LISTED])


def _models() -> list[ModelState]:
    """Return the models that were called in the last hour or are in an outage."""
    calls = {summary.name: summary for summary in figures.summarize("model")}
    outages = dict(ModelOutage.objects.values_list("model__name", "until"))
    return [ModelState(name, calls.get(name, Summary(name)), outages.get(name)) for name in sorted({*calls, *outages})]


def find_problems(overview: Overview) -> list[Finding]:
    """Return what is wrong, each with what to do."""
    if not overview.has_database:
        return [
            Finding(
                Level.CRITICAL,
                "PostgreSQL does not answer, so nothing works.",
                "Start it, and check DATABASE_URL and the free disk space of its server.",
            )
        ]
    return [
        *_problems_of_broker(overview),
        *_problems_of_workers(overview),
        *_problems_of_documents(overview),
        *_problems_of_models(overview),
        *_problems_of_disk(overview),
    ]


def _problems_of_broker(overview: Overview) -> list[Finding]:
    if overview.queues is None:
        advice = "Start it, or correct REDIS_URL. Questions are still answered; new documents wait and are not lost."
        return [Finding(Level.CRITICAL, "Redis does not answer, so no documents are ingested.", advice)]
    late = [queue.name for queue in overview.queues if (queue.oldest_age_seconds or 0) > _MAX_SECONDS_IN_QUEUE]
    if not late:
        return []
    text = f"Messages have waited for more than five minutes in: {', '.join(late)}."
    return [Finding(Level.WARNING, text, "Start more workers for these queues, or wait until a large job is done.")]


def _problems_of_workers(overview: Overview) -> list[Finding]:
    findings = []
    served = {queue for worker in overview.workers if worker.is_online for queue in worker.queues}
    missing = [queue.name for queue in settings.CELERY_TASK_QUEUES if queue.name not in served]
    if missing:
        text = f"No worker serves: {', '.join(missing)}."
        advice = "Start a worker for these queues, and read its log if it does not stay."
        findings.append(Finding(Level.CRITICAL, text, advice))
    if lost := [worker.name for worker in overview.workers if not worker.is_online]:
        text = f"Workers died or lost the database: {', '.join(lost)}."
        level = Level.WARNING if not missing else Level.CRITICAL
        findings.append(Finding(level, text, "Read their logs. Their documents are given to other workers."))
    late = [task.name for task in overview.schedule if task.is_late]
    if late and overview.queues is not None and "maintenance" not in missing:
        text = f"Scheduled tasks are late: {', '.join(late)}."
        findings.append(Finding(Level.WARNING, text, "Check that the scheduler (Celery beat) runs; there must be one."))
    return findings


def _problems_of_documents(overview: Overview) -> list[Finding]:
    findings = []
    if starved := overview.conditions.get(Condition.STARVED, 0):
        text = f"{starved:,} documents are starved: no worker takes documents."
        findings.append(Finding(Level.CRITICAL, text, "Start a worker for the queue ingestion, and read its log."))
    if lost := overview.conditions.get(Condition.LOST, 0):
        text = f"{lost:,} documents have lost their worker."
        findings.append(Finding(Level.WARNING, text, "They are repeated within seconds if the scheduler runs."))
    return findings


def _problems_of_models(overview: Overview) -> list[Finding]:
    findings = []
    for model in overview.models:
        if model.outage_until:
            text = f"The model {model.name} does not answer; its documents wait."
            findings.append(Finding(Level.WARNING, text, "Check its endpoint, its key and its limits."))
        elif model.calls.count >= _MIN_CALLS and (model.calls.failure_share or 0) > _MAX_FAILURE_SHARE:
            text = f"{model.calls.failures} of {model.calls.count} calls of {model.name} failed in the last hour."
            findings.append(Finding(Level.WARNING, text, "Check its endpoint, its key and its limits."))
    return findings


def _problems_of_disk(overview: Overview) -> list[Finding]:
    measured = overview.sizes
    if measured is None or not measured.disk_total or measured.disk_free is None:
        return []
    if measured.disk_free / measured.disk_total > _MIN_FREE_SHARE:
        return []
    text = "Less than 10 % of the disk with the original files is free."
    return [Finding(Level.WARNING, text, "Free some space, or move the files to a larger disk or a bucket.")]
