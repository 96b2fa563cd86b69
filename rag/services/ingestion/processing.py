"""Documents in: at once, or as a part of a job that workers do."""

import contextlib
from collections.abc import Iterator, Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from rag.errors import DocumentTooLarge, ModelChanged
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.pipeline.ingestion import index, prepare, quota
from rag.services.sources import lookup
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres import identity
from ragsite.postgres.models import uuid7

from . import batch, leases, outages, outcomes
from .leases import Holding
from .timings import Clock

logger = structlog.get_logger(__name__)

Stage, Status = IngestionDocument.Stage, IngestionJob.Status


def default_options() -> ChunkingOptions:
    size = settings.RAG_CHUNK_TOKENS
    return ChunkingOptions(size=size, overlap=min(settings.RAG_CHUNK_OVERLAP, size // 2))


def ingest_now(*, source: DataSource, submission: Submission) -> IndexOutcome:
    """Ingest one document while the caller waits. A new source is saved with it, or not at all.

    Raises DocumentTooLarge and what the pipeline raises.
    """
    with identity.write_access():
        try:
            return _ingest_now(source, submission)
        except ModelChanged:  # switched meanwhile
            source.refresh_from_db(fields=["embedding_model"])
            return _ingest_now(source, submission)


def _options_here(source: DataSource, path: str) -> ChunkingOptions:
    """A document keeps the sizes that it was cut to: whoever sends it here cannot name others, and expects that what
    has not changed is `unchanged` (v3, 1)."""
    stored = None if source._state.adding else Document.objects.live().filter(source=source, path=path)
    sizes = stored.values_list("chunk_size", "chunk_overlap").first() if stored is not None else None
    return ChunkingOptions(*sizes) if sizes else default_options()


def _ingest_now(source: DataSource, submission: Submission) -> IndexOutcome:
    size = len(submission.text.encode())
    if size > settings.RAG_MAX_SYNC_TEXT_BYTES:
        raise DocumentTooLarge(
            f"The text has {size:,} bytes; answered at once are at most {settings.RAG_MAX_SYNC_TEXT_BYTES:,}. "
            "Send it as a job: POST /api/rag/ingest with `documents`."
        )
    revision, options = uuid7(), _options_here(source, submission.path)
    if not source._state.adding and index.known_paths([submission.path], source=source):
        with transaction.atomic():
            same = index.unchanged(submission, source=source, options=options, revision=revision)
        if same is not None:
            return same
    else:
        quota.require_room(source.organization_id, chunks=1, bytes=size)
    while True:
        prepared = prepare.prepare(submission, source=source, options=options, on_batch=lambda done: None)
        with contextlib.suppress(index.Outdated), transaction.atomic():
            return index.index({revision: prepared}, source=lookup.save_if_new(source))[revision]


def run(*, count: int) -> None:
    """A worker's part: up to so many documents are taken, those of a source at a time, whoever's turn it is."""
    while count > 0 and (rows := leases.claim_next(count)):
        count -= len(rows)
        work_on(rows)


def work_on(rows: Sequence[IngestionDocument]) -> None:
    """Each of these claimed documents, all of one source, is ingested, and its outcome written.

    Small ones are embedded and written together, since a call and a transaction for each would cost more than its
    embedding; large ones come last, one by one, so that no two of them are in memory at a time.
    """
    with _without_waiting_for_disk(), leases.holding() as held:
        held.keep(rows)
        _begin_jobs(rows)
        known = index.known_paths({row.path for row in rows}, source=rows[0].job.source)
        together: list[batch.Work] = []
        for row in sorted(rows, key=_size):
            if row.path in {work.row.path for work in together}:  # sent twice: one after the other
                batch.ingest_together(together, held)
                known.add(row.path)
                together = []
            work = _begun(row, held, is_known=row.path in known)
            if work is None:
                continue
            if not batch.fits(together, work):
                batch.ingest_together(together, held)
                together = []
            together.append(work)
        if together:
            batch.ingest_together(together, held)


def _begin_jobs(rows: Sequence[IngestionDocument]) -> None:
    if ids := {row.job_id for row in rows if row.job.status == Status.QUEUED}:
        queued = IngestionJob.objects.filter(pk__in=ids, status=Status.QUEUED)
        queued.update(status=Status.PROCESSING, started_at=timezone.now())


def _size(row: IngestionDocument) -> int:
    return len(row.text) + (row.original.size if row.original else 0)


@contextlib.contextmanager
def _without_waiting_for_disk() -> Iterator[None]:
    """A commit does not wait until it is on disk. What a crash of the server takes back is work that is done again:
    a document's chunks and its outcome are one transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    try:
        yield
    finally:
        with contextlib.suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def _begun(row: IngestionDocument, held: Holding, *, is_known: bool) -> batch.Work | None:
    """The document, parsed and cut; None if nothing is to be embedded for it, and its outcome is written."""
    clock = Clock()
    with batch.outcome_of(row, held):
        if not (is_known and _is_unchanged(row)):
            with clock.stage(Stage.PARSING):
                options = _options(row)
                cut = prepare.cut(_submission(row), source=row.job.source, options=options, is_new=not is_known)
            return batch.Work(row, cut, clock)
    batch.let_go([row], held)
    return None


def _is_unchanged(row: IngestionDocument) -> bool:
    """Whether the stored document has this content already; the outcome is written in the same transaction."""
    with transaction.atomic():
        outcome = index.unchanged(_submission(row), source=row.job.source, options=_options(row), revision=row.pk)
        if outcome is not None:
            outcomes.finish({row: outcome})
            outages.pass_on(row.pk)
    return outcome is not None


def _options(row: IngestionDocument) -> ChunkingOptions:
    return ChunkingOptions(row.job.chunk_size, row.job.chunk_overlap)


def _submission(row: IngestionDocument) -> Submission:
    return Submission(
        path=row.path,
        title=row.title,
        text=row.text,
        content_type=row.content_type,
        uri=row.uri,
        lang=row.lang,
        source_type=row.source_type,
        tags=tuple(row.tags),
        date=row.date,
        metadata=row.metadata,
        content_hash=row.content_hash,
        original_id=row.original_id,
        again=row.job.again,
    )
