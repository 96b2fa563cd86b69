"""Documents in: at once, or as a part of a job that workers do."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from rag.errors import DocumentTooLarge, ModelChanged, RagError
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.pipeline import index, ingest, quota
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.db import uuid7

from . import jobs, leases, outages, outcomes, sources
from .clock import Clock
from .leases import Holding, LeaseLost, update_held

logger = structlog.get_logger(__name__)

Stage, Status = IngestionDocument.Stage, IngestionJob.Status
# Texts that are embedded together; a document of more is alone.
_TOGETHER = 128


def default_options() -> ChunkingOptions:
    size = settings.RAG_CHUNK_TOKENS
    return ChunkingOptions(size=size, overlap=min(settings.RAG_CHUNK_OVERLAP, size // 2))


def ingest_now(*, source: DataSource, submission: Submission) -> IndexOutcome:
    """Ingest one document while the caller waits. A new source is saved with it, or not at all.

    Raises DocumentTooLarge and what the pipeline raises.
    """
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
    known = not source._state.adding and index.is_known(submission, source=source)
    if known:
        with transaction.atomic():
            same = index.unchanged(submission, source=source, options=options, revision=revision)
        if same is not None:
            return same
    else:
        quota.require_room(source.organization_id, chunks=1, bytes=size)
    while True:
        prepared = ingest.prepare(submission, source=source, options=options, on_batch=lambda done: None)
        with contextlib.suppress(index.Outdated), transaction.atomic():
            return index.index(prepared, source=sources.saved(source), revision=revision)


@dataclass(frozen=True, slots=True)
class _Work:
    """A claimed document, parsed and cut."""

    row: IngestionDocument
    cut: ingest.Cut
    clock: Clock

    @property
    def source(self) -> DataSource:
        return self.row.job.source


def run(*, count: int) -> None:
    """A worker's part: up to so many documents are taken, those of a source at a time, whoever's turn it is."""
    while count > 0 and (rows := leases.claim_next(count)):
        count -= len(rows)
        work_on(rows)


def work_on(rows: Sequence[IngestionDocument]) -> None:
    """Each of these claimed documents is ingested, and its outcome written.

    Small ones of one source are embedded together, since a call for each would cost more than its embedding; large ones
    come last, one by one, so that no two of them are in memory at a time.
    """
    with _without_waiting_for_disk(), leases.holding() as held:
        held.keep(rows)
        together: list[_Work] = []
        for row in sorted(rows, key=_size):
            work = _begun(row, held)
            if work is None:
                continue
            if together and (together[0].source != work.source or _texts([*together, work]) > _TOGETHER):
                _embed_and_write(together, held)
                together = []
            together.append(work)
        if together:
            _embed_and_write(together, held)


def _size(row: IngestionDocument) -> int:
    return len(row.text) + (row.original.size if row.original else 0)


def _texts(works: Sequence[_Work]) -> int:
    return sum(len(work.cut.fresh) for work in works)


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


def _begun(row: IngestionDocument, held: Holding) -> _Work | None:
    """The document, parsed and cut; None if nothing is to be embedded for it, and its outcome is written."""
    if row.job.status == Status.QUEUED:
        queued = IngestionJob.objects.filter(pk=row.job_id, status=Status.QUEUED)
        queued.update(status=Status.PROCESSING, started_at=timezone.now())
    clock = Clock()
    with _outcome_of(row, held):
        is_known = index.is_known(_submission(row), source=row.job.source)
        if not (is_known and _is_unchanged(row)):
            with clock.stage(Stage.PARSING):
                options = _options(row)
                cut = ingest.cut(_submission(row), source=row.job.source, options=options, is_new=not is_known)
            return _Work(row, cut, clock)
    _let_go([row], held)
    return None


def _is_unchanged(row: IngestionDocument) -> bool:
    """Whether the stored document has this content already; the outcome is written in the same transaction."""
    with transaction.atomic():
        outcome = index.unchanged(_submission(row), source=row.job.source, options=_options(row), revision=row.pk)
        if outcome is not None:
            outcomes.finish(row, outcome)
            outages.pass_on(row.pk)
    return outcome is not None


def _embed_and_write(works: Sequence[_Work], held: Holding) -> None:
    """What one of them alone is to blame for does not fail the others."""
    begun, model = time.monotonic(), works[0].source.embedding_model
    try:
        held.say(Stage.EMBEDDING, [work.row for work in works])
        prepared = ingest.embed([work.cut for work in works], model, on_batch=_progress(works))
        if any(work.cut.fresh for work in works):
            outages.end(model.pk)
    except Exception as error:
        if len(works) > 1 and _may_be_of_one(error):
            for work in works:
                _embed_and_write([work], held)
            return
        for work in works:
            with _outcome_of(work.row, held):
                raise error
    else:
        seconds = time.monotonic() - begun
        if not any(work.cut.fresh for work in works):
            for work in works:
                outages.pass_on(work.row.pk)
        for work, each in zip(works, prepared, strict=True):
            work.clock.add(Stage.EMBEDDING, seconds)
            with _outcome_of(work.row, held):
                _write(work, each)
    _let_go([work.row for work in works], held)


def _may_be_of_one(error: Exception) -> bool:
    """Not what all of them would meet again: a model or a database that is away."""
    return not isinstance(error, DatabaseError | InterfaceError) and not getattr(error, "retry", False)


def _progress(works: Sequence[_Work]) -> Callable[[int], None]:
    """Of a document that is alone, how far it is, and whether it still is ours; small ones are done in no time."""
    if len(works) > 1:
        return lambda done: None
    (work,) = works
    kept = len(work.cut.chunks) - len(work.cut.fresh)
    return lambda done: update_held(work.row, chunk_count=kept + done)


def _write(work: _Work, prepared: ingest.Prepared) -> None:
    """The outcome is written in the transaction that writes the chunks, so that either both happened or neither."""
    row, cut = work.row, work.cut
    if len(cut.fresh) > _TOGETHER:  # entering them into the index takes a while
        update_held(row, stage=Stage.INDEXING, chunk_count=len(cut.chunks))
    while True:
        begun = time.monotonic()
        with contextlib.suppress(index.Outdated), transaction.atomic():
            outcome = index.index(prepared, source=work.source, revision=row.pk)
            work.clock.add(Stage.INDEXING, time.monotonic() - begun)
            outcomes.finish(row, outcome, timings=work.clock.milliseconds)
            return
        prepared = ingest.prepare(cut.submission, source=work.source, options=cut.options, on_batch=_progress([work]))


@contextlib.contextmanager
def _outcome_of(row: IngestionDocument, held: Holding) -> Iterator[None]:
    """What goes wrong in the block becomes the row's state."""
    try:
        yield
    except LeaseLost:
        logger.warning("ingestion_lease_lost", document=str(row.pk), job=str(row.job_id))
    except (OperationalError, InterfaceError):
        # The database went away, not the document: the lease ends by itself, and the sweep brings the row back.
        logger.exception("ingestion_interrupted", document=str(row.pk), job=str(row.job_id))
        held.let_go(row)
        connection.close()
    except RagError as error:
        cause = type(error.__cause__).__name__ if error.__cause__ else ""
        logger.warning("ingestion_failed", document=str(row.pk), code=error.code, cause=cause)
        outcomes.refuse(row, error)
    except Exception:
        logger.exception("ingestion_errored", document=str(row.pk), job=str(row.job_id))
        outcomes.fail(row, "INTERNAL_ERROR", "An unexpected error; the log has it under this document's id.")


def _let_go(rows: Sequence[IngestionDocument], held: Holding) -> None:
    for row in rows:
        held.let_go(row)
    for job_id in dict.fromkeys(row.job_id for row in rows):
        jobs.close(job_id)


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
