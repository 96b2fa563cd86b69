"""Step: prepared documents -> their rows, chunks, vectors and terms, inside the current transaction."""

import functools
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.db import transaction

from rag.models import DataSource, Document, Original
from rag.models.content.documents import content_hash
from rag.models.content.line_boxes import pack_line_boxes
from rag.parsing import formats, parse
from rag.providers import provider_factory
from rag.providers.stores.store_writes import DocumentVersion, MetadataUpdate
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.replicas import positions

from . import long_texts, quota
from .parse_chunk_embed import ChunkedDocument, PreparedDocument


class OutdatedVersion(Exception):
    """The stored version whose vectors were to be kept has been replaced: parse and chunk the document again."""


@dataclass(frozen=True, slots=True)
class _Unchanged:
    """A document whose content stays as it is. `update`: its saved metadata; None if nothing was saved."""

    outcome: IndexOutcome
    update: MetadataUpdate | None = None


def existing_paths(paths: Iterable[str], *, source: DataSource) -> set[str]:
    """Return the paths that have a document already. Nothing is locked, so this may change."""
    live = Document.objects.live().filter(source=source, path__in=list(paths))
    return set(live.values_list("path", flat=True))


def update_if_unchanged(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> IndexOutcome | None:
    """Save the new metadata of a document whose stored content is the submitted one. Nothing is embedded.

    Other writers of this path wait until the current transaction ends.

    Returns:
        The outcome; None if the content must be written again. Nothing was changed then.

    Raises:
        UnknownSource: If the source has been deleted.
    """
    document = _lock_documents(source, [submission.path]).get(submission.path)
    if document is None:
        return _deleted_since(source, {submission.path: revision}).get(submission.path)
    unchanged = _update_metadata_only(document, submission, source, options, revision)
    if unchanged is None:
        return None
    if unchanged.update:
        provider_factory.chunk_store().update_metadata([unchanged.update])
    return unchanged.outcome


def index_documents(
    prepared_documents: Mapping[uuid.UUID, PreparedDocument], *, source: DataSource
) -> dict[uuid.UUID, IndexOutcome]:
    """Create the documents or replace their content. Unchanged chunks keep their rows and vectors.

    Other writers of these paths wait until the current transaction ends. When the quota is updated, near the end of
    the transaction, all other writers of the organisation wait as well. Call it once per transaction.

    Args:
        prepared_documents: New revision → the document that gets it. The paths of the documents differ.
        source: The data source of all documents.

    Returns:
        New revision → outcome of its document.

    Raises:
        IndexFull: If the organisation's quota is exceeded. One of the documents may be the cause.
        OutdatedVersion: If the stored version of a document has changed since it was chunked.
        UnknownSource: If the source has been deleted.
    """
    revisions = {prepared.chunked.submission.path: revision for revision, prepared in prepared_documents.items()}
    stored = _lock_documents(source, revisions)
    deleted = _deleted_since(source, {path: revision for path, revision in revisions.items() if path not in stored})
    outcomes: dict[uuid.UUID, IndexOutcome] = {}
    versions: list[DocumentVersion] = []
    updates: list[MetadataUpdate] = []
    old_chunks = old_bytes = 0
    for revision, prepared in prepared_documents.items():
        path = prepared.chunked.submission.path
        document = stored.get(path)
        if path in deleted:
            outcomes[revision] = deleted[path]
        elif unchanged := _keep_stored_content(document, prepared.chunked, source, revision):
            outcomes[revision] = unchanged.outcome
            updates += [unchanged.update] if unchanged.update else []
        else:
            old_chunks += document.chunk_count if document else 0
            old_bytes += document.bytes if document else 0
            version = _build_version(document, prepared, source, revision)
            versions.append(version)
            status = "updated" if document else "created"
            outcomes[revision] = IndexOutcome(status, version.document.pk, len(version.chunks))
    _write(versions, updates, source)
    documents = [version.document for version in versions]
    quota.update_usage(
        source.organization_id,
        chunks=sum(document.chunk_count for document in documents) - old_chunks,
        bytes=sum(document.bytes for document in documents) - old_bytes,
    )
    return outcomes


def effective_hash(submission: Submission) -> str:
    """Return the content hash that the client sent, or the hash of the text."""
    return submission.content_hash or content_hash(submission.text)


def _keep_stored_content(
    document: Document | None, chunked: ChunkedDocument, source: DataSource, revision: uuid.UUID
) -> _Unchanged | None:
    """Save the new metadata and return the outcome if the stored content can stay; None if it must be written.

    Raises:
        OutdatedVersion: If the stored version has changed since the document was chunked.
    """
    submission = chunked.submission
    if document and (unchanged := _update_metadata_only(document, submission, source, chunked.options, revision)):
        return unchanged
    if document is None and submission.force_reparse:  # deleted after the new parse was requested
        return _Unchanged(IndexOutcome("unchanged", None, 0))
    if chunked.base_revision != (document.revision if document else None):
        raise OutdatedVersion
    return None


def _update_metadata_only(
    document: Document, submission: Submission, source: DataSource, options: ChunkingOptions, revision: uuid.UUID
) -> _Unchanged | None:
    """Save the new metadata of a document whose stored content can stay.

    Returns:
        The outcome; None if the content must be written again: it has changed, a reparse is forced (`force_reparse`),
        or the chunking options or the parser differ from those of the stored version.
    """
    outcome = IndexOutcome("unchanged", document.pk, document.chunk_count)
    if document.revision > revision:  # a later submission has been written already
        return _Unchanged(outcome)
    if submission.force_reparse:
        return None
    has_same_options = (document.chunk_size, document.chunk_overlap) == (options.size, options.overlap)
    has_same_parser = _has_same_parser(document.content_type, submission.content_type)
    if document.content_hash != effective_hash(submission) or not (has_same_options and has_same_parser):
        return None
    old_title, old_lang = document.title, document.lang
    # Values that were found in the content stay unless the submission has its own value.
    submitted = {name: value for name in ("title", "lang", "content_type") if (value := getattr(submission, name))}
    if "/" not in document.content_type:  # not a MIME type but a word of an earlier submission
        submitted.setdefault("content_type", parse.default_content_type(submission.path))
    values = {**_metadata_values(submission, source), **submitted, "revision": revision}
    _set_values(document, values)
    document.save(update_fields=[*values, "updated_at"])
    update = MetadataUpdate(document, has_new_title=document.title != old_title, has_new_lang=document.lang != old_lang)
    return _Unchanged(outcome, update)


def _build_version(
    document: Document | None, prepared: PreparedDocument, source: DataSource, revision: uuid.UUID
) -> DocumentVersion:
    """Set the document's values and describe its chunks. Only the release of a replaced original is written."""
    chunked = prepared.chunked
    submission, options = chunked.submission, chunked.options
    is_new = document is None
    document = document or Document(source=source, path=submission.path)
    has_new_title = not is_new and document.title != chunked.title
    if document.original_id and document.original_id != submission.original_id:
        Original.objects.filter(pk=document.original_id).schedule_purge_check()
    # A type such as application/octet-stream says nothing; the page of the document depends on what it really is.
    declared = submission.content_type if formats.normalize_mime_type(submission.content_type) else ""
    media_type = declared or chunked.parsed.media_type or parse.default_content_type(submission.path)
    content = {
        "title": chunked.title,
        "content_type": media_type,
        "lang": chunked.lang,
        "text": chunked.parsed.text,
        "page_starts": chunked.parsed.page_starts,
        "line_boxes": pack_line_boxes(chunked.parsed.line_boxes, effective_hash(submission)),
        "recognized_pages": len(chunked.parsed.recognitions),
        "recognition_seconds": sum(recognition.seconds for recognition in chunked.parsed.recognitions),
        "original_id": submission.original_id,
        "content_hash": effective_hash(submission),
        "chunk_size": options.size,
        "chunk_overlap": options.overlap,
        "chunk_count": len(chunked.chunks),
        "bytes": chunked.bytes,
        "revision": revision,
    }
    _set_values(document, {**_metadata_values(submission, source), **content})
    return DocumentVersion(
        document=document,
        chunks=chunked.chunks,
        digests=chunked.digests,
        new_indexes=chunked.new_indexes,
        vectors=prepared.embedded.vectors,
        signatures=prepared.embedded.signatures,
        second_vectors=prepared.embedded.second_vectors,
        is_new=is_new,
        has_new_title=has_new_title,
    )


def _write(versions: Sequence[DocumentVersion], updates: Sequence[MetadataUpdate], source: DataSource) -> None:
    """Write the documents' rows, and then what the store has of them."""
    store = provider_factory.chunk_store()
    with long_texts.write_apart([version.document for version in versions]):
        Document.objects.bulk_create([version.document for version in versions if version.is_new])
        for version in versions:
            if not version.is_new:
                version.document.save()
    store.write(versions, model=source.embedding_model, second_model=source.second_model)
    store.update_metadata(updates)


def _has_same_parser(stored_type: str, submitted_type: str) -> bool:
    """Return whether both MIME types have the same parser. A value such as `documentation` is not a MIME type: True."""
    return "/" not in submitted_type or "/" not in stored_type or submitted_type == stored_type


def _lock_documents(source: DataSource, paths: Collection[str]) -> dict[str, Document]:
    """Lock the paths, and return path → live document. Each write begins with it.

    The locks are advisory locks, because a document that does not exist has no row to lock.
    """
    source.lock_for_write()
    transaction.on_commit(functools.partial(positions.note_changed, source.organization_id))
    advisory_xact_locks(f"{source.pk}/{path}" for path in paths)
    live = Document.objects.live().filter(source=source, path__in=list(paths)).without_text()
    return {document.path: document for document in live}


def _deleted_since(source: DataSource, revisions: Mapping[str, uuid.UUID]) -> dict[str, IndexOutcome]:
    """Return the outcome of the paths that were deleted after the submission with this revision.

    Such a submission changes nothing, as if it had been written and then deleted.
    """
    deleted = Document.objects.filter(source=source, path__in=list(revisions), deleted_at__isnull=False)
    return {
        path: IndexOutcome("unchanged", document_id, 0)
        for path, document_id, revision in deleted.values_list("path", "pk", "revision")
        if revision > revisions[path]
    }


def _metadata_values(submission: Submission, source: DataSource) -> dict[str, object]:
    return {
        "uri": submission.uri,
        "source_type": submission.source_type or source.source_type,
        "tags": list(submission.tags),
        "metadata": dict(submission.metadata),
        "date": submission.date,
    }


def _set_values(document: Document, values: Mapping[str, object]) -> None:
    for name, value in values.items():
        setattr(document, name, value)
