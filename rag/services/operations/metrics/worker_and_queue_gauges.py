"""The gauges of /metrics about workers, queues, models, scheduled tasks and sizes (the page "Operations")."""

from collections.abc import Iterator

from django.utils import timezone

from rag import task_queue
from rag.models import ModelOutage, RecordedError
from rag.services.operations import queue_depths, scheduled_task_status, storage_sizes, workers
from rag.services.operations.measurements import measurement_summaries

from .gauge import Gauge


def collect_worker_and_queue_gauges() -> Iterator[Gauge]:
    """Yield the gauges. Those of the queues are left out while Redis does not answer."""
    yield from _workers()
    yield from _queues()
    yield Gauge(
        "ragsite_model_outage",
        "1 if documents wait because the embedding model did not answer. Models that answer are left out.",
        "model",
        dict.fromkeys(ModelOutage.objects.values_list("model__name", flat=True), 1.0),
    )
    tasks = {task.name: float(task.is_late) for task in scheduled_task_status.list_scheduled_tasks()}
    yield Gauge("ragsite_scheduled_task_late", "Whether the scheduled task is late.", "task", tasks)
    errors = RecordedError.objects.filter(at__gte=timezone.now() - measurement_summaries.HOUR).count()
    yield Gauge("ragsite_logged_errors", "Errors that were logged in the last hour.", values={"": float(errors)})
    yield from _sizes()


def _workers() -> Iterator[Gauge]:
    states = workers.list_workers()
    online = sum(state.is_online for state in states)
    by_state = {"online": float(online), "lost": float(len(states) - online)}
    yield Gauge("ragsite_workers", "Workers that ran in the last day, by state.", "state", by_state)
    ages = {state.name: state.beat_age_seconds for state in states}
    yield Gauge("ragsite_worker_heartbeat_age_seconds", "Age of the worker's latest heartbeat.", "worker", ages)
    slots = {state.name: float(state.slots) for state in states}
    yield Gauge("ragsite_worker_slots", "Tasks that the worker can run at the same time.", "worker", slots)
    busy = {state.name: float(len(state.running)) for state in states}
    yield Gauge("ragsite_worker_busy_slots", "Tasks that the worker runs.", "worker", busy)


def _queues() -> Iterator[Gauge]:
    if (messages := task_queue.count_waiting()) is not None:
        yield Gauge(
            "ragsite_queue_messages", "Messages that wait in the ingestion queue.", values={"": float(messages)}
        )
    if (queues := queue_depths.list_queues()) is None:
        return
    depths = {queue.name: float(queue.depth) for queue in queues}
    yield Gauge("ragsite_queue_depth", "Messages that wait in the queue.", "queue", depths)
    ages = {queue.name: queue.oldest_age_seconds or 0.0 for queue in queues}
    yield Gauge("ragsite_queue_oldest_message_seconds", "Age of the oldest message in the queue.", "queue", ages)


def _sizes() -> Iterator[Gauge]:
    measured = storage_sizes.measure_sizes()
    yield Gauge("ragsite_database_bytes", "Size of the database.", values={"": float(measured.database)})
    yield Gauge("ragsite_index_bytes", "Size of all indexes in the database.", values={"": float(measured.indexes)})
    if measured.disk_free is not None and measured.disk_total is not None:
        disk = {"free": float(measured.disk_free), "total": float(measured.disk_total)}
        yield Gauge("ragsite_disk_bytes", "The file system with the original files.", "part", disk)
