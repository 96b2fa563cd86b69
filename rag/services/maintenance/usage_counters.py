"""Checks and repairs the usage counters of the quotas."""

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
class UsageDifference:
    """A wrong counter of an organisation.

    Attributes:
        organization_id: The organisation.
        slug: The organisation's slug.
        counted: The counter, as (chunks, bytes).
        stored: The sum over the stored documents, as (chunks, bytes).
    """

    organization_id: uuid.UUID
    slug: str
    counted: tuple[int, int]
    stored: tuple[int, int]


def find_differences() -> list[UsageDifference]:
    """Return the organisations whose counter is wrong, and log each of them.

    It is exact while documents are written: counter and documents are written in one transaction, and read in one
    statement.
    """
    differences = [
        UsageDifference(organization_id, slug, (counted_chunks, counted_bytes), (chunks, size))
        for organization_id, slug, counted_chunks, counted_bytes, chunks, size in _with_sums(Organization.objects.all())
        if (counted_chunks, counted_bytes) != (chunks, size)
    ]
    for difference in differences:
        logger.error(
            "usage_differs", organization=difference.slug, counted=difference.counted, stored=difference.stored
        )
    return differences


@transaction.atomic
def repair(organization_id: uuid.UUID) -> None:
    """Set the counter to the sum over the documents. Transactions that write documents wait until this is committed."""
    Usage.objects.bulk_create([Usage(organization_id=organization_id)], ignore_conflicts=True)
    Usage.objects.select_for_update().get(pk=organization_id)
    *_, chunks, size = _with_sums(Organization.objects.filter(pk=organization_id)).get()
    Usage.objects.filter(pk=organization_id).update(chunks=chunks, bytes=size)


def _with_sums(
    organizations: QuerySet[Organization],
) -> QuerySet[Organization, tuple[uuid.UUID, str, int, int, int, int]]:
    """Return (id, slug, counted chunks, counted bytes, stored chunks, stored bytes) of each organisation."""
    zero = Value(0)
    return organizations.annotate(
        counted_chunks=Coalesce("usage__chunks", zero),
        counted_bytes=Coalesce("usage__bytes", zero),
        stored_chunks=Coalesce(_stored_sum("chunk_count"), zero),
        stored_bytes=Coalesce(_stored_sum("bytes"), zero),
    ).values_list("pk", "slug", "counted_chunks", "counted_bytes", "stored_chunks", "stored_bytes")


def _stored_sum(column: str) -> Subquery:
    stored = Document.objects.live().filter(source__organization=OuterRef("pk"), source__deleted_at=None)
    return Subquery(stored.order_by().values("source__organization").annotate(sum=Sum(column)).values("sum"))
