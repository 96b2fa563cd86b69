"""Deleting a data source: invisible at once, whatever its size; its rows go afterwards, a batch at a time."""

import time
import uuid

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Model, QuerySet
from django.utils import timezone

from accounts.models import User
from orgs.models import Organization
from rag import queue
from rag.errors import UnknownSource
from rag.models import Chunk, DataSource, Document, IngestionDocument, IngestionJob, Original
from ragsite.db import take_free_turn

from . import jobs, originals, sources

logger = structlog.get_logger(__name__)

# Rows that one transaction of a purge removes: each chunk takes a vector along, each document its text.
_BATCH = 500


def delete(user: User, reference: str, *, organization: Organization | None = None) -> None:
    """The source of this id or slug is gone for everybody, and its jobs are cancelled.

    Raises NotAllowed if the user may only see it, else UnknownSource.
    """
    delete_source(sources.to_manage(user, reference, organization=organization))


@transaction.atomic
def delete_source(source: DataSource) -> None:
    """Workers and callers that write to it hold the row (DataSource.hold): they have committed before it is deleted
    here, or find it deleted. Raises UnknownSource if somebody else was first."""
    found = DataSource.objects.select_for_update().filter(pk=source.pk, deleted_at=None).first()
    if found is None:
        raise UnknownSource
    found.deleted_at = timezone.now()
    found.save(update_fields=["deleted_at"])
    jobs.cancel_all(IngestionJob.objects.filter(source=found))
    queue.send("rag.purge_deleted")
    logger.info("source_deleted", source=str(found.pk))


def purge() -> None:
    """Remove the rows of deleted sources for as long as it takes until the next call is due.

    It is asked for by every deletion and, in case that message is lost, at the pace of the sweep.
    """
    end = time.monotonic() + settings.RAG_SWEEP_SECONDS
    for source_id in DataSource.objects.exclude(deleted_at=None).order_by("deleted_at").values_list("pk", flat=True):
        while time.monotonic() < end:
            if not _purge_batch(source_id):
                break
    originals.purge_unused(end=end)


@transaction.atomic
def _purge_batch(source_id: uuid.UUID) -> bool:
    """Remove some rows. False if there is nothing left to do here, or another process is at it."""
    if not take_free_turn(f"purge/{source_id}"):
        return False
    rows: tuple[QuerySet[Model], ...] = (
        Chunk.objects.filter(source=source_id),
        IngestionDocument.objects.filter(job__source=source_id),
        IngestionJob.objects.filter(source=source_id),
        Document.objects.filter(source=source_id),
    )
    for each in rows:
        if batch := list(each.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
            each.model._default_manager.filter(pk__in=batch).only("pk").delete()
            return True
    if Original.objects.filter(source=source_id).exists():
        return originals.remove_some_of(source_id)
    DataSource.objects.filter(pk=source_id).exclude(deleted_at=None).delete()
    logger.info("source_purged", source=str(source_id))
    return False
