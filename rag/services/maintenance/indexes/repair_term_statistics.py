"""Checks the store's term statistics against its chunks, and their totals, and repairs them."""

import time
import uuid
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from django.db import transaction

from orgs.models import Organization
from rag.models import DataSource
from rag.providers import provider_factory

logger = structlog.get_logger(__name__)

# The source that was checked last: the next check continues after it, so that all sources are checked in turn.
_LAST_SOURCE_KEY = "term-statistics/last-source"
_LAST_SOURCE_SECONDS = 30 * 24 * 3600
MAX_CHECK_SECONDS = 600


@dataclass(frozen=True, slots=True)
class SourceDifference:
    """A source with wrong statistics: `count` of its document frequencies are wrong."""

    source_id: uuid.UUID
    slug: str
    count: int


def check(source_id: uuid.UUID | None = None) -> list[SourceDifference]:
    """Find the sources whose statistics are wrong, and log each. Others may write documents at the same time.

    Args:
        source_id: The source to check; None for all sources.
    """
    store = provider_factory.chunk_store()
    sources = DataSource.objects.filter(deleted_at=None, **({"pk": source_id} if source_id else {}))
    differences = [
        SourceDifference(pk, slug, count)
        for pk, slug in sources.order_by("pk").values_list("pk", "slug")
        if (count := store.count_wrong_statistics(pk))
    ]
    for difference in differences:
        logger.error(
            "term_statistics_differ", source=str(difference.source_id), slug=difference.slug, count=difference.count
        )
    return differences


def check_totals(organization_id: uuid.UUID) -> int:
    """Return how many totals of the organisation are not the sums over its sources, and log if there are any."""
    count = provider_factory.chunk_store().count_wrong_totals(organization_id)
    if count:
        logger.error("term_totals_differ", organization=str(organization_id), count=count)
    return count


def check_all_totals() -> dict[uuid.UUID, int]:
    """Return organisation → number of wrong totals, without organisations whose totals are correct."""
    organization_ids = Organization.objects.order_by("pk").values_list("pk", flat=True)
    counts = {organization_id: check_totals(organization_id) for organization_id in organization_ids}
    return {organization_id: count for organization_id, count in counts.items() if count}


def check_in_turn() -> None:
    """Check sources until the time is over, at least one, continuing after the one that was checked last.

    The totals of an organisation are checked after the last of its sources.
    """
    deadline = time.monotonic() + MAX_CHECK_SECONDS
    sources = DataSource.objects.filter(deleted_at=None).order_by("pk").values_list("pk", "organization_id")
    organization_ids = dict(sources)
    last_sources = {organization_id: pk for pk, organization_id in organization_ids.items()}
    source_ids = list(organization_ids)
    last = cache.get(_LAST_SOURCE_KEY)
    remaining = [source_id for source_id in source_ids if not last or str(source_id) > last]
    for source_id in [*remaining, *source_ids[: len(source_ids) - len(remaining)]]:
        check(source_id)
        if last_sources[organization_ids[source_id]] == source_id:
            check_totals(organization_ids[source_id])
        cache.set(_LAST_SOURCE_KEY, str(source_id), _LAST_SOURCE_SECONDS)
        if time.monotonic() > deadline:
            return


@transaction.atomic
def repair(source_id: uuid.UUID) -> None:
    """Count the source's statistics again. Other writers of its organisation wait meanwhile."""
    provider_factory.chunk_store().repair_statistics(source_id)


@transaction.atomic
def repair_totals(organization_id: uuid.UUID) -> None:
    """Sum the organisation's statistics again. Its other writers wait meanwhile before they commit."""
    provider_factory.chunk_store().repair_totals(organization_id)
