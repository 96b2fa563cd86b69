"""The actions on a run of a sync: start, stop and resume it, and confirm or refuse its removal of documents.

The calling code has checked that the person may see the connection or run.
"""

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from accounts.models import User
from rag import task_queue
from rag.models import SyncConnection, SyncRun
from rag.services.webhooks import events

from . import runs

State = SyncRun.State
TASK = "rag.sync_sources"
KEPT = gettext_noop("Nothing was removed: a person has refused it.")
SUPERSEDED = gettext_noop("Nothing was removed: a later sync has begun.")


class SyncRefused(Exception):
    """The action is not possible now. The text says why."""


@transaction.atomic
def start(connection: SyncConnection, *, by: User | None) -> SyncRun:
    """Begin a run now. One that waits for the confirmation of a removal ends without it.

    Raises:
        SyncRefused: If a run of the connection is in progress.
    """
    locked = SyncConnection.objects.select_for_update(no_key=True, of=("self",)).get(pk=connection.pk)
    if waiting := SyncRun.objects.filter(connection=locked, state=State.WAITING).first():
        runs.end(waiting, State.FINISHED, SUPERSEDED)
    if SyncRun.objects.filter(connection=locked, state=State.RUNNING).exists():
        raise SyncRefused(_("A sync of this data source is in progress."))
    run = SyncRun.objects.create(connection=locked, started_by=by)
    task_queue.send(TASK, expires=60)
    return run


def stop(run: SyncRun) -> None:
    """Stop the run at the next item. Documents that were submitted are still ingested.

    Raises:
        SyncRefused: If it has ended.
    """
    if not SyncRun.objects.filter(pk=run.pk, state=State.RUNNING).update(is_stop_requested=True):
        raise SyncRefused(_("This sync is not in progress."))
    task_queue.send(TASK, expires=60)


def resume(run: SyncRun) -> None:
    """Continue a stopped or failed run where it ended.

    Raises:
        SyncRefused: If it is not the latest run of its connection, or has neither stopped nor failed.
    """
    is_latest = not SyncRun.objects.filter(connection=run.connection_id, pk__gt=run.pk).exists()
    resumable = SyncRun.objects.filter(pk=run.pk, state__in=[State.STOPPED, State.FAILED])
    try:
        with transaction.atomic():
            if not is_latest or not resumable.update(state=State.RUNNING, error="", finished_at=None, worked_at=None):
                raise SyncRefused(_("Only the latest sync can be resumed, if it was stopped or has failed."))
    except IntegrityError:  # another one was started at the same time
        raise SyncRefused(_("A sync of this data source is in progress.")) from None
    task_queue.send(TASK, expires=60)


def confirm_removal(run: SyncRun) -> None:
    """Remove the documents whose items have disappeared.

    Raises:
        SyncRefused: If the run does not wait for it.
    """
    waiting = SyncRun.objects.filter(pk=run.pk, state=State.WAITING)
    if not waiting.update(state=State.RUNNING, is_removal_confirmed=True, worked_at=None):
        raise SyncRefused(_("This sync does not wait for a confirmation."))
    task_queue.send(TASK, expires=60)


@transaction.atomic
def refuse_removal(run: SyncRun) -> None:
    """End the run without removing anything.

    Raises:
        SyncRefused: If the run does not wait for it.
    """
    waiting = SyncRun.objects.filter(pk=run.pk, state=State.WAITING)
    if not waiting.update(state=State.FINISHED, error=KEPT, finished_at=timezone.now()):
        raise SyncRefused(_("This sync does not wait for a confirmation."))
    run.refresh_from_db()
    events.record_sync(run)
