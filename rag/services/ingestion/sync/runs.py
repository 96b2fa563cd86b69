"""The state of runs. Each function changes single columns: people and the background process change runs meanwhile."""

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from rag.models import SyncItem, SyncRun
from rag.services.webhooks import events

logger = structlog.get_logger(__name__)

State = SyncRun.State


def update(run: SyncRun, **values: object) -> None:
    """Set columns of the row, and of this instance unless the values are expressions."""
    SyncRun.objects.filter(pk=run.pk).update(**values)
    run.refresh_from_db(fields=list(values))


def increment(run: SyncRun, name: str) -> None:
    """Add 1 to a counter of the run, in the current transaction."""
    update(run, **{name: F(name) + 1})


@transaction.atomic
def wait_for_confirmation(run: SyncRun, *, missing: int) -> None:
    """Let the run wait until a person has confirmed that this many documents are removed."""
    update(run, missing=missing, state=State.WAITING)
    run.refresh_from_db()
    events.record_sync(run)


def must_leave(run: SyncRun) -> bool:
    """Return whether to do no more for the run: a person has asked to stop it, or it has ended or was deleted."""
    return not SyncRun.objects.filter(pk=run.pk, state=State.RUNNING, is_stop_requested=False).exists()


@transaction.atomic
def record_failure(run: SyncRun, item: SyncItem, code: str, message: str) -> None:
    """Store why an item could not be ingested. The next run tries it again."""
    message = message[:300]
    SyncItem.objects.filter(pk=item.pk).update(
        error_code=code, error_message=message, handled_in=run.pk, submitted=None, submitted_state={}
    )
    locked = SyncRun.objects.select_for_update().get(pk=run.pk)
    errors = locked.errors
    if len(errors) < SyncRun.MAX_ERRORS:
        errors = [*errors, {"path": item.path, "code": code, "message": message}]
    update(run, failed=F("failed") + 1, errors=errors)


@transaction.atomic
def end(run: SyncRun, state: SyncRun.State, error: str = "") -> None:
    """End the run, unless it has ended. A run that was stopped or has failed can be resumed."""
    still_open = SyncRun.objects.filter(pk=run.pk, state__in=SyncRun.OPEN_STATES)
    if still_open.update(state=state, error=error[:300], finished_at=timezone.now(), is_stop_requested=False):
        run.refresh_from_db()
        events.record_sync(run)
        logger.info("sync_ended", sync=str(run.pk), connection=str(run.connection_id), state=state)
