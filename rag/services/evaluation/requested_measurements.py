"""Measures the quality of data sources in the background: of all that have golden questions each night, and on request.

A request is stored with its source. One process at a time measures, one source after the other, so that the other
thread of the background worker is free for syncs, re-embeddings and index builds.
"""

import datetime
import time
import uuid

import structlog
from django.db.models import Exists, OuterRef
from django.utils import timezone

from rag import task_queue
from rag.errors import RagError
from rag.models import DataSource, QualityRun
from ragsite.postgres.locks import session_lock

from . import quality

logger = structlog.get_logger(__name__)

# How long one task takes new sources. The next task continues.
_MAX_TASK_SECONDS = 40.0
# Several schedulers may start a night. A source that was measured in this time is not measured for it again.
_NIGHT = datetime.timedelta(hours=6)
# Organisation → when one of its sources was measured, of time.monotonic.
_last_measured: dict[uuid.UUID, float] = {}


def request(source: DataSource) -> None:
    """Let a worker measure the source soon. Requests from before the end of a measurement count for this one."""
    DataSource.objects.filter(pk=source.pk).update(quality_requested_at=timezone.now())
    task_queue.send("rag.measure_quality", expires=60)


def request_all() -> None:
    """Let a worker measure each source that has golden questions."""
    recent = QualityRun.objects.filter(source=OuterRef("pk"), is_live=True, at__gt=timezone.now() - _NIGHT)
    sources = quality.sources_with_questions().filter(~Exists(recent), quality_requested_at=None)
    sources.update(quality_requested_at=timezone.now())


def measure_requested() -> None:
    """Measure sources until no request is left, or _MAX_TASK_SECONDS have passed."""
    with session_lock("measure quality") as is_acquired:
        deadline = time.monotonic() + _MAX_TASK_SECONDS
        while is_acquired and time.monotonic() < deadline and (source := _next_source()):
            _measure(source)


def _next_source() -> DataSource | None:
    """Return the source that has waited longest, of the organisation that was measured for longest ago.

    An organisation may have thousands of sources, and one takes up to MAX_SECONDS_PER_SOURCE.
    """
    requested = DataSource.objects.filter(quality_requested_at__isnull=False, deleted_at=None)
    waiting = requested.order_by().values_list("organization", flat=True).distinct()
    organization = min(waiting, key=lambda key: _last_measured.get(key, 0.0), default=None)
    sources = requested.filter(organization=organization).select_related("embedding_model")
    return sources.order_by("quality_requested_at", "pk").first()


def _measure(source: DataSource) -> None:
    """Measure a source. A failure is logged, and the next night tries again."""
    _end_request(source)  # a measurement that ends the process must not be repeated by the next one, and so on
    try:
        quality.measure_and_compare(source)
    except (RagError, TimeoutError) as error:
        logger.warning("quality_not_measured", source=str(source.pk), reason=getattr(error, "code", "TOO_SLOW"))
    finally:
        _last_measured[source.organization_id] = time.monotonic()
        _end_request(source)  # somebody may have requested the same meanwhile


def _end_request(source: DataSource) -> None:
    DataSource.objects.filter(pk=source.pk).update(quality_requested_at=None)
