"""Lists, shows and deletes the documents of a data source."""

import uuid

import structlog
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone

from accounts.audit import events
from accounts.audit.events import AuditAction, AuditObject
from orgs.access.caller import Caller
from orgs.models import Organization
from rag import task_queue
from rag.errors import UnknownDocument
from rag.models import Action, DataSource, Document, Original
from rag.models.content.documents import DocumentQuerySet
from rag.pipeline.ingestion import quota
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.models import new_revision

from . import lookup
from .expected_version import check_version

logger = structlog.get_logger(__name__)


def list_documents(
    caller: Caller,
    reference: str,
    *,
    organization: Organization | None = None,
    search: str = "",
    lang: str = "",
    tag: str = "",
    source_type: str = "",
) -> DocumentQuerySet:
    """Return the documents of a source, without their texts, ordered by path. Empty filters are ignored.

    Args:
        caller: The caller, whose permissions apply.
        reference: Id or slug of the source.
        organization: The organisation that the request names, if any.
        search: A part of the path or title.
        lang: Only documents in this language.
        tag: Only documents with this tag.
        source_type: Only documents of this type.

    Raises:
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    source = lookup.get_source(lookup.visible_sources(caller, Action.VIEW, organization=organization), reference)
    documents = _live_documents(source)
    if search:
        documents = documents.filter(Q(path__icontains=search) | Q(title__icontains=search))
    if lang:
        documents = documents.filter(lang=lang)
    if tag:
        documents = documents.filter(tags__contains=[tag])
    return documents.filter(source_type=source_type) if source_type else documents


def get_document(documents: DocumentQuerySet, *, document_id: uuid.UUID | None = None, path: str = "") -> Document:
    """Return the document with this path, or else with this id, among `documents`.

    Args:
        documents: The documents that the caller may see.
        document_id: The id; None if the request contains something that is not an id.
        path: The path; empty to look for the id.

    Raises:
        UnknownDocument: If no document has it.
    """
    document = None
    if path:
        document = documents.filter(path=path).first()
    elif document_id:
        document = documents.filter(pk=document_id).first()
    if document is None:
        raise UnknownDocument
    return document


def delete_by_reference(
    caller: Caller,
    reference: str,
    *,
    document_id: uuid.UUID | None = None,
    path: str = "",
    organization: Organization | None = None,
    expected_versions: frozenset[str] | None = None,
) -> None:
    """Delete the document with this path, or else with this id, if the caller may.

    Its rows are removed later, so this takes the same time for a document of any size.

    Args:
        caller: The caller, whose permissions apply.
        reference: Id or slug of the source.
        document_id: The document's id.
        path: The document's path; empty to look for the id.
        organization: The organisation that the request names, if any.
        expected_versions: The versions that may be deleted (overwrite_protection); None for any.

    Raises:
        VersionChanged: If the document is in another version.
        NotAllowed: If the caller may see the source, but not delete its documents.
        UnknownSource: If the source does not exist for the caller.
        UnknownDocument: If the source has no such document.
        InvalidRequest: If sources of several organisations have this slug.
    """
    source = lookup.get_source_to_delete_from(caller, reference, organization=organization)
    document = get_document(_live_documents(source), document_id=document_id, path=path)
    delete_document(document, expected_versions=expected_versions)


@transaction.atomic
def delete_document(document: Document, *, expected_versions: frozenset[str] | None = None) -> None:
    """Delete the document for everyone, without checking permissions.

    It waits for a transaction that is writing the document. The deletion has a revision, as submissions have, so that
    no version that was submitted earlier can restore the document.

    Raises:
        UnknownDocument: If the document is deleted already.
        VersionChanged: If it is in none of the expected versions.
    """
    source = document.source
    source.lock_for_write(any_model=True)
    advisory_xact_locks([f"{source.pk}/{document.path}"])
    stored = Document.objects.live().only("chunk_count", "bytes", "revision").filter(pk=document.pk).first()
    if stored is None:
        raise UnknownDocument
    check_version(stored, expected_versions)
    Document.objects.filter(pk=document.pk).update(deleted_at=timezone.now(), revision=new_revision())
    chunks, size = stored.chunk_count, stored.bytes
    events.record(
        AuditAction.DELETED,
        AuditObject.DOCUMENT,
        object_id=document.pk,
        label=document.path,
        organization=source.organization,
    )
    Original.objects.filter(documents=document).schedule_purge_check()
    task_queue.send("rag.purge_deleted")
    logger.info("document_deleted", document=str(document.pk), source=str(source.pk), chunks=chunks)
    quota.update_usage(source.organization_id, chunks=-chunks, bytes=-size)


def get_storage_totals(source: DataSource) -> tuple[int, int, int]:
    """Return the numbers of documents, chunks and bytes that the source stores now."""
    live = Document.objects.live().filter(source=source)
    sums = live.aggregate(chunks=Sum("chunk_count", default=0), size=Sum("bytes", default=0))
    return live.count(), sums["chunks"], sums["size"]


def _live_documents(source: DataSource) -> DocumentQuerySet:
    return Document.objects.live().filter(source=source).select_related("source").without_text().order_by("path")
