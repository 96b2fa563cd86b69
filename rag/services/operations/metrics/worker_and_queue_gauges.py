"""The gauges of /metrics about workers and queues, which the page Operations shows, too."""

from collections.abc import Iterator

from rag import task_queue
from rag.services.operations import queue_depths, workers

from .gauge import Gauge


def collect_worker_and_queue_gauges() -> Iterator[Gauge]:
    """Yield the gauges. Those of the queues are left out while Redis does not answer."""
    yield from _workers()
    yield from _queues()


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
