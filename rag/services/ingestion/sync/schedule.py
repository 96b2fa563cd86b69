"""When a sync starts without a person: at once when its connection is saved, then after each interval.

A run that has failed is not repeated earlier than that. A run that is in progress continues in `background`.
"""

import contextlib
import datetime

from django.utils import timezone

from rag.models import SyncConnection, SyncRun

from . import run_actions

# How many syncs one call starts.
_MAX_STARTED = 100


def first_due_at(connection: SyncConnection) -> datetime.datetime | None:
    """Return when a connection that is saved now is due; None if it has no schedule."""
    return timezone.now() if connection.interval_minutes else None


def start_due() -> None:
    """Start the syncs that are due, and note when each is due again."""
    now = timezone.now()
    due = SyncConnection.objects.filter(
        is_active=True,
        interval_minutes__isnull=False,
        due_at__lte=now,
        source__deleted_at=None,
        source__organization__is_active=True,
    ).exclude(runs__state=SyncRun.State.RUNNING)
    for connection in due.order_by("due_at")[:_MAX_STARTED]:
        due_at = now + datetime.timedelta(minutes=connection.interval_minutes or 0)
        SyncConnection.objects.filter(pk=connection.pk).update(due_at=due_at)
        with contextlib.suppress(run_actions.SyncRefused):  # a person has started one meanwhile
            run_actions.start(connection, by=None)
