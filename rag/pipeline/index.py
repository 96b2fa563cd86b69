"""Step: a prepared document → its row, its chunks and their vectors, inside the caller's transaction."""

import uuid
from typing import Any

from rag.models import DataSource, Document, Original
from rag.models.documents import content_hash
from rag.parsing import registry as parsers
from rag.providers import registry
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.db import take_turn

from . import quota
from .ingest import Prepared


def is_known(submission: Submission, *, source: DataSource) -> bool:
    """Whether the path has a document already. Cheap, and not final: nothing is locked."""
    return Document.objects.live().filter(source=source, path=submission.path).exists()


def unchanged(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    """If the stored document has this content already, save what else changed and say so; else None.

    Nothing is embedded for it. Keeps other writers of this path waiting until the caller's transaction ends. Raises
    UnknownSource if the source was deleted meanwhile.
    """
    document = _locked(source, submission.path)
    return _kept(document, submission, source, options, revision) if document else None


def index(prepared: Prepared, *, source: DataSource, revision: uuid.UUID) -> IndexOutcome:
    """Create the document or replace it whole. Keeps other writers of this path waiting, likewise.

    Raises IndexFull, and UnknownSource if the source was deleted meanwhile.
    """
    submission, options = prepared.submission, prepared.options
    document = _locked(source, submission.path)
    if document and (kept := _kept(document, submission, source, options, revision)):
        return kept
    quota.make_room(source.organization_id, growth=len(prepared.chunks) - (document.chunk_count if document else 0))
    status = "updated" if document else "created"
    document = document or Document(source=source, path=submission.path)
    content = {
        "text": submission.text,
        "content_hash": effective_hash(submission),
        "original_id": submission.original_id,
        "chunk_size": options.size,
        "chunk_overlap": options.overlap,
        "chunk_count": len(prepared.chunks),
        "revision": revision,
    }
    if document.original_id and document.original_id != submission.original_id:
        Original.objects.filter(pk=document.original_id).release()
    _save(document, {**_attributes(submission, source), **content})
    store = registry.vector_store(source.embedding_model)
    if status == "updated":
        store.remove(document)
    store.add(document, model_id=source.embedding_model_id, chunks=prepared.chunks, vectors=prepared.vectors)
    return IndexOutcome(status, document.pk, len(prepared.chunks))


def _kept(
    document: Document, submission: Submission, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    outcome = IndexOutcome("unchanged", document.pk, document.chunk_count)
    if document.revision > revision:  # a later submission has been written already: this one is history
        return outcome
    if submission.again:
        return None
    made_alike = (document.chunk_size, document.chunk_overlap) == (options.size, options.overlap)
    if document.content_hash != effective_hash(submission) or not made_alike:
        return None
    _save(document, {**_attributes(submission, source), "revision": revision})
    registry.vector_store(source.embedding_model).refresh_filters(document)
    return outcome


def effective_hash(submission: Submission) -> str:
    return submission.content_hash or content_hash(submission.text)


def _locked(source: DataSource, path: str) -> Document | None:
    """The live document of this path. An advisory lock, because a document that is not there yet has no row to lock."""
    source.hold()
    take_turn(f"{source.pk}/{path}")
    return Document.objects.live().filter(source=source, path=path).defer("text").first()


def _attributes(submission: Submission, source: DataSource) -> dict[str, Any]:
    return {
        "title": submission.title,
        "uri": submission.uri,
        "content_type": parsers.media_type(submission.content_type, submission.path),
        "source_type": submission.source_type or source.source_type,
        "lang": submission.lang,
        "tags": list(submission.tags),
        "metadata": dict(submission.metadata),
        "date": submission.date,
    }


def _save(document: Document, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(document, name, value)
    document.save(update_fields=None if document._state.adding else [*values, "updated_at"])
