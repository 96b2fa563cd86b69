"""Re-embedding: moving a data source to another embedding model without downtime.

A re-embedding is started, switched, rolled back, dropped or cancelled here; the background process does the work
(rag.services.reembedding.background). The functions do not check permissions: the calling code has found the source, or
the re-embedding, among those that the user may MANAGE.
"""

import datetime

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from accounts.models import User
from rag import task_queue
from rag.errors import InvalidRequest, UnknownSource
from rag.models import DataSource, EmbeddingModel, Reembedding
from rag.pipeline.ingestion import reembed
from rag.services.evaluation import quality
from rag.services.webhooks import events

logger = structlog.get_logger(__name__)

State = Reembedding.State
# Searches that started before a switch still use the old vectors. No search takes longer than this.
GRACE_PERIOD = datetime.timedelta(minutes=5)


def get_current(source: DataSource) -> Reembedding | None:
    """Return the source's re-embedding that is unfinished or still has old vectors, to roll back to or to remove."""
    reembeddings = source.reembeddings.select_related("from_model", "to_model", "old_quality", "new_quality", "source")
    reembeddings = reembeddings.select_related("source__embedding_model", "started_by", "model_to_remove")
    return reembeddings.unfinished().first() or reembeddings.filter(state=State.SWITCHED).first()


def start(
    source: DataSource,
    model: EmbeddingModel,
    *,
    by: User | None = None,
    switches_automatically: bool = False,
    forced_because: str = "",
) -> Reembedding:
    """Start to build vectors of another model. The source is searched with its current vectors meanwhile.

    Args:
        source: The data source.
        model: The new embedding model.
        by: The user who starts it, for the record.
        switches_automatically: Switch as soon as the vectors are complete, if the quality gate allows it.
        forced_because: Why the quality gate is overruled; empty if it applies.

    Returns:
        The new re-embedding.

    Raises:
        InvalidRequest: If the source has this model already, or another re-embedding is unfinished.
        UnknownSource: If the source was deleted in the meantime.
    """
    with transaction.atomic():
        source = _lock(source)
        if source.embedding_model_id == model.pk:
            raise _invalid(gettext("The source has the model {model} already.").format(model=model))
        if switched := source.reembeddings.filter(state=State.SWITCHED).first():
            raise _invalid(
                gettext("The vectors of {from_model} still exist. Roll back to them, or drop them first.").format(
                    from_model=switched.from_model
                )
            )
        return _create(
            source, model, by=by, switches_automatically=switches_automatically, forced_because=forced_because
        )


def roll_back(reembedding: Reembedding, *, by: User | None = None) -> Reembedding:
    """Start a re-embedding back to the old model.

    Only chunks that were added since the switch have to be embedded. Then it switches by itself, without the gate.

    Args:
        reembedding: The re-embedding that is rolled back. It must be switched.
        by: The user who starts it, for the record.

    Returns:
        The re-embedding in the other direction.

    Raises:
        InvalidRequest: If there are no old vectors, or another re-embedding is unfinished.
        UnknownSource: If the source was deleted in the meantime.
    """
    with transaction.atomic():
        source = _lock(reembedding.source)
        if not source.reembeddings.filter(pk=reembedding.pk, state=State.SWITCHED).exists():
            raise _invalid(gettext("There are no old vectors to roll back to."))
        return _create(source, reembedding.from_model, by=by, switches_automatically=True, undoes=reembedding)


def switch(reembedding: Reembedding, *, forced_because: str = "") -> bool:
    """Search the source with the new model from now on.

    Args:
        reembedding: A re-embedding that is ready.
        forced_because: Why the quality gate is overruled; empty if it applies.

    Returns:
        False if chunks were added in the meantime: they are embedded first, then it switches by itself.

    Raises:
        InvalidRequest: If the re-embedding is not ready, or the quality gate refuses the switch.
        UnknownSource: If the source was deleted in the meantime.
    """
    forced_because = forced_because.strip()
    if reembedding.state != State.READY:
        raise _invalid(gettext("It is not ready to be switched."))
    if not forced_because and (reason := quality_gate_failure(reembedding)):
        raise _invalid(reason)
    values = {
        "state": State.BUILDING,
        "switches_automatically": True,
        "position": None,
        "forced_because": forced_because,
    }
    if not Reembedding.objects.filter(pk=reembedding.pk, state=State.READY).update(**values):
        raise _invalid(
            gettext("The re-embedding was changed by somebody else at the same time. Reload, and try again.")
        )
    reembedding.refresh_from_db(fields=list(values))
    if switch_if_complete(reembedding):
        return True
    _notify_worker()
    return False


@transaction.atomic
def switch_if_complete(reembedding: Reembedding) -> bool:
    """Switch the source to the new model if no chunk lacks a vector of it.

    Every transaction that writes chunks locks the source's row (DataSource.lock_for_write). Either the transaction has
    committed before the row is locked here: then its chunks are checked. Or the transaction waits for the row: then it
    finds that the source has another model (ModelChanged). Searches never wait, because both models have all vectors
    at this moment.

    Returns:
        Whether the source was switched.

    Raises:
        UnknownSource: If the source was deleted, or its model is not the one that the re-embedding starts from.
    """
    # First without a lock, so that writers do not wait.
    if not reembed.is_complete(reembedding.source, reembedding.to_model):
        return False
    source = DataSource.objects.select_for_update().filter(pk=reembedding.source_id, deleted_at=None).first()
    if source is None or source.embedding_model_id != reembedding.from_model_id:
        raise UnknownSource
    building = Reembedding.objects.filter(pk=reembedding.pk, state=State.BUILDING)
    if not reembed.is_complete(source, reembedding.to_model):
        return False
    now = timezone.now()
    if not building.update(state=State.SWITCHED, switched_at=now, finished_at=now, due_at=None, error=""):
        return False
    if reembedding.undoes_id:
        Reembedding.objects.filter(pk=reembedding.undoes_id).update(state=State.ROLLED_BACK)
    source.embedding_model_id = reembedding.to_model_id
    source.save(update_fields=["embedding_model", "updated_at"])
    events.record_reembedding(reembedding)
    logger.info(
        "reembedding_switched",
        source=str(source.pk),
        model=reembedding.to_model.name,
        forced=bool(reembedding.forced_because),
    )
    return True


def drop(reembedding: Reembedding) -> None:
    """Remove the vectors of the old model in the background. The re-embedding can then no longer be rolled back.

    Raises:
        InvalidRequest: If there are no old vectors, or another re-embedding is unfinished.
        UnknownSource: If the source was deleted in the meantime.
    """
    if reembedding.switched_at is None:
        raise _invalid(gettext("There are no old vectors to drop."))
    with transaction.atomic():
        source = _lock(reembedding.source)
        if source.reembeddings.unfinished().exists():
            raise _invalid(gettext("Another re-embedding of this source is not finished: cancel it first."))
        values = {"state": State.DROPPED, "model_to_remove": reembedding.from_model, "position": None, "outages": 0}
        switched = source.reembeddings.filter(pk=reembedding.pk, state=State.SWITCHED)
        if not switched.update(**values, due_at=reembedding.switched_at + GRACE_PERIOD):
            raise _invalid(gettext("There are no old vectors to drop."))
    _notify_worker()


def cancel(reembedding: Reembedding) -> None:
    """Cancel an unfinished re-embedding. The vectors that it has built are removed in the background.

    A cancelled rollback removes nothing: the old vectors are still needed for another one.

    Raises:
        InvalidRequest: If the re-embedding has ended.
    """
    now = timezone.now()
    values = {"state": State.CANCELLED, "finished_at": now, "position": None, "outages": 0, "due_at": None, "error": ""}
    cancellable = Reembedding.objects.filter(pk=reembedding.pk, state__in=Reembedding.OPEN_STATES)
    if not cancellable.update(**values, model_to_remove=None if reembedding.undoes_id else reembedding.to_model):
        raise _invalid(gettext("This re-embedding has ended already."))
    _notify_worker()


def resume(reembedding: Reembedding) -> None:
    """Continue after a failure, or measure again for the quality gate. Missing vectors are built first.

    Raises:
        InvalidRequest: If the re-embedding has neither failed nor is ready.
    """
    values = {"state": State.BUILDING, "position": None, "outages": 0, "due_at": None, "error": ""}
    waiting = Reembedding.objects.filter(pk=reembedding.pk, state__in=[State.FAILED, State.READY])
    if not waiting.update(**values, measured_at=None, old_quality=None, new_quality=None):
        raise _invalid(gettext("There is nothing to resume."))
    _notify_worker()


def quality_gate_failure(reembedding: Reembedding) -> str:
    """Return why the quality gate refuses the switch; empty if it allows the switch.

    The gate compares nDCG@10 of both models on the source's golden questions, with NDCG_TOLERANCE. It
    does not apply to rollbacks, to sources without golden questions, and if it was overruled.
    """
    if reembedding.undoes_id or reembedding.forced_because:
        return ""
    old, new = reembedding.old_quality, reembedding.new_quality
    if old is None or new is None:
        if quality.active_questions(reembedding.source).exists():
            return gettext("The golden questions of the source were not measured with both models. Measure again.")
        return ""
    if new.ndcg_at_10 >= old.ndcg_at_10 - quality.NDCG_TOLERANCE:
        return ""
    # Without figures: managers who may not query the source read this, too.
    return gettext(
        "{to_model} is worse on the golden questions than {from_model}: its nDCG@10 is lower by "
        "more than {ndcg_tolerance:g}."
    ).format(to_model=reembedding.to_model, from_model=reembedding.from_model, ndcg_tolerance=quality.NDCG_TOLERANCE)


def _create(source: DataSource, model: EmbeddingModel, *, by: User | None, **values: object) -> Reembedding:
    """Create the re-embedding and notify the background process, in a transaction that has locked the source."""
    if source.reembeddings.unfinished().exists():
        raise _invalid(
            gettext("Another re-embedding of this source is not finished, or its vectors are still being removed.")
        )
    reembedding = Reembedding.objects.create(
        source=source, from_model=source.embedding_model, to_model=model, started_by=by, **values
    )
    _notify_worker()
    return reembedding


def _lock(source: DataSource) -> DataSource:
    """Lock the source until the transaction ends. Transactions that write documents do not have to wait (no_key)."""
    sources: QuerySet[DataSource] = DataSource.objects.select_for_update(of=("self",), no_key=True)
    locked = sources.select_related("embedding_model").filter(pk=source.pk, deleted_at=None).first()
    if locked is None:
        raise UnknownSource
    return locked


def _notify_worker() -> None:
    task_queue.send("rag.reembed", expires=60)


def _invalid(message: str) -> InvalidRequest:
    return InvalidRequest(message, field="model")
