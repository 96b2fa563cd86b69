"""The documents of a data source: listing them, showing one, deleting one."""

import uuid

import structlog
from django.db import transaction
from django.db.models import Q, Sum
from django.utils import timezone

from accounts.audit import events
from accounts.audit.events import Act, Kind
from orgs.access.caller import Caller
from orgs.models import Organization
from rag import queue
from rag.errors import UnknownDocument
from rag.models import Action, DataSource, Document, Original
from rag.models.content.documents import DocumentQuerySet
from rag.pipeline.ingestion import quota
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.models import uuid7

from . import lookup

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
    """The documents of the source of this id or slug, narrowed by what is not empty; without their texts.

    search: a part of the path or title. Raises UnknownSource.
    """
    source = lookup.get_source(lookup.visible_sources(caller, Action.VIEW, organization=organization), reference)
    found = _of(source)
    if search:
        found = found.filter(Q(path__icontains=search) | Q(title__icontains=search))
    if lang:
        found = found.filter(lang=lang)
    if tag:
        found = found.filter(tags__contains=[tag])
    return found.filter(source_type=source_type) if source_type else found


def get_document(found: DocumentQuerySet, *, document_id: uuid.UUID | None = None, path: str = "") -> Document:
    """The one of this id or path among them; None stands for what is no id. Raises UnknownDocument."""
    document: Document | None = found.filter(path=path).first() if path else found.filter(pk=document_id).first()
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
) -> None:
    """The document of this id, or of this path, is gone for everybody, whatever its size.

    Raises NotAllowed if the user may only see the source, UnknownSource, UnknownDocument.
    """
    source = lookup.get_source_to_delete_from(caller, reference, organization=organization)
    delete_document(get_document(_of(source), document_id=document_id, path=path))


@transaction.atomic
def delete_document(document: Document) -> None:
    """Waits for whoever is writing the document, and wins against everything that was submitted before: the deletion
    has a revision, as submissions have. Raises UnknownDocument if somebody else was first."""
    source = document.source
    source.hold(any_model=True)
    advisory_xact_locks([f"{source.pk}/{document.path}"])
    found = Document.objects.live().filter(pk=document.pk).values_list("chunk_count", "bytes").first()
    if found is None:
        raise UnknownDocument
    Document.objects.filter(pk=document.pk).update(deleted_at=timezone.now(), revision=uuid7())
    chunks, size = found
    events.record(
        Act.DELETED, Kind.DOCUMENT, object_id=document.pk, label=document.path, organization=source.organization
    )
    Original.objects.filter(documents=document).release()
    queue.send("rag.purge_deleted")
    logger.info("document_deleted", document=str(document.pk), source=str(source.pk), chunks=chunks)
    quota.make_room(source.organization_id, chunks=-chunks, bytes=-size)


def get_storage_totals(source: DataSource) -> tuple[int, int, int]:
    """Documents, chunks and bytes of the source now."""
    live = Document.objects.live().filter(source=source)
    sums = live.aggregate(chunks=Sum("chunk_count", default=0), size=Sum("bytes", default=0))
    return live.count(), sums["chunks"], sums["size"]


def _of(source: DataSource) -> DocumentQuerySet:
    return Document.objects.live().filter(source=source).select_related("source").defer("text").order_by("path")
