"""Purges the rows and files of everything that was deleted, in small batches (docs/decisions/0010-deletion.md)."""

import datetime
import functools
import time
import uuid
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone

from orgs.models import Organization
from rag.models import DataSource, Document, IngestionDocument, IngestionJob, Original, SyncItem
from rag.models.ingestion.jobs import HAS_INPUT
from rag.providers import provider_factory
from ragsite.postgres.locks import try_advisory_xact_lock

from . import original_files
from .deletion import delete_sources

logger = structlog.get_logger(__name__)

# Maximum number of rows that one transaction of the purge removes. Each chunk has a vector, each document a text.
_BATCH_SIZE = 500
# The row of a deleted document is kept for at least this long, which is longer than any earlier request can take.
_MIN_TOMBSTONE_AGE = datetime.timedelta(hours=1)


def purge_deleted() -> None:
    """Remove the rows of everything that was deleted, for at most RAG_SWEEP_INTERVAL_SECONDS.

    Beat calls it at this interval. Every deletion also sends a message; beat is needed if a message is lost.
    """
    deadline = time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS
    _repeat_until(deadline, purge_document_batch)
    _repeat_until(deadline, _delete_tombstones)
    for source_id in DataSource.objects.exclude(deleted_at=None).order_by("deleted_at").values_list("pk", flat=True):
        _repeat_until(deadline, functools.partial(_purge_source, source_id))
    for organization in Organization.objects.exclude(deleted_at=None):
        _purge_organization(organization)
    original_files.purge_unused(deadline=deadline)


def _repeat_until(deadline: float, purge_batch: Callable[[], bool]) -> None:
    """Call a function that removes one batch, until it returns False or the time is over.

    Such a function returns False if nothing is left to remove, or if another process removes it.
    """
    while time.monotonic() < deadline and purge_batch():
        pass


@transaction.atomic
def purge_document_batch() -> bool:
    """Remove a batch of chunks of deleted documents, and the content of the documents once their chunks are removed.

    Returns:
        Whether to call it again: False if nothing is left to do, or if another process does it.
    """
    if not try_advisory_xact_lock("purge/documents"):
        return False
    document_ids = _next_unpurged_documents()
    deleted_count = provider_factory.chunk_store().delete_document_chunks(document_ids, limit=_BATCH_SIZE)
    has_chunks_left = deleted_count == _BATCH_SIZE
    if not has_chunks_left:
        empty_values: dict[str, object] = {
            "text": "",
            "line_boxes": b"",
            "title": "",
            "uri": "",
            "metadata": {},
            "tags": [],
            "original": None,
        }
        Document.objects.filter(pk__in=document_ids).update(chunk_count=0, **empty_values)
        for document_id in document_ids:
            logger.info("document_purged", document=str(document_id))
    return bool(document_ids)


def _next_unpurged_documents() -> list[uuid.UUID]:
    """Return the ids of as many documents as fill a batch with their chunks, those deleted first before others."""
    unpurged = Document.objects.unpurged().filter(source__deleted_at=None).order_by("deleted_at", "pk")
    document_ids, remaining_chunks = [], _BATCH_SIZE
    for document_id, chunk_count in unpurged.values_list("pk", "chunk_count")[:_BATCH_SIZE]:
        document_ids.append(document_id)
        remaining_chunks -= chunk_count
        if remaining_chunks <= 0:
            break
    return document_ids


@transaction.atomic
def _delete_tombstones() -> bool:
    """Remove the rows of documents that were deleted long ago and have no content left.

    A row stays while a document with its path is in the queue or can be retried. If that one was submitted before the
    deletion, it must find the row, so that it does not restore the document.
    """
    if not try_advisory_xact_lock("purge/documents"):
        return False
    submitted = IngestionDocument.objects.filter(source=OuterRef("source"), path=OuterRef("path"))
    is_retryable = Q(state=IngestionDocument.State.FAILED) & HAS_INPUT
    pending = submitted.filter(Q(state__in=IngestionDocument.OPEN_STATES) | is_retryable)
    old = Document.objects.filter(deleted_at__lt=timezone.now() - _MIN_TOMBSTONE_AGE, chunk_count=0)
    batch = list(old.exclude(Exists(pending)).values_list("pk", flat=True)[:_BATCH_SIZE])
    Document.objects.filter(pk__in=batch).only("pk").delete()
    return bool(batch)


@transaction.atomic
def _purge_source(source_id: uuid.UUID) -> bool:
    """Remove a batch of rows of a deleted source, and finally its own row.

    Returns:
        Whether the next call may have more to remove; False while another process removes rows of this source.
    """
    if not try_advisory_xact_lock(f"purge/{source_id}"):
        return False
    if provider_factory.chunk_store().delete_source_chunks(source_id, limit=_BATCH_SIZE):
        return True
    querysets: tuple[QuerySet[Model], ...] = (
        SyncItem.objects.filter(connection__source=source_id),
        IngestionDocument.objects.filter(job__source=source_id),
        IngestionJob.objects.filter(source=source_id),
        Document.objects.filter(source=source_id),
    )
    for queryset in querysets:
        if batch := list(queryset.order_by("pk").values_list("pk", flat=True)[:_BATCH_SIZE]):
            queryset.model._default_manager.filter(pk__in=batch).only("pk").delete()
            return True
    if Original.objects.filter(source=source_id).exists():
        return original_files.delete_batch_of_source(source_id)
    DataSource.objects.filter(pk=source_id).exclude(deleted_at=None).delete()
    logger.info("source_purged", source=str(source_id))
    return False


@transaction.atomic
def _purge_organization(organization: Organization) -> None:
    """Remove the row of a deleted organisation without sources."""
    delete_sources(organization)  # those that a concurrent request has created since
    if not DataSource.objects.filter(organization=organization).exists():
        logger.info("organization_purged", organization=str(organization.pk))
        organization.delete()
