"""Stores what this process has measured (ragsite.observability.measurement_buffer), and deletes what has expired."""

import datetime
import json
import threading
import time
from collections.abc import Sequence

import structlog
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from rag.models import Measurement, RecordedError, SlowOperation, WorkerHeartbeat
from rag.services.operations import scheduled_task_status
from ragsite.observability import measurement_buffer
from ragsite.postgres import identity, role_connections

from .measurement_summaries import ALL_TIME

logger = structlog.get_logger(__name__)

KEPT_FOR = datetime.timedelta(days=14)
_INTERVAL_SECONDS = 10
_MAX_SLOW_PER_KIND = 5
_ADD = """
INSERT INTO rag_measurement (period, kind, name, organization, count, failures, milliseconds, histogram)
SELECT period, kind, name, organization, count, failures, milliseconds,
    ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(histogram::jsonb) AS bucket (value))
FROM unnest(%s::timestamptz[], %s::text[], %s::text[], %s::uuid[], %s::bigint[], %s::bigint[], %s::float8[], %s::text[])
    AS added (period, kind, name, organization, count, failures, milliseconds, histogram)
ON CONFLICT (organization, period, kind, name) DO UPDATE SET
    count = rag_measurement.count + excluded.count,
    failures = rag_measurement.failures + excluded.failures,
    milliseconds = rag_measurement.milliseconds + excluded.milliseconds,
    histogram = ARRAY(
        SELECT coalesce(a, 0) + coalesce(b, 0)
        FROM unnest(rag_measurement.histogram, excluded.histogram) WITH ORDINALITY AS buckets (a, b, number)
        ORDER BY number
    )
"""


def store_measurements() -> None:
    """Store what this process has measured since the last call. It is lost if the database does not answer."""
    pending = measurement_buffer.take()
    if not pending:
        return
    with transaction.atomic():
        _add_totals(pending)
        slowest = sorted(pending.slow, key=lambda slow: -slow.milliseconds)
        SlowOperation.objects.bulk_create(
            SlowOperation(
                at=slow.at, kind=slow.kind, milliseconds=slow.milliseconds, stages=slow.stages,
                organization=slow.organization, document=slow.document, request_id=slow.request_id,
            )
            for kind in SlowOperation.Kind.values
            for slow in [entry for entry in slowest if entry.kind == kind][:_MAX_SLOW_PER_KIND]
        )  # fmt: skip
        RecordedError.objects.bulk_create(
            RecordedError(
                at=error.at, event=error.event, exception=error.exception, request_id=error.request_id, task=error.task
            )
            for error in pending.errors
        )


def store_meanwhile() -> None:
    """Store what this process has measured so far, from a thread that has more important work: no failure ends it."""
    try:
        store_measurements()
    except Exception as failure:
        logger.warning("measurements_not_stored", reason=type(failure).__name__)


def store_after_task(task: str, *, started_at: datetime.datetime, error: str) -> None:
    """Store the run of a task, if it is scheduled, and what this process has measured.

    A failure is only logged: it must not fail the task.
    """
    try:
        scheduled_task_status.record_run(task, started_at=started_at, error=error)
        store_measurements()
    except DatabaseError as failure:
        logger.warning("measurements_not_stored", reason=type(failure).__name__)


def _add_totals(pending: measurement_buffer.Pending) -> None:
    """Add the sums to their periods, and those of the installation to the totals of all time."""
    rows: dict[measurement_buffer.Key, measurement_buffer.Totals] = dict(pending.totals)
    for key, totals in pending.totals.items():
        if key.organization == measurement_buffer.EVERYBODY:
            sums = rows.setdefault(
                measurement_buffer.Key(0, key.kind, key.name, key.organization), measurement_buffer.Totals()
            )
            sums.count += totals.count
            sums.failures += totals.failures
            sums.milliseconds += totals.milliseconds
            sums.histogram = [sum(pair) for pair in zip(sums.histogram, totals.histogram, strict=True)]
    if not rows:
        return
    ordered: Sequence[measurement_buffer.Key] = sorted(rows)  # in one order, against deadlocks between processes
    columns = zip(
        *(
            (
                datetime.datetime.fromtimestamp(key.period, datetime.UTC), key.kind, key.name, key.organization,
                rows[key].count, rows[key].failures, rows[key].milliseconds, json.dumps(rows[key].histogram),
            )
            for key in ordered
        ),
        strict=True,
    )  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_ADD, [list(column) for column in columns])


def delete_expired() -> None:
    """Delete old measurements, errors, slow operations and the rows of workers that died long ago."""
    cutoff = timezone.now() - KEPT_FOR
    Measurement.objects.filter(period__lt=cutoff).exclude(period=ALL_TIME).delete()
    RecordedError.objects.filter(at__lt=cutoff).delete()
    SlowOperation.objects.filter(at__lt=cutoff).delete()
    WorkerHeartbeat.objects.filter(beat_at__lt=timezone.now() - datetime.timedelta(days=1)).delete()


def store_in_background() -> None:
    """Store the measurements of this web process every few seconds, from a thread of its own."""
    threading.Thread(target=_store_repeatedly, name="measurements", daemon=True).start()


def _store_repeatedly() -> None:
    while True:
        time.sleep(_INTERVAL_SECONDS)
        # Requests must not read what others do, so their role has no access to these tables.
        with identity.run_as(identity.STAFF):
            try:
                store_measurements()
            except DatabaseError as error:
                logger.warning("measurements_not_stored", reason=type(error).__name__)
            finally:
                connection.close()
        role_connections.close_of_thread()
