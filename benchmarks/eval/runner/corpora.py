"""Ingests the corpus of each set into a data source of the evaluation's organisation, as clients' documents are."""

import hashlib
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import transaction

from accounts.models import User
from benchmarks.eval.datasets.sets import Text
from benchmarks.eval.runner import searched_models
from benchmarks.eval.runner.workers import WorkerPool
from orgs.creation import add_member, create_organization
from orgs.models import Organization
from rag.models import DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob
from rag.models.content.documents import content_hash
from rag.providers import provider_factory
from rag.services.ingestion import build_submissions, document_processing
from rag.services.ingestion.queue import recovery_sweep
from rag.services.jobs import close_and_cancel, job_lookup
from rag.services.jobs.create_job import create_job
from rag.services.sources import deletion, purge
from rag.types import Submission

_SLUG = "evaluation"
# How many texts a job contains.
_MAX_JOB_DOCUMENTS = 5_000
# Maximum length of readable paths and names.
_MAX_READABLE_LENGTH = 150
# Time for the rest of a job after all processes have stopped: a lost process's documents return after its lease.
_TIMEOUT_SECONDS = 600
# Code that influences what is stored. If it has changed, everything is ingested again.
_INGESTION_CODE = ("models", "parsing", "pipeline/ingestion", "providers/embedders", "providers/stores", "text")
_RAG = Path(document_processing.__file__).parents[2]


@dataclass(frozen=True)
class IngestedCorpus:
    """An ingested corpus.

    Attributes:
        source_id: The source to search in.
        ids: Id of each text in the set, by its document's path.
        chunks: Number of chunks.
        seconds: Duration of ingestion.
        new_documents: Number of documents that were ingested now.
        notes: Number of failed documents by reason.
    """

    source_id: uuid.UUID
    ids: dict[str, str]
    chunks: int
    seconds: float
    new_documents: int
    notes: dict[str, int]


def organization() -> tuple[Organization, User]:
    home = create_organization(name="Evaluation", slug=_SLUG)
    user = User.objects.filter(email=f"{_SLUG}@evaluation.example").first()
    if user is None:
        user = User.objects.create_user(f"{_SLUG}@evaluation.example")
        add_member(user=user, organization=home, roles=("editor",))
    return home, user


@transaction.atomic
def cancel_interrupted_jobs() -> None:
    """Delete the jobs of an interrupted earlier run."""
    close_and_cancel.cancel_jobs(IngestionJob.objects.filter(source__organization__slug=_SLUG))
    IngestionJob.objects.filter(source__organization__slug=_SLUG).delete()


def ingest_corpus(
    folder: Path, kind: str, name: str, texts: Sequence[Text], pool: WorkerPool, *, questions: Iterable[str] = ()
) -> IngestedCorpus:
    """Ingest the texts that are missing; ingest the whole set again if a text or the code has changed.

    Args:
        folder: The folder of the sets.
        kind: The kind of the set.
        name: The name of the set.
        texts: Its texts.
        pool: The processes that ingest.
        questions: What will be asked: questions that are not English need vectors of their own.
    """
    started = time.monotonic()
    key = hashlib.sha256(f"{folder}\n{kind}\n{name}".encode()).hexdigest()[:16]
    texts_by_path = {path_of_text(text.id): text for text in texts}
    source = _find_or_create_source(f"{kind.replace('_', '-')}-{key}", f"{kind} {name}"[:_MAX_READABLE_LENGTH])
    stored = _find_documents(source)
    if any(path not in texts_by_path or stored[path] != _description(texts_by_path[path]) for path in stored):
        source = _recreate(source)
        stored = {}
    new_paths = [path for path in texts_by_path if path not in stored]
    notes: dict[str, int] = {}
    for start in range(0, len(new_paths), _MAX_JOB_DOCUMENTS):
        portion = {path: texts_by_path[path] for path in new_paths[start : start + _MAX_JOB_DOCUMENTS]}
        for reason, number in _ingest(source, portion, pool).items():
            notes[reason] = notes.get(reason, 0) + number
    if new_paths:
        _build_vector_indexes()
    searched_models.prepare(source, questions)
    ids = {path: text.id for path, text in texts_by_path.items()}
    return IngestedCorpus(source.pk, ids, source.chunks.count(), time.monotonic() - started, len(new_paths), notes)


def tag(text_id: str) -> str:
    """The tag that restricts a search to one text."""
    return hashlib.sha256(text_id.encode()).hexdigest()[:16]


def path_of_text(text_id: str) -> str:
    """A short, printable and unique path for an id."""
    readable = quote(text_id, safe="")
    return (
        readable if 0 < len(readable) <= _MAX_READABLE_LENGTH else f"{readable[:_MAX_READABLE_LENGTH]}~{tag(text_id)}"
    )


def _title(text: Text) -> str:
    # A document without a title would get its path as title, and the ids of a set are not titles.
    return text.title or " "


def _description(text: Text) -> tuple[str, str]:
    return content_hash(text.text), _title(text)


def _find_documents(source: DataSource) -> dict[str, tuple[str, str]]:
    rows = Document.objects.live().filter(source=source).values_list("path", "content_hash", "title")
    return {path: (hashed, title) for path, hashed, title in rows}


def _find_or_create_source(slug: str, name: str) -> DataSource:
    home, _ = organization()
    source = DataSource.objects.filter(organization=home, slug=slug, deleted_at=None).first()
    if source and source.description == _fingerprint() and source.embedding_model == EmbeddingModel.objects.default():
        return source
    if source:
        return _recreate(source)
    return _create_source(home, slug, name)


def _create_source(home: Organization, slug: str, name: str) -> DataSource:
    model = EmbeddingModel.objects.default()
    return DataSource.objects.create(
        organization=home, slug=slug, name=name, description=_fingerprint(), embedding_model=model
    )


def _recreate(source: DataSource) -> DataSource:
    deletion.delete_source(source)
    purge.purge_deleted()
    return _create_source(source.organization, source.slug, source.name)


def _fingerprint() -> str:
    """A fingerprint of the code and the settings that documents were ingested with."""
    files = [file for part in _INGESTION_CODE for file in sorted((_RAG / part).rglob("*.py"))] + sorted(
        _RAG.glob("*.py")
    )
    digest = hashlib.sha256(repr(build_submissions.default_chunking_options()).encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def _ingest(source: DataSource, texts: dict[str, Text], pool: WorkerPool) -> dict[str, int]:
    """Ingest the texts as a job, in all processes of the pool; return the number of failures by reason."""
    submissions = [
        Submission(path=path, title=_title(text), text=text.text, content_type=text.content_type, tags=(tag(text.id),))
        for path, text in texts.items()
    ]
    _, user = organization()
    job = create_job(
        source=source, submissions=submissions, options=build_submissions.default_chunking_options(), actor=user
    )
    batch_size = max(4, min(64, len(texts) // (4 * pool.size)))
    pool.run_everywhere(process_job, job.pk, batch_size)
    end = time.monotonic() + _TIMEOUT_SECONDS
    while IngestionDocument.objects.filter(job=job, state__in=IngestionDocument.OPEN_STATES).exists():
        if time.monotonic() > end:
            raise TimeoutError("Documents are still open and no process works on them.")
        time.sleep(1)
        recovery_sweep.sweep()  # recovers the documents of a process that ended
        pool.run_everywhere(process_job, job.pk, batch_size)
    close_and_cancel.close_if_finished(job.pk)
    failed = {
        f"documents that were not ingested: {code}": n for code, n in job_lookup.count_failures_by_code(job).items()
    }
    job.delete()
    return failed


def process_job(job_id: uuid.UUID, batch_size: int) -> None:
    """Process the job's documents like a worker until none is queued."""
    while IngestionDocument.objects.filter(job=job_id, state=IngestionDocument.State.QUEUED, due_at=None).exists():
        document_processing.process_next(count=batch_size)


def _build_vector_indexes() -> None:
    """Build the vector index, as the scheduler does after a first load."""
    store = provider_factory.chunk_store()
    for index in store.vector_indexes():
        if not index.is_built and index.row_count > settings.RAG_EXACT_SEARCH_MAX_CHUNKS:
            store.build_vector_index(index.dimensions)
