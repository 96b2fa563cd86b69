"""What a worker does with claimed documents: parse each of them, then embed and write them in batches."""

import contextlib
from collections.abc import Iterator, Sequence

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from rag.models import IngestionDocument, IngestionJob
from rag.pipeline.ingestion import index, prepare

from . import batch, leases, outages, outcomes
from .inputs import chunking_options_of, submission_of
from .leases import LeaseKeeper
from .timings import StageTimings

Stage, Status = IngestionDocument.Stage, IngestionJob.Status


def process_next(*, count: int) -> None:
    """Claim and process up to `count` documents; it returns early if no document can be claimed.

    Each claim takes documents of one source; leases.claim_next chooses the source.
    """
    while count > 0 and (rows := leases.claim_next(count)):
        count -= len(rows)
        process_documents(rows)


def process_documents(rows: Sequence[IngestionDocument]) -> None:
    """Ingest the claimed documents and write the outcome of each. Never raises what is wrong with a document.

    Small documents are embedded and written together, because a model call and a transaction for each of them would
    cost more than the embedding. Large documents come last and one by one, so that only one of them is in memory.

    Args:
        rows: Documents that this process has claimed, all of one source.
    """
    with _asynchronous_commit(), leases.keep_leases() as held_leases:
        held_leases.add(rows)
        _start_jobs(rows)
        known_paths = index.existing_paths({row.path for row in rows}, source=rows[0].job.source)
        works: list[batch.ParsedWork] = []
        for row in sorted(rows, key=_input_size):
            if row.path in {work.row.path for work in works}:  # sent twice: in order, not in the same batch
                batch.ingest_batch(works, held_leases)
                known_paths.add(row.path)
                works = []
            work = _parse(row, held_leases, is_known=row.path in known_paths)
            if work is None:
                continue
            if not batch.fits_in_batch(works, work):
                batch.ingest_batch(works, held_leases)
                works = []
            works.append(work)
        if works:
            batch.ingest_batch(works, held_leases)


def _start_jobs(rows: Sequence[IngestionDocument]) -> None:
    if ids := {row.job_id for row in rows if row.job.status == Status.QUEUED}:
        queued = IngestionJob.objects.filter(pk__in=ids, status=Status.QUEUED)
        queued.update(status=Status.PROCESSING, started_at=timezone.now())


def _input_size(row: IngestionDocument) -> int:
    """Return characters of a text or bytes of a file; good enough to sort by."""
    return len(row.text) + (row.original.size if row.original else 0)


@contextlib.contextmanager
def _asynchronous_commit() -> Iterator[None]:
    """Commits in the block do not wait for the disk (PostgreSQL: synchronous_commit = off).

    A crash of the database server may undo the last of them. Such documents are then processed again, because a
    document's chunks and its outcome are written in one transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    try:
        yield
    finally:
        with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def _parse(row: IngestionDocument, held_leases: LeaseKeeper, *, is_known: bool) -> batch.ParsedWork | None:
    """Parse and chunk the document.

    Returns None if nothing is left to do, because the document has not changed or has failed; its outcome is then
    written.
    """
    timings = StageTimings()
    with batch.record_errors(row, held_leases):
        if not (is_known and _is_unchanged(row)):
            with timings.measure(Stage.PARSING):
                chunked = prepare.parse_and_chunk(
                    submission_of(row), source=row.job.source, options=chunking_options_of(row), is_new=not is_known
                )
            return batch.ParsedWork(row, chunked, timings)
    batch.release_documents([row], held_leases)
    return None


def _is_unchanged(row: IngestionDocument) -> bool:
    """Return whether the stored document has this content already; if so, write the outcome in the same transaction."""
    with transaction.atomic():
        outcome = index.update_if_unchanged(
            submission_of(row), source=row.job.source, options=chunking_options_of(row), revision=row.pk
        )
        if outcome is not None:
            outcomes.record_success({row: outcome})
            outages.release_probe(row.pk)
    return outcome is not None
