"""Deleting a data source or an organisation, and what is left of deleted ones and of deleted documents: their rows go
afterwards, a batch at a time. None is found by anybody meanwhile (docs/decisions/0010-deletion.md)."""

import datetime
import functools
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import Organization
from orgs.services import service_address
from rag import queue
from rag.errors import UnknownSource
from rag.models import Chunk, DataSource, Document, IngestionDocument, IngestionJob, Original
from rag.models.ingestion.jobs import HAS_INPUT
from rag.pipeline.ingestion import quota
from rag.providers.stores.pgvector import terms
from rag.services.jobs import lifecycle, originals
from ragsite.postgres.locks import try_advisory_xact_lock

from . import documents, lookup

logger = structlog.get_logger(__name__)

# Rows that one transaction of a purge removes: each chunk takes a vector along, each document its text.
_BATCH = 500
# For how long a deleted document's path is remembered at least: longer than any request takes that was sent before.
_REMEMBERED = datetime.timedelta(hours=1)


def delete_by_reference(caller: Caller, reference: str, *, organization: Organization | None = None) -> None:
    """The source of this id or slug is gone for everybody, and its jobs are cancelled.

    Raises NotAllowed if the user may only see it, else UnknownSource.
    """
    delete_source(lookup.get_source_to_manage(caller, reference, organization=organization))


@transaction.atomic
def delete_source(source: DataSource) -> None:
    """Workers and callers that write to it hold the row (DataSource.hold): they have committed before it is deleted
    here, or find it deleted. Raises UnknownSource if somebody else was first."""
    found = DataSource.objects.select_for_update().filter(pk=source.pk, deleted_at=None).first()
    if found is None:
        raise UnknownSource
    # The mark comes last: from then on what belongs to the source is visible to no caller, this one included.
    lifecycle.cancel_jobs(IngestionJob.objects.filter(source=found))
    _, chunks, size = documents.get_storage_totals(found)
    found.deleted_at = timezone.now()
    found.save(update_fields=["deleted_at"])
    queue.send("rag.purge_deleted")
    logger.info("source_deleted", source=str(found.pk))
    quota.make_room(found.organization_id, chunks=-chunks, bytes=-size)


@transaction.atomic
def delete_organization(organization: Organization) -> None:
    """It is closed at once: nobody belongs to it any more, and nothing of it is found. The people stay, for each may
    belong to others. Its row, and with it its slug, goes when its sources are purged."""
    # Whoever writes to its sources refers to the row, and need not wait for this.
    rows = Organization.objects.select_for_update(no_key=True)
    found = rows.filter(pk=organization.pk, deleted_at=None).first()
    if found is None:
        return
    found.deleted_at, found.is_active = timezone.now(), False
    found.save(update_fields=["deleted_at", "is_active"])
    _end_sources(found)
    User.objects.filter(email=service_address(found.slug)).delete()
    for people in (found.api_keys, found.memberships, found.teams, found.roles):
        people.all().delete()
    queue.send("rag.purge_deleted")
    logger.info("organization_deleted", organization=str(found.pk))


def _end_sources(organization: Organization) -> None:
    for source in DataSource.objects.filter(organization=organization, deleted_at=None).order_by("pk"):
        delete_source(source)


def purge_deleted() -> None:
    """Remove the rows of what was deleted for as long as it takes until the next call is due.

    It is asked for by every deletion and, in case that message is lost, at the pace of the sweep.
    """
    end = time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS
    _while_there_is_some(_purge_documents, end)
    _while_there_is_some(_forget_documents, end)
    for source_id in DataSource.objects.exclude(deleted_at=None).order_by("deleted_at").values_list("pk", flat=True):
        _while_there_is_some(functools.partial(_purge_source, source_id), end)
    for organization in Organization.objects.exclude(deleted_at=None):
        _purge_organization(organization)
    originals.purge_unused(deadline=end)


def _while_there_is_some(batch: Callable[[], bool], end: float) -> None:
    while time.monotonic() < end and batch():
        pass


@transaction.atomic
def _purge_documents() -> bool:
    """Remove some chunks of deleted documents, and the content of those that have none left.

    False if there is nothing left to do here, or another process is at it: so for every batch.
    """
    if not try_advisory_xact_lock("purge/documents"):
        return False
    chosen = _some_unpurged()
    chunks = Chunk.objects.filter(document__in=chosen).order_by("document", "position")
    batch = list(chunks.values_list("pk", flat=True)[:_BATCH])
    terms.forget(batch)
    Chunk.objects.filter(pk__in=batch).only("pk").delete()
    if len(batch) < _BATCH:
        emptied: dict[str, Any] = {"text": "", "title": "", "uri": "", "metadata": {}, "tags": [], "original": None}
        Document.objects.filter(pk__in=chosen).update(chunk_count=0, **emptied)
        for document_id in chosen:
            logger.info("document_purged", document=str(document_id))
    return bool(chosen)


def _some_unpurged() -> list[uuid.UUID]:
    """The ids of as many as have a batch of chunks together, the first deleted first."""
    rows = Document.objects.unpurged().filter(source__deleted_at=None).order_by("deleted_at", "pk")
    chosen, room = [], _BATCH
    for document_id, chunks in rows.values_list("pk", "chunk_count")[:_BATCH]:
        chosen.append(document_id)
        room -= chunks
        if room <= 0:
            break
    return chosen


@transaction.atomic
def _forget_documents() -> bool:
    """Remove what is left of documents that were deleted long ago, unless their path is still waited for: an open
    document that was sent before must find that it is history."""
    if not try_advisory_xact_lock("purge/documents"):
        return False
    sent = IngestionDocument.objects.filter(source=OuterRef("source"), path=OuterRef("path"))
    may_be_tried_again = Q(state=IngestionDocument.State.FAILED) & HAS_INPUT
    waiting = sent.filter(Q(state__in=IngestionDocument.OPEN_STATES) | may_be_tried_again)
    old = Document.objects.filter(deleted_at__lt=timezone.now() - _REMEMBERED, chunk_count=0)
    batch = list(old.exclude(Exists(waiting)).values_list("pk", flat=True)[:_BATCH])
    Document.objects.filter(pk__in=batch).only("pk").delete()
    return bool(batch)


@transaction.atomic
def _purge_source(source_id: uuid.UUID) -> bool:
    """Remove some rows of a deleted source, in the end its own."""
    if not try_advisory_xact_lock(f"purge/{source_id}"):
        return False
    rows: tuple[QuerySet[Model], ...] = (
        Chunk.objects.filter(source=source_id),
        IngestionDocument.objects.filter(job__source=source_id),
        IngestionJob.objects.filter(source=source_id),
        Document.objects.filter(source=source_id),
    )
    for each in rows:
        if batch := list(each.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
            if each.model is Chunk:
                terms.forget(batch)
            each.model._default_manager.filter(pk__in=batch).only("pk").delete()
            return True
    terms.forget_source(source_id)
    if Original.objects.filter(source=source_id).exists():
        return originals.delete_batch_of_source(source_id)
    DataSource.objects.filter(pk=source_id).exclude(deleted_at=None).delete()
    logger.info("source_purged", source=str(source_id))
    return False


@transaction.atomic
def _purge_organization(organization: Organization) -> None:
    """Remove the row of a deleted organisation that has no source left."""
    _end_sources(organization)  # made meanwhile, by a request that had begun before
    if not DataSource.objects.filter(organization=organization).exists():
        logger.info("organization_purged", organization=str(organization.pk))
        organization.delete()
