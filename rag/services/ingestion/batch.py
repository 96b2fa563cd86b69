"""Claimed documents of one source that are embedded and written together."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction

from rag.errors import ProviderFailed, RagError
from rag.models import DataSource, IngestionDocument
from rag.pipeline.ingestion import index, prepare
from rag.services.jobs import queries

from . import outages, outcomes
from .leases import Holding, LeaseLost, update_held
from .timings import Clock

logger = structlog.get_logger(__name__)

Stage = IngestionDocument.Stage
# Texts that are embedded together; a document of more is alone.
_TOGETHER = 128
# Documents that a model may refuse one by one before nobody doubts that it is the model.
_TRIED_ALONE = 3


@dataclass(frozen=True, slots=True)
class Work:
    """A claimed document, parsed and cut."""

    row: IngestionDocument
    cut: prepare.Cut
    clock: Clock

    @property
    def source(self) -> DataSource:
        return self.row.job.source


def fits(works: Sequence[Work], another: Work) -> bool:
    """Whether so many texts are still embedded together."""
    return not works or _texts([*works, another]) <= _TOGETHER


def ingest_together(works: Sequence[Work], held: Holding) -> None:
    """Embed and write them, and their outcomes."""

    def embed_and_write(some: Sequence[Work]) -> None:
        prepared = {work.row.pk: each for work, each in zip(some, _embedded(some, held), strict=True)}
        _together_or_apart(some, lambda few: write(few, [prepared[work.row.pk] for work in few]), held)

    _together_or_apart(works, embed_and_write, held)
    let_go([work.row for work in works], held)


def _together_or_apart(works: Sequence[Work], step: Callable[[Sequence[Work]], None], held: Holding) -> None:
    """What one of them alone is to blame for does not fail the others: each is then tried for itself."""
    try:
        step(works)
    except Exception as error:
        if len(works) > 1 and _may_be_of_one(error):
            _apart(works, step, held)
            return
        for work in works:
            with outcome_of(work.row, held):
                raise error


def _apart(works: Sequence[Work], step: Callable[[Sequence[Work]], None], held: Holding) -> None:
    """If a model refuses some and embeds others, it is those; if it refuses the first few, it is the model."""
    refused: list[tuple[Work, Exception]] = []
    for number, work in enumerate(works):
        if len(refused) == number == _TRIED_ALONE and _may_be_the_model(refused[0][1]):
            refused += [(each, refused[0][1]) for each in works[number:]]
            break
        try:
            step([work])
        except Exception as error:
            refused.append((work, error))
    for work, cause in refused:
        with outcome_of(work.row, held, blamed=len(refused) < len(works)):
            raise cause


def _embedded(works: Sequence[Work], held: Holding) -> list[prepare.Prepared]:
    begun, source = time.monotonic(), works[0].source
    cuts = [work.cut for work in works]
    prepare.require_room_for(cuts, source)
    held.say(Stage.EMBEDDING, [work.row for work in works])
    prepared = prepare.embed(cuts, source.embedding_model, on_batch=_progress(works))
    if any(cut.fresh for cut in cuts):
        outages.end(source.embedding_model_id)
    else:
        for work in works:
            outages.pass_on(work.row.pk)
    for work in works:
        work.clock.add(Stage.EMBEDDING, time.monotonic() - begun)
    return prepared


def _may_be_the_model(error: Exception) -> bool:
    return isinstance(error, ProviderFailed) and error.of_request


def _may_be_of_one(error: Exception) -> bool:
    """Not what all of them would meet again: a model or a database that is away."""
    if isinstance(error, ProviderFailed):
        return not error.retry or error.of_request
    return not isinstance(error, DatabaseError | InterfaceError)


def _progress(works: Sequence[Work]) -> Callable[[int], None]:
    """Of a document that is alone, how far it is, and whether it still is ours; small ones are done in no time."""
    if len(works) > 1:
        return lambda done: None
    (work,) = works
    kept = len(work.cut.chunks) - len(work.cut.fresh)
    return lambda done: update_held(work.row, chunk_count=kept + done)


def write(works: Sequence[Work], prepared: Sequence[prepare.Prepared]) -> None:
    """The outcomes are written in the transaction that writes the chunks, so that either all happened or nothing.

    Raises LeaseLost, and what index.index raises, though only one of the documents may be the cause.
    """
    if _texts(works) > _TOGETHER:  # entering them into the index takes a while
        for work in works:
            update_held(work.row, stage=Stage.INDEXING, chunk_count=len(work.cut.chunks))
    arrivals = {work.row.pk: each for work, each in zip(works, prepared, strict=True)}
    begun = time.monotonic()
    try:
        with transaction.atomic():
            written = index.index(arrivals, source=works[0].source)
            for work in works:
                work.clock.add(Stage.INDEXING, time.monotonic() - begun)
            timings = {work.row.pk: work.clock.milliseconds for work in works}
            outcomes.finish({work.row: written[work.row.pk] for work in works}, timings=timings)
    except index.Outdated:
        if len(works) > 1:
            raise
        (work,) = works
        again = prepare.prepare(
            work.cut.submission, source=work.source, options=work.cut.options, on_batch=_progress(works)
        )
        write([Work(work.row, again.cut, work.clock)], [again])


def _texts(works: Sequence[Work]) -> int:
    return sum(len(work.cut.fresh) for work in works)


@contextlib.contextmanager
def outcome_of(row: IngestionDocument, held: Holding, *, blamed: bool = False) -> Iterator[None]:
    """What goes wrong in the block becomes the row's state. blamed: others went well at the same time."""
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
        outcomes.refuse(row, error, blamed=blamed)
    except Exception:
        logger.exception("ingestion_errored", document=str(row.pk), job=str(row.job_id))
        outcomes.fail(row, "INTERNAL_ERROR", "An unexpected error; the log has it under this document's id.")


def let_go(rows: Sequence[IngestionDocument], held: Holding) -> None:
    for row in rows:
        held.let_go(row)
    for job_id in dict.fromkeys(row.job_id for row in rows):
        queries.close(job_id)
