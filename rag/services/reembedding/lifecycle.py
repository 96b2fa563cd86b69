"""Moving a data source to another embedding model, without downtime: start, watch, switch, roll back, drop.

The work itself is in `rag.services.reembedding.worker`. Callers have found the source, or the row, among those that
their user
may MANAGE; `by` is noted.
"""

import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import User
from rag import queue
from rag.errors import InvalidRequest, UnknownSource
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.pipeline.ingestion import reembed
from rag.services.evaluation import quality

logger = structlog.get_logger(__name__)

State = Reembedding.State
# Searches that began before a switch go on with the old vectors; none of them takes as long as this.
GRACE_PERIOD = datetime.timedelta(minutes=5)


def get_current(source: DataSource) -> Reembedding | None:
    """The one that is at work, waits for a decision, or has still old vectors to go back to or to remove."""
    rows = source.reembeddings.select_related("from_model", "to_model", "old_quality", "new_quality", "source")
    rows = rows.select_related("source__embedding_model", "started_by", "clearing")
    return rows.filter(_open()).first() or rows.filter(state=State.SWITCHED).first()


def start(
    source: DataSource,
    model: EmbeddingModel,
    *,
    by: User | None = None,
    switches_itself: bool = False,
    forced_because: str = "",
) -> Reembedding:
    """Begin to build vectors of the model beside those that the source has.

    switches_itself: as soon as they are complete, if the quality gate allows it or `forced_because` says why it need
    not. Raises InvalidRequest if that is not possible now, UnknownSource if the source was deleted meanwhile.
    """
    with transaction.atomic():
        source = _locked(source)
        if source.embedding_model_id == model.pk:
            raise _refused(f"The source has the model {model} already.")
        if kept := source.reembeddings.filter(state=State.SWITCHED).first():
            raise _refused(f"The vectors of {kept.from_model} are still kept. Roll back to them, or drop them first.")
        return _begin(source, model, by=by, switches_itself=switches_itself, forced_because=forced_because)


def roll_back(row: Reembedding, *, by: User | None = None) -> Reembedding:
    """The same way in the other direction. Only what came in since the switch has to be embedded; then it switches
    itself, without a gate. Raises InvalidRequest, UnknownSource."""
    with transaction.atomic():
        source = _locked(row.source)
        if not source.reembeddings.filter(pk=row.pk, state=State.SWITCHED).exists():
            raise _refused("There are no old vectors to go back to.")
        return _begin(source, row.from_model, by=by, switches_itself=True, undoes=row)


def switch(row: Reembedding, *, forced_because: str = "") -> bool:
    """Search the source with the new model from now on. False: chunks came in meanwhile; they are embedded first, and
    then it switches itself.

    Raises InvalidRequest if it is not ready, or if the quality gate refuses and nobody says why it should not.
    """
    forced_because = forced_because.strip()
    if row.state != State.READY:
        raise _refused("It is not ready to be switched.")
    if not forced_because and (reason := check_quality_gate(row)):
        raise _refused(reason)
    values = {"state": State.BUILDING, "switches_itself": True, "position": None, "forced_because": forced_because}
    if not Reembedding.objects.filter(pk=row.pk, state=State.READY).update(**values):
        raise _refused("Somebody else was at it at the same time: look again.")
    row.refresh_from_db(fields=list(values))
    if switch_if_complete(row):
        return True
    _tell_workers()
    return False


@transaction.atomic
def switch_if_complete(row: Reembedding) -> bool:
    """The switch itself: True if it has been made.

    Whoever writes chunks holds the source's row (DataSource.hold): they have committed before it is taken here, and are
    counted, or they wait and find that their model is no longer the source's (ModelChanged). Readers never wait: the
    vectors of both models are complete at this moment.
    """
    if not reembed.is_complete(row.source, row.to_model):  # before anybody has to wait
        return False
    source = DataSource.objects.select_for_update().filter(pk=row.source_id, deleted_at=None).first()
    if source is None or source.embedding_model_id != row.from_model_id:
        raise UnknownSource
    open_row = Reembedding.objects.filter(pk=row.pk, state=State.BUILDING)
    if not reembed.is_complete(source, row.to_model):
        return False
    now = timezone.now()
    if not open_row.update(state=State.SWITCHED, switched_at=now, finished_at=now, due_at=None, error=""):
        return False
    if row.undoes_id:
        Reembedding.objects.filter(pk=row.undoes_id).update(state=State.ROLLED_BACK)
    source.embedding_model_id = row.to_model_id
    source.save(update_fields=["embedding_model", "updated_at"])
    logger.info("source_switched", source=str(source.pk), model=row.to_model.name, forced=bool(row.forced_because))
    return True


def drop(row: Reembedding) -> None:
    """Remove the vectors of the model that the source had before, in the background. There is no way back then."""
    if row.switched_at is None:
        raise _refused("There are no old vectors to drop.")
    with transaction.atomic():
        source = _locked(row.source)
        if source.reembeddings.filter(_open()).exists():
            raise _refused("Another one is under way: cancel it first.")
        values = {"state": State.DROPPED, "clearing": row.from_model, "position": None, "outages": 0}
        switched = source.reembeddings.filter(pk=row.pk, state=State.SWITCHED)
        if not switched.update(**values, due_at=row.switched_at + GRACE_PERIOD):
            raise _refused("There are no old vectors to drop.")
    _tell_workers()


def cancel(row: Reembedding) -> None:
    """End it. What it has built is removed in the background; a way back keeps the vectors that were there before."""
    now = timezone.now()
    values = {"state": State.CANCELLED, "finished_at": now, "position": None, "outages": 0, "due_at": None, "error": ""}
    open_row = Reembedding.objects.filter(pk=row.pk, state__in=Reembedding.OPEN)
    if not open_row.update(**values, clearing=None if row.undoes_id else row.to_model):
        raise _refused("It has ended already.")
    _tell_workers()


def resume(row: Reembedding) -> None:
    """Look again for what is missing, after a failure or for newer figures of the gate."""
    values = {"state": State.BUILDING, "position": None, "outages": 0, "due_at": None, "error": ""}
    waiting = Reembedding.objects.filter(pk=row.pk, state__in=[State.FAILED, State.READY])
    if not waiting.update(**values, measured_at=None, old_quality=None, new_quality=None):
        raise _refused("There is nothing to resume.")
    _tell_workers()


def check_quality_gate(row: Reembedding) -> str:
    """Why the quality gate refuses the switch; empty if it does not, or has nothing to say."""
    if row.undoes_id or row.forced_because:
        return ""
    old, new = row.old_quality, row.new_quality
    if old is None or new is None:
        if quality.active_questions(row.source).exists():
            return "The source has golden questions that were not asked for both models. Measure again."
        return ""
    tolerance = settings.RAG_GATE_TOLERANCE
    if new.ndcg_at_10 >= old.ndcg_at_10 - tolerance:
        return ""
    return (
        f"{row.to_model} finds less on the golden questions: nDCG@10 {new.ndcg_at_10:.3f}, and {old.ndcg_at_10:.3f} "
        f"with {row.from_model} (tolerance {tolerance:g})."
    )


def _begin(source: DataSource, model: EmbeddingModel, *, by: User | None, **values: Any) -> Reembedding:
    """In the caller's transaction, which has locked the source."""
    if source.reembeddings.filter(_open()).exists():
        raise _refused("A re-embedding of this source is under way, or its vectors are still being removed.")
    row = Reembedding.objects.create(
        source=source, from_model=source.embedding_model, to_model=model, started_by=by, **values
    )
    _tell_workers()
    return row


def _open() -> Q:
    return Q(state__in=Reembedding.OPEN) | Q(clearing__isnull=False)


def _locked(source: DataSource) -> DataSource:
    """For the caller's transaction; those who write documents to it need not wait."""
    rows: QuerySet[DataSource] = DataSource.objects.select_for_update(of=("self",), no_key=True)
    found = rows.select_related("embedding_model").filter(pk=source.pk, deleted_at=None).first()
    if found is None:
        raise UnknownSource
    return found


def _tell_workers() -> None:
    queue.send("rag.reembed", expires=60)


def _refused(message: str) -> InvalidRequest:
    return InvalidRequest(message, field="model")
