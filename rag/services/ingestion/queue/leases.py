"""Leases of documents that workers process. A lease expires by itself when the worker that holds it dies.

It lasts RAG_LEASE_SECONDS unless it is renewed. The database's clock decides, because the clocks of workers and of the
process that sweeps may differ.

A document's lease token protects it from late writers: a worker that resumes after its lease expired cannot write a
result.
"""

import contextlib
import datetime
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet

from rag.models import IngestionDocument
from rag.services.jobs.worker_notifications import notify_workers
from rag.services.operations import workers
from rag.services.operations.measurements import recording
from ragsite.postgres.locks import update_in_order
from ragsite.postgres.models import database_now

State = IngestionDocument.State
# How often a lease is renewed during the time after which it would expire.
_RENEWALS_PER_LEASE = 3
# How soon a worker that is asked to stop gives its documents back, even while it computes.
_SECONDS_UNTIL_STOP_IS_SEEN = 0.5
# The values of a document that nobody holds.
_QUEUED: Mapping[str, object] = MappingProxyType({"state": State.QUEUED, "lease": None, "due_at": None, "stage": ""})


class LeaseEnded(Exception):
    """This process no longer holds the document, which was cancelled or claimed by another worker after its lease."""


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
            update_in_order(_leased_documents(leases), due_at=lease_expiry())

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
        """Put the documents back into the queue, because the worker or this process is to end. That was no attempt.

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
    given back, too, even if Celery ends only this process, because Redis was lost.
    """
    held_leases, finished = LeaseKeeper(), threading.Event()
    is_ended = False

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
    except SystemExit as error:
        is_ended = isinstance(error.code, int) and error.code < 0  # as Celery's pool ends a process after a signal
        raise
    finally:
        finished.set()
        thread.join()
        if is_ended or workers.is_stopping():
            with contextlib.suppress(DatabaseError):  # the leases expire
                held_leases.give_back()


def lease_expiry() -> datetime.datetime:
    """Return when a lease that begins now expires, by the database's clock."""
    return database_now() + lease_duration()


def lease_duration() -> datetime.timedelta:
    """Return how long a lease lasts: RAG_LEASE_SECONDS."""
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
