"""The figures of the admin's home, for those who manage data sources: of their organisations only."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Count, QuerySet, Sum

from orgs.models import Organization
from rag.models import DataSource, Document, IngestionJob, Usage
from rag.services.operations.measurements import measurement_summaries
from ragsite.observability.measurement_buffer import EVERYBODY

_MAX_ORGANIZATIONS = 20


@dataclass(frozen=True, slots=True)
class Storage:
    """What an organisation stores, and its quotas. None for a quota that it does not have."""

    organization: str
    chunks: int
    bytes: int
    max_chunks: int | None
    max_bytes: int | None


@dataclass(frozen=True, slots=True)
class HomeFigures:
    """Figures of some organisations.

    Attributes:
        jobs: Status → number of jobs.
        storage: The organisations with most chunks, at most 20.
        by_hour: The measurements of the last 24 hours.
    """

    documents: int
    chunks: int
    jobs: dict[str, int]
    storage: list[Storage]
    by_hour: measurement_summaries.Hourly


def read_figures(
    sources: QuerySet[DataSource], organizations: QuerySet[Organization], *, covers_all: bool
) -> HomeFigures:
    """Return the figures.

    Args:
        sources: The data sources that the viewer manages.
        organizations: Their organisations.
        covers_all: Whether these are all organisations, so that the sums of the installation are the same and cheaper.
    """
    live_sources = sources.filter(deleted_at=None).order_by().values("pk")
    usage = Usage.objects.filter(organization__in=organizations.values("pk")).order_by("-chunks", "pk")
    columns = ("organization__name", "chunks", "bytes", "organization__max_chunks", "organization__max_bytes")
    storage = [Storage(*row) for row in usage.values_list(*columns)[:_MAX_ORGANIZATIONS]]
    jobs = IngestionJob.objects.filter(source__in=live_sources).order_by().values_list("status")
    measured: Collection[uuid.UUID] = [EVERYBODY] if covers_all else organizations.values_list("pk", flat=True)
    return HomeFigures(
        documents=Document.objects.live().filter(source__in=live_sources).count(),
        chunks=usage.aggregate(total=Sum("chunks"))["total"] or 0,
        jobs=dict.fromkeys(IngestionJob.Status.values, 0) | dict(jobs.annotate(Count("pk"))),
        storage=storage,
        by_hour=measurement_summaries.summarize_by_hour("operation", organizations=list(measured)),
    )
