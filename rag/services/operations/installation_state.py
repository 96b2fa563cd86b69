"""Measures the state of the installation: everything that the page "Operations" shows."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db import DatabaseError
from django.db.models import Min
from django.utils import timezone

from rag.models import Condition, IngestionDocument, ModelOutage, RecordedError, SlowOperation
from rag.services.jobs import job_lookup
from rag.services.operations.measurements import measurement_summaries
from rag.services.operations.measurements.measurement_summaries import Summary

from . import queue_depths, scheduled_task_status, storage_sizes, workers
from .queue_depths import QueueState
from .scheduled_task_status import ScheduledTask
from .storage_sizes import Sizes
from .workers import WorkerState

_MAX_LISTED = 10


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
class InstallationState:
    """The state of the installation.

    Attributes:
        queues: None if Redis does not answer.
        sizes: None if the database does not answer.
        conditions: Condition → number of open documents.
        oldest_open: Seconds since the oldest open document was queued; None if there is none.
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


def read_state() -> InstallationState:
    """Measure the state of the installation. It returns within a second if Redis or the database does not answer."""
    state = InstallationState(timezone.now(), queues=queue_depths.list_queues())
    try:
        _read_database(state)
    except DatabaseError:
        state.has_database = False
    return state


def _read_database(state: InstallationState) -> None:
    """Set what the state has from the database."""
    open_documents = IngestionDocument.objects.filter(state__in=IngestionDocument.OPEN_STATES)
    state.workers = workers.list_workers()
    state.conditions = {condition.value: 0 for condition in Condition} | job_lookup.count_by_condition(open_documents)
    oldest = open_documents.aggregate(oldest=Min("queued_at"))["oldest"]
    state.oldest_open = (state.at - oldest).total_seconds() if oldest else None
    state.operations = measurement_summaries.summarize("operation")
    state.query_stages = measurement_summaries.summarize("query_stage")
    state.document_stages = measurement_summaries.summarize("document_stage")
    by_hour = measurement_summaries.summarize_by_hour("operation")
    state.queries_by_hour, state.documents_by_hour = by_hour("query"), by_hour("document")
    state.slow_queries = _slowest(SlowOperation.Kind.QUERY)
    state.slow_documents = _slowest(SlowOperation.Kind.DOCUMENT)
    state.models = _models()
    state.errors = list(RecordedError.objects.order_by("-at")[:_MAX_LISTED])
    state.schedule = scheduled_task_status.list_scheduled_tasks()
    state.sizes = storage_sizes.measure_sizes()


def _slowest(kind: SlowOperation.Kind) -> list[SlowOperation]:
    recent = SlowOperation.objects.filter(kind=kind, at__gte=timezone.now() - measurement_summaries.DAY)
    return list(recent.order_by("-milliseconds")[:_MAX_LISTED])


def _models() -> list[ModelState]:
    """Return the models that were called in the last hour or are in an outage."""
    calls = {summary.name: summary for summary in measurement_summaries.summarize("model")}
    outages = dict(ModelOutage.objects.values_list("model__name", "until"))
    return [ModelState(name, calls.get(name, Summary(name)), outages.get(name)) for name in sorted({*calls, *outages})]
