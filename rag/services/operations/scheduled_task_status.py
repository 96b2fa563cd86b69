"""When each scheduled task ran last, and when it is due."""

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast

from django.conf import settings
from django.utils import timezone

from rag.models import ScheduledTaskRun

# A task is late if it has not started this long after it was due: the scheduler looks every few seconds, and a run may
# wait behind another one.
_GRACE = datetime.timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class ScheduledTask:
    """A task of the schedule.

    Attributes:
        started_at: When its latest run started; None before the first one.
        seconds: How long that run took.
        error: The class of the exception that ended it; empty if it succeeded.
        due_at: When it runs next.
    """

    name: str
    started_at: datetime.datetime | None
    seconds: float | None
    error: str
    due_at: datetime.datetime
    is_late: bool


def record_run(name: str, *, started_at: datetime.datetime, error: str = "") -> None:
    """Store that a run of the task has ended, if the task is scheduled."""
    if name in _schedules():
        values = {"started_at": started_at, "finished_at": timezone.now(), "error": error[:200]}
        ScheduledTaskRun.objects.update_or_create(name=name, defaults=values)


def list_scheduled_tasks() -> list[ScheduledTask]:
    """Return all scheduled tasks, the most frequent first."""
    runs = ScheduledTaskRun.objects.in_bulk()
    return [_build_scheduled_task(name, schedule, runs.get(name)) for name, schedule in _schedules().items()]


class Crontab(Protocol):
    """Celery's schedule with times of the day."""

    def remaining_delta(
        self, last_run_at: datetime.datetime
    ) -> tuple[datetime.datetime, datetime.timedelta, datetime.datetime]:
        """Return a time, after how much of which it is due next, and the current time."""
        ...


# The number of seconds between two runs, or when the task is due.
Schedule: TypeAlias = float | Crontab


def _schedules() -> Mapping[str, Schedule]:
    return {name: cast("Schedule", entry["schedule"]) for name, entry in settings.CELERY_BEAT_SCHEDULE.items()}


def _build_scheduled_task(name: str, schedule: Schedule, run: ScheduledTaskRun | None) -> ScheduledTask:
    if run is None:
        due_at = _next_run(schedule, timezone.now())
        return ScheduledTask(name, started_at=None, seconds=None, error="", due_at=due_at, is_late=False)
    due_at = _next_run(schedule, run.started_at)
    return ScheduledTask(
        name,
        started_at=run.started_at,
        seconds=(run.finished_at - run.started_at).total_seconds(),
        error=run.error,
        due_at=due_at,
        is_late=timezone.now() > due_at + _GRACE,
    )


def _next_run(schedule: Schedule, after: datetime.datetime) -> datetime.datetime:
    """Return when the task is due after this time. A schedule is a number of seconds or Celery's crontab."""
    if isinstance(schedule, int | float):
        return after + datetime.timedelta(seconds=schedule)
    last, pause, _ = schedule.remaining_delta(after)
    return last + pause
