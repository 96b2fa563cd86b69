"""Heartbeats of the Celery workers, as rows: they can be read while the broker is down. And whether this one stops."""

import dataclasses
import datetime
import mmap
import threading
from collections.abc import Callable, Sequence

import structlog
from django.db import DatabaseError, connection
from django.utils import timezone

from rag.models import WorkerHeartbeat
from ragsite.postgres.base import read_rows

from .measurements import recording

logger = structlog.get_logger(__name__)

BEAT_SECONDS = 5
# A worker that has missed several beats does not run any more, or cannot reach the database.
LOST_AFTER_SECONDS = 30
_MAX_LISTED = 100
_COUNT_SLOTS = """
SELECT coalesce(sum(slots), 0) FROM rag_workerheartbeat
WHERE %s = ANY(queues) AND beat_at >= clock_timestamp() - make_interval(secs => %s)
"""
# One byte that all processes of a worker share, because they are forked from the one that is asked to stop.
_stop_requested = mmap.mmap(-1, 1)


class WorkerStops(BaseException):
    """This worker was asked to stop. Not an Exception, so that no handler takes it for the failure of a document."""


def request_stop() -> None:
    """Let all processes of this worker end their documents soon. A signal handler may call this."""
    _stop_requested[0] = 1


def is_stopping() -> bool:
    """Return whether this worker was asked to stop."""
    return _stop_requested[0] == 1


def check_stop() -> None:
    """Raise WorkerStops if this worker was asked to stop."""
    if is_stopping():
        raise WorkerStops


@dataclasses.dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that a worker runs, and for how long it has run."""

    name: str
    seconds: float


@dataclasses.dataclass(frozen=True, slots=True)
class WorkerState:
    """A worker as its latest heartbeat describes it.

    Attributes:
        beat_age_seconds: Seconds since that heartbeat.
    """

    name: str
    queues: Sequence[str]
    slots: int
    running: Sequence[RunningTask]
    beat_age_seconds: float

    @property
    def is_online(self) -> bool:
        """Whether the heartbeat is recent enough for the worker to be alive."""
        return self.beat_age_seconds <= LOST_AFTER_SECONDS


class Reporter:
    """Writes the heartbeat of this worker process until it stops."""

    def __init__(
        self, *, name: str, queues: Sequence[str], slots: int, list_running: Callable[[], list[tuple[str, float]]]
    ) -> None:
        """Prepare the heartbeat.

        Args:
            name: The worker's name.
            queues: The queues that it takes tasks from.
            slots: How many tasks it runs at the same time.
            list_running: Returns the names of the running tasks and when they started, in seconds since 1970.
        """
        self._name, self._queues, self._slots, self._list_running = name[:200], list(queues), slots, list_running
        self._started_at = timezone.now()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat_repeatedly, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin to write the heartbeat, in a thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and delete the heartbeat, so that the worker is not reported as lost."""
        self._stop.set()
        self._thread.join(BEAT_SECONDS)
        try:
            WorkerHeartbeat.objects.filter(name=self._name).delete()
        except DatabaseError as error:
            logger.warning("heartbeat_not_deleted", reason=type(error).__name__)

    def beat(self) -> None:
        """Write the heartbeat."""
        running = [{"name": name, "started": started} for name, started in self._list_running()]
        values = {
            "queues": self._queues,
            "slots": self._slots,
            "running": running,
            "started_at": self._started_at,
            "beat_at": timezone.now(),
        }
        WorkerHeartbeat.objects.update_or_create(name=self._name, defaults=values)

    def _beat_repeatedly(self) -> None:
        while not self._stop.is_set():
            try:
                self.beat()
                recording.store_meanwhile()  # what is logged here, such as that a process was killed
            except DatabaseError as error:
                logger.warning("heartbeat_not_written", reason=type(error).__name__)
            finally:
                connection.close()  # a process that is forked meanwhile must not inherit it
            self._stop.wait(BEAT_SECONDS)


def count_slots(queue: str) -> int:
    """Return how many tasks of this queue the workers that are alive run at the same time."""
    ((slots,),) = read_rows(_COUNT_SLOTS, [queue, LOST_AFTER_SECONDS])
    return int(slots)


def list_workers() -> list[WorkerState]:
    """Return the workers by name, those that died in the last day included."""
    now = timezone.now()
    rows = WorkerHeartbeat.objects.filter(beat_at__gte=now - datetime.timedelta(days=1)).order_by("name")[:_MAX_LISTED]
    return [
        WorkerState(
            name=row.name,
            queues=row.queues,
            slots=row.slots,
            running=[RunningTask(task["name"], max(0.0, now.timestamp() - task["started"])) for task in row.running],
            beat_age_seconds=max(0.0, (now - row.beat_at).total_seconds()),
        )
        for row in rows
    ]
