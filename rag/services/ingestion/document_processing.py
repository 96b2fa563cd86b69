"""Processes claimed documents in a worker: parses each of them, then embeds and writes them in batches."""

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from rag import task_queue
from rag.models import IngestionDocument, IngestionJob, Original
from rag.pipeline.ingestion import parse_chunk_embed, stored_documents, unchanged_content
from rag.services.operations import workers
from rag.services.operations.measurements import measured_documents
from ragsite.postgres.locks import update_in_order

from . import batch_indexing, document_outcomes
from .build_submissions import chunking_options_of, submission_of
from .queue import claims, embedding_outages, leases
from .queue.leases import LeaseKeeper
from .stage_timings import StageTimings

Stage, Status = IngestionDocument.Stage, IngestionJob.Status
# Documents that a worker has not begun after so long go back into the queue: eight scanned files may take an hour, and
# other organisations are waiting.
_MAX_SECONDS_PER_CLAIM = 30.0
# How often a process that embeds a long document looks for organisations that wait, and how many documents it claims.
_PAUSE_SECONDS, _MAX_OVERLOOKED = 10.0, 8


def process_next(*, count: int) -> None:
    """Claim and process `count` documents, or fewer if no more can be claimed.

    Each claim takes documents of one source; claims.claim_next chooses the source. The last claim may exceed `count` by
    half, because a claim of the few that remain would cost as much as a large one. A worker that is asked to stop
    leaves the others to another worker.
    """
    remaining = count
    try:
        while remaining > 0:
            workers.check_stop()
            if not (documents := claims.claim_next(max(remaining, count // 2))):
                break
            remaining -= process_documents(documents)
    except workers.WorkerStops:
        task_queue.send("rag.ingest_documents", remaining)


class _Pauses:
    """Lets organisations that wait go first while a long document is embedded, which may take hours.

    Long documents of one organisation would otherwise keep all workers from the others.
    """

    def __init__(self) -> None:
        self._next_at = time.monotonic() + _PAUSE_SECONDS

    def __call__(self) -> None:
        if time.monotonic() < self._next_at:
            return
        if documents := claims.claim_next(_MAX_OVERLOOKED, only_overlooked=True):
            process_documents(documents, pause=_no_pause)
        self._next_at = time.monotonic() + _PAUSE_SECONDS


def _no_pause() -> None:
    pass


def process_documents(documents: Sequence[IngestionDocument], *, pause: Callable[[], None] | None = None) -> int:
    """Ingest the claimed documents and write the outcome of each. A document's error is written, and not raised.

    Small documents are embedded and written together, because a model call and a transaction for each of them would
    cost more than the embedding. Large documents come last and one by one, so that only one of them is in memory.

    Args:
        documents: Documents that this process has claimed, all of one source.
        pause: Called between the model's calls for a long document; None lets others go first.

    Returns:
        How many were processed. After _MAX_SECONDS_PER_CLAIM, the others go back into the queue.

    Raises:
        WorkerStops: If this worker is asked to stop. What is not finished is back in the queue then.
    """
    deadline = time.monotonic() + _MAX_SECONDS_PER_CLAIM
    with _asynchronous_commit(), leases.keep_leases() as held_leases:
        held_leases.add(documents)
        start_jobs(documents)
        pause = pause or _Pauses()
        known_paths = stored_documents.existing_paths(
            {document.path for document in documents}, source=documents[0].job.source
        )
        ended = _finish_unchanged(_select_unrepeated(documents, known_paths), held_leases)
        works: list[batch_indexing.ParsedWork] = []
        remaining = sorted((document for document in documents if document not in ended), key=_input_size)
        while remaining and (len(remaining) == len(documents) or time.monotonic() < deadline):
            workers.check_stop()
            document = remaining.pop(0)
            if document.path in {work.document.path for work in works}:  # sent twice: in order, not in the same batch
                batch_indexing.ingest_batch(works, held_leases, pause=pause)
                known_paths.add(document.path)
                works = []
            work = _parse(document, held_leases, is_known=document.path in known_paths)
            if work is None:
                continue
            if not batch_indexing.fits_in_batch(works, work):
                batch_indexing.ingest_batch(works, held_leases, pause=pause)
                works = []
            works.append(work)
        if remaining:
            leases.give_back(remaining)
        if works:
            batch_indexing.ingest_batch(works, held_leases, pause=pause)
        return len(documents) - len(remaining)


def start_jobs(documents: Sequence[IngestionDocument]) -> None:
    """Let the documents' jobs that are still queued be in progress."""
    if ids := {document.job_id for document in documents if document.job.status == Status.QUEUED}:
        queued = IngestionJob.objects.filter(pk__in=ids, status=Status.QUEUED)
        update_in_order(queued, status=Status.PROCESSING, started_at=timezone.now())


def _input_size(document: IngestionDocument) -> int:
    """Return the number of characters of a text, or of bytes of a file: precise enough to sort documents by size."""
    return len(document.text) + (document.original.size if document.original else 0)


@contextlib.contextmanager
def _asynchronous_commit() -> Iterator[None]:
    """Commit in the block without waiting for the disk (PostgreSQL: synchronous_commit = off).

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


def _select_unrepeated(documents: Sequence[IngestionDocument], paths: Collection[str]) -> list[IngestionDocument]:
    """Return the documents with these paths, except those whose path several of the documents have."""
    counts = Counter(document.path for document in documents)
    return [document for document in documents if document.path in paths and counts[document.path] == 1]


def _finish_unchanged(documents: Sequence[IngestionDocument], held_leases: LeaseKeeper) -> set[IngestionDocument]:
    """Write the outcome `unchanged` of the documents whose content is stored already, all with the same statements.

    If that fails, it is repeated for each document, so that one document does not fail the others.

    Returns:
        The documents of which nothing is left to do: they are unchanged, or have failed. Their leases are released.
    """
    try:
        ended = _write_unchanged(documents)
    except Exception:
        ended = set(documents)
        for document in documents:
            with batch_indexing.record_errors(document, held_leases):
                ended -= {document} - _write_unchanged([document])
    batch_indexing.release_documents([*ended], held_leases)
    return ended


def _write_unchanged(documents: Sequence[IngestionDocument]) -> set[IngestionDocument]:
    """Write the outcome of the documents whose content is stored already, in one transaction, and return them.

    Raises:
        LeaseEnded: If this process no longer holds one of these documents.
    """
    if not documents:
        return set()
    # A searchable document takes the id of the job's document as its revision.
    submissions = {document.pk: (submission_of(document), chunking_options_of(document)) for document in documents}
    with transaction.atomic():
        outcomes = unchanged_content.update_unchanged(submissions, source=documents[0].job.source)
        unchanged = {document: outcomes[document.pk] for document in documents if document.pk in outcomes}
        if unchanged:
            document_outcomes.record_success(unchanged)
            unneeded = [document.original_id for document in unchanged if document.original_id]
            Original.objects.filter(pk__in=unneeded).schedule_purge_check()  # no quota counts them any more
            embedding_outages.release_probe(*outcomes)
    return set(unchanged)


def _parse(
    document: IngestionDocument, held_leases: LeaseKeeper, *, is_known: bool
) -> batch_indexing.ParsedWork | None:
    """Parse and chunk the document; `is_known` says whether its path has a document. None if it has failed."""
    timings = StageTimings()
    with batch_indexing.record_errors(document, held_leases):
        with timings.measure(Stage.PARSING):
            chunked = parse_chunk_embed.parse_and_chunk(
                submission_of(document),
                source=document.job.source,
                options=chunking_options_of(document),
                is_new=not is_known,
            )
        measured_documents.record_recognitions(chunked.parsed.recognitions)
        return batch_indexing.ParsedWork(document, chunked, timings)
    batch_indexing.release_documents([document], held_leases)
    return None
