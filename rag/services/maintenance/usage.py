"""Whether what organisations are counted to store is what they store."""

import uuid
from dataclasses import dataclass

import structlog
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from orgs.models import Organization
from rag.models import Document, Usage

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """Of an organisation: counted (chunks, bytes), and what the sum over its documents is."""

    organization_id: uuid.UUID
    slug: str
    counted: tuple[int, int]
    stored: tuple[int, int]


def check() -> list[Difference]:
    """The organisations whose counter is wrong; each is a line in the log. Right while others write: counters and
    documents are read in one statement, and are written in one transaction."""
    found = [
        Difference(key, slug, (counted_chunks, counted_bytes), (chunks, size))
        for key, slug, counted_chunks, counted_bytes, chunks, size in _compared(Organization.objects.all())
        if (counted_chunks, counted_bytes) != (chunks, size)
    ]
    for each in found:
        logger.error("usage_differs", organization=each.slug, counted=each.counted, stored=each.stored)
    return found


@transaction.atomic
def repair(organization_id: uuid.UUID) -> None:
    """Set the counter to the sum. Writers of the organisation wait with their commit meanwhile."""
    Usage.objects.bulk_create([Usage(organization_id=organization_id)], ignore_conflicts=True)
    Usage.objects.select_for_update().get(pk=organization_id)
    *_, chunks, size = _compared(Organization.objects.filter(pk=organization_id)).get()
    Usage.objects.filter(pk=organization_id).update(chunks=chunks, bytes=size)


def _compared(organizations: QuerySet[Organization]) -> QuerySet:
    nothing = Value(0)
    return organizations.annotate(
        counted_chunks=Coalesce("usage__chunks", nothing),
        counted_bytes=Coalesce("usage__bytes", nothing),
        stored_chunks=Coalesce(_sum("chunk_count"), nothing),
        stored_bytes=Coalesce(_sum("bytes"), nothing),
    ).values_list("pk", "slug", "counted_chunks", "counted_bytes", "stored_chunks", "stored_bytes")


def _sum(column: str) -> Subquery:
    stored = Document.objects.live().filter(source__organization=OuterRef("pk"), source__deleted_at=None)
    return Subquery(stored.order_by().values("source__organization").annotate(sum=Sum(column)).values("sum"))
