"""Claiming documents of jobs. A claim is a lease, which expires by itself when the worker that holds it dies.

It lasts RAG_LEASE_SECONDS unless it is renewed. The database's clock decides, because the clocks of workers and of the
process that sweeps may differ.

A document's lease token protects it from late writers: a worker that resumes after its lease expired cannot write a
result.
"""

import contextlib
import datetime
import math
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet

from rag.models import IngestionDocument, ModelOutage
from rag.models.ingestion.jobs import TEXT_BYTES
from rag.services.jobs.worker_notifications import notify_workers
from rag.services.operations import workers
from rag.services.operations.measurements import recording
from ragsite.postgres.base import read_rows
from ragsite.postgres.locks import update_in_order
from ragsite.postgres.models import database_now, uuid7

State = IngestionDocument.State
Stage = IngestionDocument.Stage
# Maximum bytes of text that one worker claims at once, so that other workers get a share of long documents, and other
# organisations need not wait long. A remote model embeds so much faster that a claim of that size would be finished too
# soon. A file counts as a fixed number of bytes, because its text is not known yet.
_MAX_BYTES_PER_CLAIM, _MAX_BYTES_PER_REMOTE_CLAIM = 128 * 1024, 512 * 1024
_BYTES_PER_FILE = 16 * 1024
# A worker claims two thirds of what is an even share of the waiting documents: large claims at first, small ones at the
# end, so that all workers end at nearly the same time. Embedding fewer bytes than this takes less time than a claim.
_WORKERS_PER_EVEN_SHARE, _MIN_BYTES_PER_CLAIM = 3 / 2, 2 * 1024
# More documents of a source are not counted: an even share of them is more than one claim may have.
_MAX_COUNTED_DOCUMENTS = 2_000
# Larger than the number of workers that look for work at the same moment.
_MAX_CANDIDATE_SOURCES = 64
# How often a lease is renewed during the time after which it would expire.
_RENEWALS_PER_LEASE = 3
# How soon a worker that is asked to stop gives its documents back, even while it computes.
_SECONDS_UNTIL_STOP_IS_SEEN = 0.5
# The values of a document that nobody holds.
_QUEUED: Mapping[str, object] = MappingProxyType({"state": State.QUEUED, "lease": None, "due_at": None, "stage": ""})


class LeaseEnded(Exception):
    """This process no longer holds the document, which was cancelled or claimed by another worker after its lease."""


def claim_next(limit: int, *, only_overlooked: bool = False) -> list[IngestionDocument]:
    """Claim documents that are waiting, all of one source.

    The choice is fair between organisations: first comes the organisation with the fewest running documents, and among
    equals the one that was served longest ago; within it, the source with the fewest running documents. A source whose
    embedding model is down is skipped until the pause is over; then a single document is claimed as a probe. Two
    concurrent calls never return the same document.

    Args:
        limit: The maximum number of documents to claim. Fewer are claimed if they are long.
        only_overlooked: Claim only short documents, of an organisation of which no document is being processed.

    Returns:
        The claimed documents in the order in which they were submitted; empty if nothing can be claimed now.
    """
    with transaction.atomic():
        for source in _candidate_sources():
            if only_overlooked and source.running_documents:
                return []  # all that follow have documents in progress, too
            queued = IngestionDocument.objects.filter(source=source.pk, state=State.QUEUED, due_at=None)
            queued = queued.order_by("source_id", "pk").select_for_update(skip_locked=True)
            claimable = queued.annotate(length=TEXT_BYTES).values_list("pk", "attempts", "length", "original_id")
            max_bytes = _MAX_BYTES_PER_REMOTE_CLAIM if source.is_remote else _MAX_BYTES_PER_CLAIM
            if only_overlooked:
                claimable = claimable.filter(length__lte=max_bytes)
            candidates = list(claimable[: 1 if source.has_outage else limit])
            share = _share_of_worker(source.pk) if len(candidates) > 1 else 1
            ids = _select_claim(candidates, max_bytes, share or limit)
            if ids and (not source.has_outage or _set_probe(ids[0], source.model_id, source.now)):
                break
        else:
            return []
        lease = uuid7()
        IngestionDocument.objects.filter(pk__in=ids).update(
            state=State.RUNNING,
            attempts=F("attempts") + 1,
            lease=lease,
            due_at=source.now + _lease_duration(),
            claimed_at=source.now,
            stage=Stage.PARSING,
            chunk_count=0,
        )
        with connection.cursor() as cursor:
            cursor.execute(_SET_SERVED, [source.organization_id, source.now])
    claimed = IngestionDocument.objects.select_related("job__source__embedding_model", "original").defer(
        "original__content"
    )
    return list(claimed.filter(pk__in=ids, lease=lease).order_by("pk"))


def _share_of_worker(source_id: uuid.UUID) -> int:
    """Return how many of the source's documents one worker should claim now; 0 if it does not matter."""
    slots = workers.count_slots(settings.CELERY_TASK_DEFAULT_QUEUE)
    if slots < 2:
        return 0
    ((waiting,),) = read_rows(_COUNT_WAITING, [source_id, _MAX_COUNTED_DOCUMENTS])
    return math.ceil(int(waiting) / (_WORKERS_PER_EVEN_SHARE * slots))


_COUNT_WAITING = """
SELECT count(*) FROM (
    SELECT FROM rag_ingestiondocument WHERE source_id = %s AND state = 'queued' AND due_at IS NULL LIMIT %s
) AS waiting
"""


def _select_claim(
    claimable: Sequence[tuple[uuid.UUID, int, int, uuid.UUID | None]], max_bytes: int, share: int
) -> list[uuid.UUID]:
    """Return the ids of the first documents that one worker should claim together.

    A document that lost its worker before is claimed alone: if it was the cause, no other document is lost with it.

    Args:
        claimable: Documents as (id, attempts, bytes of text, id of the file), in the order of the queue.
        max_bytes: The maximum length of the documents together. A single one may be longer.
        share: Their maximum number. More are claimed if they are very short.
    """
    ids: list[uuid.UUID] = []
    claimed_bytes = 0
    for document_id, attempts, length, original_id in claimable:
        length = _BYTES_PER_FILE if original_id else length
        is_enough = len(ids) >= share and claimed_bytes >= _MIN_BYTES_PER_CLAIM
        if ids and (attempts or is_enough or claimed_bytes + length > max_bytes):
            break
        claimed_bytes += length
        ids.append(document_id)
        if attempts:
            break
    return ids


class _CandidateSource(NamedTuple):
    """A source with work, its model, how many documents of its organisation are being processed, and the time now."""

    pk: uuid.UUID
    organization_id: uuid.UUID
    model_id: uuid.UUID
    is_remote: bool
    has_outage: bool
    running_documents: int
    now: datetime.datetime


def _candidate_sources() -> list[_CandidateSource]:
    """Return the sources with work, the fairest first."""
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATE_SOURCES, [_MAX_CANDIDATE_SOURCES])
        return [_CandidateSource(*row) for row in cursor.fetchall()]


# Finds the sources with queued documents by skipping through the index from one source to the next (a "loose index
# scan"): the time depends on the number of sources, not on the number of documents.
_CANDIDATE_SOURCES = """
WITH RECURSIVE work AS (
    (SELECT source_id FROM rag_ingestiondocument WHERE state = 'queued' AND due_at IS NULL
     ORDER BY source_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.source_id FROM rag_ingestiondocument AS next
            WHERE next.state = 'queued' AND next.due_at IS NULL AND next.source_id > work.source_id
            ORDER BY next.source_id LIMIT 1)
    FROM work WHERE work.source_id IS NOT NULL
), running AS (
    SELECT document.source_id, source.organization_id, count(*) AS documents
    FROM rag_ingestiondocument AS document JOIN rag_datasource AS source ON source.id = document.source_id
    WHERE document.state = 'running' GROUP BY document.source_id, source.organization_id
), organizations AS (
    SELECT organization_id, sum(documents) AS documents FROM running GROUP BY organization_id
)
SELECT source.id, source.organization_id, model.id, model.provider <> 'local', outage.model_id IS NOT NULL,
    coalesce(organizations.documents, 0)::int, clock_timestamp()
FROM work
JOIN rag_datasource AS source ON source.id = work.source_id
JOIN rag_embeddingmodel AS model ON model.id = source.embedding_model_id
LEFT JOIN rag_modeloutage AS outage ON outage.model_id = model.id
LEFT JOIN rag_ingestionfairness AS fairness ON fairness.organization_id = source.organization_id
LEFT JOIN organizations ON organizations.organization_id = source.organization_id
LEFT JOIN running ON running.source_id = source.id
WHERE outage.model_id IS NULL OR outage.until <= clock_timestamp()
ORDER BY coalesce(organizations.documents, 0), fairness.served_at NULLS FIRST, coalesce(running.documents, 0), random()
LIMIT %s
"""
_SET_SERVED = """
INSERT INTO rag_ingestionfairness (organization_id, served_at) VALUES (%s, %s)
ON CONFLICT (organization_id) DO UPDATE SET served_at = excluded.served_at
"""


def _set_probe(document_id: uuid.UUID, model_id: uuid.UUID, now: datetime.datetime) -> bool:
    """Make this document the one that tests whether the model answers again; others wait until its lease expires.

    Returns:
        False if another worker was first.
    """
    due_outages = ModelOutage.objects.filter(model_id=model_id, until__lte=now)
    return bool(due_outages.update(until=_lease_expiry(), probe=document_id))


def give_back(documents: Sequence[IngestionDocument]) -> None:
    """Put claimed documents that this process has not begun back into the queue. That was no attempt."""
    leased = _leased_documents({document.pk: document.lease for document in documents})
    update_in_order(leased, attempts=F("attempts") - 1, **_QUEUED)


class LeaseKeeper:
    """The leases that this process holds, renewed until they are released or the process dies. Thread-safe."""

    def __init__(self) -> None:
        self._leases: dict[uuid.UUID, uuid.UUID | None] = {}
        # Documents that are being written, and those whose claim is no attempt, because the worker stops.
        self._written, self._uncounted = set[uuid.UUID](), set[uuid.UUID]()
        self._lock = threading.Lock()

    def add(self, documents: Sequence[IngestionDocument]) -> None:
        """Keep the leases of these claimed documents, until they are released."""
        with self._lock:
            self._leases.update((document.pk, document.lease) for document in documents)

    def release(self, document: IngestionDocument) -> None:
        """Stop renewing the row's lease."""
        with self._lock:
            self._leases.pop(document.pk, None)

    def renew(self) -> None:
        """Extend all kept leases by RAG_LEASE_SECONDS from now."""
        with self._lock:
            leases = dict(self._leases)
        if leases:
            update_in_order(_leased_documents(leases), due_at=_lease_expiry())

    @contextlib.contextmanager
    def hold_to_write(self, documents: Sequence[IngestionDocument]) -> Iterator[None]:
        """Keep these documents in the block although the worker is asked to stop: writing ends what took far longer.

        Raises:
            WorkerStops: If they were given back already.
        """
        ids = {document.pk for document in documents}
        with self._lock:
            if workers.is_stopping() and not ids <= self._leases.keys():
                raise workers.WorkerStops
            self._written |= ids
        try:
            yield
        finally:
            with self._lock:
                self._written -= ids

    def give_back(self) -> None:
        """Put the documents back into the queue, because the worker is asked to stop. That was no attempt.

        What is being written stays, and is no attempt either if the process is killed meanwhile.
        """
        with self._lock:
            counted = {pk: lease for pk, lease in self._leases.items() if pk not in self._uncounted}
            unwritten = {pk: lease for pk, lease in self._leases.items() if pk not in self._written}
            for pk in unwritten:
                del self._leases[pk]
            self._uncounted |= counted.keys()
        if not counted and not unwritten:
            return
        try:
            with transaction.atomic():
                update_in_order(_leased_documents(counted), attempts=F("attempts") - 1)
                number = update_in_order(_leased_documents(unwritten), **_QUEUED, chunk_count=0)
                if number:
                    notify_workers(number)
        except DatabaseError:
            with self._lock:
                self._leases = unwritten | self._leases
                self._uncounted -= counted.keys()
            raise


def _leased_documents(leases: Mapping[uuid.UUID, uuid.UUID | None]) -> QuerySet[IngestionDocument]:
    """Return the documents that are still held under these leases."""
    return IngestionDocument.objects.filter(pk__in=leases, lease__in=set(leases.values()), state=State.RUNNING)


@contextlib.contextmanager
def keep_leases() -> Iterator[LeaseKeeper]:
    """Yield an empty LeaseKeeper, whose leases a background thread renews until the block ends.

    If the worker is asked to stop, the thread gives them back at once. What remains at the end of the block then is
    given back, too.
    """
    held_leases, finished = LeaseKeeper(), threading.Event()

    def renew_regularly() -> None:
        seconds = settings.RAG_LEASE_SECONDS / _RENEWALS_PER_LEASE
        renew_at = time.monotonic() + seconds
        while not finished.wait(min(seconds, _SECONDS_UNTIL_STOP_IS_SEEN)):
            try:
                if workers.is_stopping():
                    held_leases.give_back()
                if time.monotonic() >= renew_at:
                    renew_at = time.monotonic() + seconds
                    held_leases.renew()
                    recording.store_meanwhile()  # a task may take long, or be killed
            except DatabaseError:
                connection.close()  # the next round connects again; a lost lease shows when an outcome is written
        connection.close()

    thread = threading.Thread(target=renew_regularly, daemon=True)
    thread.start()
    try:
        yield held_leases
    finally:
        finished.set()
        thread.join()
        if workers.is_stopping():
            with contextlib.suppress(DatabaseError):  # the leases expire
                held_leases.give_back()


def _lease_expiry() -> datetime.datetime:
    return database_now() + _lease_duration()


def _lease_duration() -> datetime.timedelta:
    return datetime.timedelta(seconds=settings.RAG_LEASE_SECONDS)


def set_stage_if_leased(documents: Sequence[IngestionDocument], stage: str) -> None:
    """Store the stage of the documents, except those that this process no longer holds."""
    leased = _leased_documents({document.pk: document.lease for document in documents})
    update_in_order(leased, stage=stage)


def update_if_leased(document: IngestionDocument, **values: object) -> None:
    """Write these fields to the document, if this process still holds it.

    Raises:
        LeaseEnded: If this process no longer holds it.
    """
    leased = IngestionDocument.objects.filter(pk=document.pk, state=State.RUNNING, lease=document.lease)
    if not leased.update(**values):
        raise LeaseEnded
