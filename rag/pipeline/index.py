"""Step: a prepared document → its row, its chunks and their vectors, inside the caller's transaction."""

import uuid
from typing import Any

from rag.models import DataSource, Document, Original
from rag.models.documents import content_hash
from rag.parsing import registry as parsers
from rag.providers import registry
from rag.providers.stores import terms
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.db import take_turn

from . import quota
from .embed import embedded_text
from .ingest import Prepared


class Outdated(Exception):
    """The stored version is not the one any more whose vectors were to be kept: cut it again."""


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
    if document is None:
        return _deleted_since(source, submission.path, revision)
    kept = _kept(document, submission, source, options, revision)
    if kept and submission.lang:
        terms.follow([document.pk], text_of=embedded_text)
    return kept


def index(prepared: Prepared, *, source: DataSource, revision: uuid.UUID) -> IndexOutcome:
    """Create the document, or give it its new content: chunks that it has already keep their rows and vectors.

    Keeps other writers of this path waiting, likewise, and towards the end the organisation's other writers: once in a
    transaction. Raises IndexFull, Outdated, and UnknownSource if the source was deleted meanwhile.
    """
    cut = prepared.cut
    submission, options = cut.submission, cut.options
    document = _locked(source, submission.path)
    if document and (kept := _kept(document, submission, source, options, revision)):
        terms.follow([document.pk] if submission.lang else [], text_of=embedded_text)
        return kept
    if document is None and (gone := _deleted_since(source, submission.path, revision)):
        return gone
    if document is None and submission.again:  # deleted since it was asked for
        return IndexOutcome("unchanged", None, 0)
    if cut.base != (document.revision if document else None):
        raise Outdated
    had_chunks, had_bytes = (document.chunk_count, document.bytes) if document else (0, 0)
    status = "updated" if document else "created"
    document = document or Document(source=source, path=submission.path)
    content = {
        "title": cut.title,
        "content_type": submission.content_type or cut.parsed.media_type or parsers.media_type("", submission.path),
        "lang": cut.lang,
        "text": cut.parsed.text,
        "original_id": submission.original_id,
        "content_hash": effective_hash(submission),
        "chunk_size": options.size,
        "chunk_overlap": options.overlap,
        "chunk_count": len(cut.chunks),
        "bytes": quota.size_of(cut.parsed.text, submission.original_id),
        "revision": revision,
    }
    if document.original_id and document.original_id != submission.original_id:
        Original.objects.filter(pk=document.original_id).release()
    _save(document, {**_attributes(submission, source), **content})
    store = registry.vector_store(source.embedding_model)
    store.replace(
        document,
        model_id=source.embedding_model_id,
        chunks=cut.chunks,
        digests=cut.digests,
        fresh=cut.fresh,
        vectors=prepared.vectors,
        is_new=status == "created",
    )
    if status == "updated":
        store.refresh_filters(document)
    quota.make_room(source.organization_id, chunks=document.chunk_count - had_chunks, bytes=document.bytes - had_bytes)
    terms.follow([document.pk], text_of=embedded_text)
    return IndexOutcome(status, document.pk, len(cut.chunks))


def _kept(
    document: Document, submission: Submission, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    outcome = IndexOutcome("unchanged", document.pk, document.chunk_count)
    if document.revision > revision:  # a later submission has been written already: this one is history
        return outcome
    if submission.again:
        return None
    made_alike = (document.chunk_size, document.chunk_overlap) == (options.size, options.overlap)
    made_alike = made_alike and _is_read_alike(document.content_type, submission.content_type)
    if document.content_hash != effective_hash(submission) or not made_alike:
        return None
    # What was found in the content stands where the submission says nothing.
    given = {name: value for name in ("title", "lang", "content_type") if (value := getattr(submission, name))}
    if "/" not in document.content_type:  # a word of an earlier submission's own
        given.setdefault("content_type", parsers.media_type("", submission.path))
    _save(document, {**_attributes(submission, source), **given, "revision": revision})
    registry.vector_store(source.embedding_model).refresh_filters(document)
    return outcome


def _is_read_alike(stored: str, given: str) -> bool:
    """Another MIME type is read in another way; `documentation` and the like are none and decide nothing."""
    return "/" not in given or "/" not in stored or given == stored


def effective_hash(submission: Submission) -> str:
    return submission.content_hash or content_hash(submission.text)


def _locked(source: DataSource, path: str) -> Document | None:
    """The live document of this path. An advisory lock, because a document that is not there yet has no row to lock."""
    source.hold()
    take_turn(f"{source.pk}/{path}")
    return Document.objects.live().filter(source=source, path=path).defer("text").first()


def _deleted_since(source: DataSource, path: str, revision: uuid.UUID) -> IndexOutcome | None:
    """The path was deleted after this was submitted: it is history, as if it had been written and then deleted."""
    deleted = Document.objects.filter(source=source, path=path, deleted_at__isnull=False, revision__gt=revision)
    key = deleted.values_list("pk", flat=True).first()
    return IndexOutcome("unchanged", key, 0) if key else None


def _attributes(submission: Submission, source: DataSource) -> dict[str, Any]:
    return {
        "uri": submission.uri,
        "source_type": submission.source_type or source.source_type,
        "tags": list(submission.tags),
        "metadata": dict(submission.metadata),
        "date": submission.date,
    }


def _save(document: Document, values: dict[str, Any]) -> None:
    for name, value in values.items():
        setattr(document, name, value)
    document.save(update_fields=None if document._state.adding else [*values, "updated_at"])
