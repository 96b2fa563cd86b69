"""Embeds and writes a batch of parsed documents, and finds out which of them is to blame if the batch fails."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog
from django.db import InterfaceError, OperationalError, connection, transaction

from rag.errors import ProviderFailed, RagError
from rag.models import DataSource, IngestionDocument
from rag.pipeline.embed_documents import uses_local_model
from rag.pipeline.ingestion import index, parse_chunk_embed
from rag.services.jobs import close_and_cancel
from rag.services.operations import workers

from . import document_outcomes
from .parsing_warnings import describe_unread_pages
from .queue import embedding_outages
from .queue.leases import LeaseEnded, LeaseKeeper, set_stage_if_leased, update_if_leased
from .stage_timings import StageTimings

logger = structlog.get_logger(__name__)

Stage = IngestionDocument.Stage
# Maximum number of chunks that are embedded and written together. A document with more chunks is a batch of its own. If
# a remote model embeds them, the transaction takes most of the time, and larger ones are cheaper for each chunk.
_MAX_CHUNKS_PER_BATCH, _MAX_CHUNKS_PER_REMOTE_BATCH = 128, 512
# If the model refuses this many documents one by one, starting with the first, the model is the problem.
_MAX_REFUSALS = 3


@dataclass(frozen=True, slots=True)
class ParsedWork:
    """A claimed document that is parsed and chunked, but not embedded.

    Attributes:
        document: The claimed document.
        chunked: The document's chunks.
        timings: How long the document's stages took so far.
    """

    document: IngestionDocument
    chunked: parse_chunk_embed.ChunkedDocument
    timings: StageTimings

    @property
    def source(self) -> DataSource:
        """The data source of the document."""
        return self.document.job.source


def fits_in_batch(works: Sequence[ParsedWork], work: ParsedWork) -> bool:
    """Return whether the work can join the batch. A batch of one may have any size."""
    return not works or _count_new_chunks([*works, work]) <= _max_chunks_per_batch(work.source)


def ingest_batch(
    works: Sequence[ParsedWork], held_leases: LeaseKeeper, *, pause: Callable[[], None] = lambda: None
) -> None:
    """Embed and write the documents, write their outcomes, and release their leases.

    If a step fails for the whole batch, it is repeated for each document, so that one document does not fail the
    others.

    Args:
        works: Documents of one source, with different paths.
        held_leases: The leases that this process holds.
        pause: Called between the model's calls for a long document.

    Raises:
        WorkerStops: If this worker is asked to stop before everything is embedded.
    """

    def embed_and_write(works: Sequence[ParsedWork]) -> None:
        prepared = dict(zip([work.document.pk for work in works], _embed(works, pause), strict=True))

        def write(works: Sequence[ParsedWork]) -> None:
            with held_leases.hold_to_write([work.document for work in works]):
                write_batch(works, [prepared[work.document.pk] for work in works])

        _run_step(works, write, held_leases)

    _run_step(works, embed_and_write, held_leases)
    release_documents([work.document for work in works], held_leases)


def _run_step(
    works: Sequence[ParsedWork], step: Callable[[Sequence[ParsedWork]], None], held_leases: LeaseKeeper
) -> None:
    """Run the step for all documents together, or for each alone if one of them may be the cause of a failure."""
    try:
        step(works)
    except Exception as error:
        if len(works) > 1 and _may_be_caused_by_one_document(error):
            _run_step_for_each(works, step, held_leases)
            return
        for work in works:
            with record_errors(work.document, held_leases):
                raise error


def _run_step_for_each(
    works: Sequence[ParsedWork], step: Callable[[Sequence[ParsedWork]], None], held_leases: LeaseKeeper
) -> None:
    """Run the step for each document alone.

    If the model refuses some documents and embeds others, those documents are to blame. If it refuses the first few,
    the model is, and the rest of the batch is not tried.
    """
    refused: list[tuple[ParsedWork, Exception]] = []
    for number, work in enumerate(works):
        if len(refused) == number == _MAX_REFUSALS and _may_be_caused_by_model(refused[0][1]):
            refused += [(remaining, refused[0][1]) for remaining in works[number:]]
            break
        try:
            step([work])
        except Exception as error:
            refused.append((work, error))
    for work, cause in refused:
        with record_errors(work.document, held_leases, is_to_blame=len(refused) < len(works)):
            raise cause


def _embed(works: Sequence[ParsedWork], pause: Callable[[], None]) -> list[parse_chunk_embed.PreparedDocument]:
    """Embed the documents, end an outage of the model that has answered, and add the time to the timings."""
    workers.check_stop()
    started, source = time.monotonic(), works[0].source
    documents = [work.chunked for work in works]
    parse_chunk_embed.check_quota(documents, source)
    set_stage_if_leased([work.document for work in works], Stage.EMBEDDING)
    report_progress = _progress_reporter(works)

    def on_batch(done: int) -> None:
        workers.check_stop()
        report_progress(done)
        pause()

    prepared = parse_chunk_embed.embed_documents(documents, source, on_batch=on_batch)
    if any(document.new_indexes for document in documents):
        embedding_outages.clear_outage(source.embedding_model_id)
    else:  # the model was not called
        embedding_outages.release_probe(*(work.document.pk for work in works))
    for work in works:
        work.timings.add(Stage.EMBEDDING, time.monotonic() - started)
    return prepared


def _may_be_caused_by_model(error: Exception) -> bool:
    return isinstance(error, ProviderFailed) and error.may_be_request_fault


def _may_be_caused_by_one_document(error: Exception) -> bool:
    """Return False if the database or the model is temporarily unavailable: that affects the whole batch."""
    if isinstance(error, ProviderFailed):
        return not error.is_retryable or error.may_be_request_fault
    return not isinstance(error, OperationalError | InterfaceError)


def _progress_reporter(works: Sequence[ParsedWork]) -> Callable[[int], None]:
    """Return a callback that stores the number of embedded chunks of a document that is alone in its batch.

    It raises LeaseEnded if the document was taken over, which stops the embedding. A batch of several documents is
    small, so it reports nothing.
    """
    if len(works) > 1:
        return lambda done: None
    (work,) = works
    unchanged_chunks = len(work.chunked.chunks) - len(work.chunked.new_indexes)
    return lambda done: update_if_leased(work.document, chunk_count=unchanged_chunks + done)


def write_batch(works: Sequence[ParsedWork], prepared: Sequence[parse_chunk_embed.PreparedDocument]) -> None:
    """Write the chunks and the outcomes of the documents in one transaction, so that all are stored or none is.

    A single document whose stored version has changed since it was chunked is prepared again.

    Args:
        works: Documents of one source.
        prepared: The same documents with their vectors, in the same order.

    Raises:
        LeaseEnded: If one of the documents was cancelled or taken over by another worker.
        OutdatedVersion: If a stored version has changed, and there are several documents.
        IndexFull: If the documents exceed the organisation's quota. A single one of them may be the cause.
        UnknownSource: If the source was deleted in the meantime.
        ModelChanged: If the source was switched to another embedding model.
    """
    if _count_new_chunks(works) > _max_chunks_per_batch(works[0].source):  # writing these takes a while: report it
        for work in works:
            update_if_leased(work.document, stage=Stage.INDEXING, chunk_count=len(work.chunked.chunks))
    prepared_by_id = dict(zip([work.document.pk for work in works], prepared, strict=True))
    started = time.monotonic()
    try:
        with transaction.atomic():
            index_outcomes = index.index_documents(prepared_by_id, source=works[0].source)
            for work in works:
                work.timings.add(Stage.INDEXING, time.monotonic() - started)
            document_outcomes.record_success(
                {work.document: index_outcomes[work.document.pk] for work in works},
                timings={work.document.pk: work.timings.milliseconds for work in works},
                warnings={work.document.pk: describe_unread_pages(work.chunked.parsed) for work in works},
            )
    except index.OutdatedVersion:
        if len(works) > 1:
            raise
        (work,) = works
        repeated = parse_chunk_embed.prepare(
            work.chunked.submission,
            source=work.source,
            options=work.chunked.options,
            on_batch=_progress_reporter(works),
        )
        write_batch([ParsedWork(work.document, repeated.chunked, work.timings)], [repeated])


def _max_chunks_per_batch(source: DataSource) -> int:
    return _MAX_CHUNKS_PER_BATCH if uses_local_model(source.embedding_model) else _MAX_CHUNKS_PER_REMOTE_BATCH


def _count_new_chunks(works: Sequence[ParsedWork]) -> int:
    return sum(len(work.chunked.new_indexes) for work in works)


@contextlib.contextmanager
def record_errors(
    document: IngestionDocument, held_leases: LeaseKeeper, *, is_to_blame: bool = False
) -> Iterator[None]:
    """Catch the exceptions of the block, and store them as the document's state.

    Args:
        document: The claimed document.
        held_leases: The leases that this process holds.
        is_to_blame: Whether the document is the cause: the step succeeded for other documents at the same time.
    """
    try:
        yield
    except LeaseEnded:
        logger.warning("ingestion_lease_lost", document=str(document.pk), job=str(document.job_id))
    except (OperationalError, InterfaceError):
        # The database failed, not the document. Its lease expires, and the sweep puts the document back into the queue.
        logger.exception("ingestion_interrupted", document=str(document.pk), job=str(document.job_id))
        held_leases.release(document)
        connection.close()
    except RagError as error:
        cause = type(error.__cause__).__name__ if error.__cause__ else ""
        logger.warning("ingestion_failed", document=str(document.pk), code=error.code, cause=cause)
        document_outcomes.record_error(document, error, is_to_blame=is_to_blame)
    except Exception:
        logger.exception("ingestion_crashed", document=str(document.pk), job=str(document.job_id))
        document_outcomes.record_failure(
            document,
            "INTERNAL_ERROR",
            "An unexpected error. The worker's log has the details under this document's id.",
        )


def release_documents(documents: Sequence[IngestionDocument], held_leases: LeaseKeeper) -> None:
    """Release the leases of documents that are done, and close their jobs if nothing else is open in them."""
    for document in documents:
        held_leases.release(document)
    for job_id in dict.fromkeys(document.job_id for document in documents):
        close_and_cancel.close_if_finished(job_id)
