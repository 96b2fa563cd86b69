"""Continues running syncs in turn, after `schedule` has started those that are due. One process does it at a time.

The state of a run is stored in the database after each page and batch. If the process is killed, the next task
continues there.
"""

import time
import uuid
from collections import defaultdict, deque
from collections.abc import Callable

import structlog
from django.db import InterfaceError, OperationalError
from django.db.models.functions import Coalesce
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import RagError
from rag.models import SyncConnection, SyncRun
from rag.models.ingestion.syncs import synced_sources
from rag.providers.connectors.base import ListingFailed
from ragsite.postgres.locks import session_lock

from . import listing, removal, runs, schedule, submit_changes

logger = structlog.get_logger(__name__)

State, Phase = SyncRun.State, SyncRun.Phase
_LOCK = "sync data sources"
# How long one task works, and how long one run works before the others do.
_MAX_TASK_SECONDS = 40.0
_MAX_RUN_SECONDS = 10.0
NOT_ALLOWED = (
    "The account that has saved the connection may no longer send documents to the source and manage it. Somebody who "
    "may must save the connection again."
)
_UNEXPECTED = "An unexpected error. The worker's log has the details under this sync's id."
# Phase → its work until the deadline. Returns whether there is more to do now.
_STEPS: dict[str, Callable[[SyncRun, float], bool]] = {
    Phase.LISTING: listing.list_items,
    Phase.SENDING: submit_changes.submit_changes,
    Phase.REMOVING: removal.remove_missing,
}

# Organisation → when one of its syncs was worked on, of time.monotonic.
_last_worked: dict[uuid.UUID, float] = {}


def advance_due() -> None:
    """Start due syncs and continue running ones until all are done or _MAX_TASK_SECONDS have passed."""
    with session_lock(_LOCK) as is_acquired:
        if not is_acquired:
            return
        schedule.start_due()
        deadline = time.monotonic() + _MAX_TASK_SECONDS
        while any(advance_each(deadline)):
            pass


def advance_each(deadline: float) -> list[bool]:
    """Continue each running sync once; return which have more to do now.

    The organisation that was worked for longest ago is next, with its sync that has waited longest: an organisation may
    have thousands of syncs, and a slow location takes a minute.
    """
    running = SyncRun.objects.filter(state=State.RUNNING)
    waiting: defaultdict[uuid.UUID, deque[uuid.UUID]] = defaultdict(deque)
    longest_first = running.order_by(Coalesce("worked_at", "created_at"), "pk")
    for pk, organization in longest_first.values_list("pk", "connection__source__organization"):
        waiting[organization].append(pk)
    has_more = []
    while waiting:
        if time.monotonic() > deadline:
            return []
        organization = min(waiting, key=lambda key: _last_worked.get(key, 0.0))
        pk = waiting[organization].popleft()
        if not waiting[organization]:
            del waiting[organization]
        run = running.select_related("connection__source__organization", "connection__acts_for").filter(pk=pk).first()
        if run is not None:
            has_more.append(_advance(run, min(deadline, time.monotonic() + _MAX_RUN_SECONDS)))
        _last_worked[organization] = time.monotonic()
    return has_more


def _advance(run: SyncRun, deadline: float) -> bool:
    """Work on a run until the deadline; return whether there is more to do now."""
    runs.update(run, worked_at=timezone.now())
    if run.is_stop_requested:
        runs.end(run, State.STOPPED)
        return False
    try:
        if not _is_allowed(run.connection):
            runs.end(run, State.FAILED, NOT_ALLOWED)
            return False
        return _STEPS[run.phase](run, deadline)
    except (OperationalError, InterfaceError):  # the database failed, not the sync: the next task continues
        raise
    except (ListingFailed, submit_changes.LocationIsDown) as error:
        runs.end(run, State.FAILED, str(error))
    except RagError as error:
        runs.end(run, State.FAILED, error.message)
    except Exception:
        logger.exception("sync_crashed", sync=str(run.pk))
        runs.end(run, State.FAILED, _UNEXPECTED)
    return False


def _is_allowed(connection: SyncConnection) -> bool:
    user = connection.acts_for
    return user is not None and synced_sources(Caller(user)).filter(pk=connection.source_id).exists()
