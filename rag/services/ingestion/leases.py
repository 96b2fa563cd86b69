"""Who works on a document of a job: a lease that ends by itself when its holder dies.

The row's token fences: a result is written only by whoever holds the row now, however late another one wakes up.
"""

import contextlib
import datetime
import threading
import uuid
from collections.abc import Iterator, Sequence

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F
from django.utils import timezone

from rag.models import IngestionDocument, IngestionTurn, ModelOutage
from rag.models.ingestion.jobs import TEXT_BYTES
from ragsite.postgres.models import uuid7

State, Stage = IngestionDocument.State, IngestionDocument.Stage


class LeaseLost(Exception):
    """The row is no longer ours: cancelled, or taken over because we were silent for too long."""


def claim_next(limit: int) -> list[IngestionDocument]:
    """Take up to `limit` documents that wait, all of one source; none if there is nothing to take now.

    Whose turn it is: the organisation with the fewest documents at work, among equals the one that was served longest
    ago; within it, the source with the fewest. Sources whose embedding model does not answer are left alone until its
    pause is over, and then give a single document, to see. No row is ever given to two callers.
    """
    now = timezone.now()
    with transaction.atomic():
        for source_id, organization_id, model_id, in_outage in _sources_in_turn(now):  # noqa: B007
            waiting = IngestionDocument.objects.filter(source=source_id, state=State.QUEUED, due_at=None)
            waiting = waiting.order_by("source_id", "pk").select_for_update(skip_locked=True)
            sized = waiting.annotate(length=TEXT_BYTES).values_list("pk", "attempts", "length", "original_id")
            ids = _together(list(sized[: 1 if in_outage else limit]))
            if ids and (not in_outage or _is_probe(ids[0], model_id, now)):
                break
        else:
            return []
        token = uuid7()
        IngestionDocument.objects.filter(pk__in=ids).update(
            state=State.RUNNING,
            attempts=F("attempts") + 1,
            lease=token,
            due_at=_end(),
            claimed_at=now,
            stage=Stage.PARSING,
            chunk_count=0,
        )
        IngestionTurn.objects.bulk_create(
            [IngestionTurn(organization_id=organization_id, served_at=now)],
            update_conflicts=True,
            unique_fields=["organization"],
            update_fields=["served_at"],
        )
    taken = IngestionDocument.objects.select_related("job__source__embedding_model", "original")
    return list(taken.filter(pk__in=ids, lease=token).order_by("pk"))


# Bytes of text that one worker takes at once, so that others have a part of long documents; what a file counts.
_MOST_AT_ONCE, _FILE = 128 * 1024, 16 * 1024


def _together(rows: list[tuple[uuid.UUID, int, int, uuid.UUID | None]]) -> list[uuid.UUID]:
    """What was lost with a worker before is taken alone: if it was the cause, it shall not take others with it."""
    ids: list[uuid.UUID] = []
    room = _MOST_AT_ONCE
    for key, attempts, length, original_id in rows:
        room -= _FILE if original_id else length
        if ids and (attempts or room < 0):
            break
        ids.append(key)
        if attempts:
            break
    return ids


# More sources than workers could be at, at the same moment.
_SOURCES_TRIED = 64


def _sources_in_turn(now: datetime.datetime) -> list[tuple[uuid.UUID, uuid.UUID, uuid.UUID, bool]]:
    """Source, organisation, model, and whether the model has an outage, of what may be taken; the next one first."""
    with connection.cursor() as cursor:
        cursor.execute(_IN_TURN, {"now": now, "most": _SOURCES_TRIED})
        return cursor.fetchall()


# The sources that have work are found by skipping through the index from one to the next: in time with their number,
# not with that of the documents.
_IN_TURN = """
WITH RECURSIVE work AS (
    (SELECT source_id FROM rag_ingestiondocument WHERE state = 'queued' AND due_at IS NULL
     ORDER BY source_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.source_id FROM rag_ingestiondocument AS next
            WHERE next.state = 'queued' AND next.due_at IS NULL AND next.source_id > work.source_id
            ORDER BY next.source_id LIMIT 1)
    FROM work WHERE work.source_id IS NOT NULL
), at_work AS (
    SELECT running.source_id, source.organization_id, count(*) AS documents
    FROM rag_ingestiondocument AS running JOIN rag_datasource AS source ON source.id = running.source_id
    WHERE running.state = 'running' GROUP BY running.source_id, source.organization_id
), organizations AS (
    SELECT organization_id, sum(documents) AS documents FROM at_work GROUP BY organization_id
)
SELECT source.id, source.organization_id, source.embedding_model_id, outage.model_id IS NOT NULL
FROM work
JOIN rag_datasource AS source ON source.id = work.source_id
LEFT JOIN rag_modeloutage AS outage ON outage.model_id = source.embedding_model_id
LEFT JOIN rag_ingestionturn AS turn ON turn.organization_id = source.organization_id
LEFT JOIN organizations ON organizations.organization_id = source.organization_id
LEFT JOIN at_work ON at_work.source_id = source.id
WHERE outage.model_id IS NULL OR outage.until <= %(now)s
ORDER BY coalesce(organizations.documents, 0), turn.served_at NULLS FIRST, coalesce(at_work.documents, 0), random()
LIMIT %(most)s
"""


def _is_probe(document_id: uuid.UUID, model_id: uuid.UUID, now: datetime.datetime) -> bool:
    """Whether this document is the one that finds out if the model answers again: others wait for it until `_end()`."""
    due = ModelOutage.objects.filter(model_id=model_id, until__lte=now)
    return bool(due.update(until=_end(), probe=document_id))


class Holding:
    """The rows that this process works on. Their leases are prolonged until they are let go, or the process dies."""

    def __init__(self) -> None:
        self._leases: dict[uuid.UUID, uuid.UUID | None] = {}
        self._changing = threading.Lock()

    def keep(self, rows: Sequence[IngestionDocument]) -> None:
        with self._changing:
            self._leases.update((row.pk, row.lease) for row in rows)

    def let_go(self, row: IngestionDocument) -> None:
        with self._changing:
            self._leases.pop(row.pk, None)

    def say(self, stage: str, rows: Sequence[IngestionDocument]) -> None:
        """What is done with those of the rows that are still ours."""
        ours = IngestionDocument.objects.filter(state=State.RUNNING, lease__in={row.lease for row in rows})
        ours.filter(pk__in=[row.pk for row in rows]).update(stage=stage)

    def prolong(self) -> None:
        with self._changing:
            held = dict(self._leases)
        if held:
            rows = IngestionDocument.objects.filter(pk__in=held, lease__in=set(held.values()), state=State.RUNNING)
            with transaction.atomic():  # in one order, as everybody who locks several
                ids = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
                IngestionDocument.objects.filter(pk__in=ids).update(due_at=_end())


@contextlib.contextmanager
def holding() -> Iterator[Holding]:
    """A thread beats for whatever is claimed in the block."""
    held, finished = Holding(), threading.Event()

    def beat() -> None:
        while not finished.wait(settings.RAG_LEASE_SECONDS / 3):
            try:
                held.prolong()
            except DatabaseError:
                connection.close()  # the next beat tries anew, and whoever writes an outcome finds out
        connection.close()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield held
    finally:
        finished.set()
        thread.join()


def _end() -> datetime.datetime:
    return timezone.now() + datetime.timedelta(seconds=settings.RAG_LEASE_SECONDS)


def update_held(row: IngestionDocument, **values: object) -> None:
    """Write to the row if we still hold it. Raises LeaseLost."""
    held = IngestionDocument.objects.filter(pk=row.pk, state=State.RUNNING, lease=row.lease)
    if not held.update(**values):
        raise LeaseLost
