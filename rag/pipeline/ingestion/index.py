"""Step: prepared documents -> their rows, chunks, vectors and terms, inside the current transaction."""

import uuid
from collections.abc import Mapping, Sequence

from rag.models import DataSource, Document, Original
from rag.models.content.line_boxes import pack_line_boxes
from rag.parsing import formats, parse
from rag.providers import provider_factory
from rag.providers.stores.store_writes import DocumentVersion
from rag.types import IndexOutcome
from ragsite.postgres.statements.insert_rows import insert_rows

from . import quota, write_long_texts
from .parse_chunk_embed import ChunkedDocument, PreparedDocument
from .stored_documents import lock_documents
from .unchanged_content import (
    UnchangedDocument,
    effective_hash,
    keep_content,
    metadata_values,
    save_metadata,
    set_values,
)


class OutdatedVersion(Exception):
    """The stored version whose vectors were to be kept has been replaced: parse and chunk the document again."""


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
    stored, deleted = lock_documents(source, revisions)
    outcomes: dict[uuid.UUID, IndexOutcome] = {}
    versions: list[DocumentVersion] = []
    unchanged: list[UnchangedDocument] = []
    old_chunks = old_bytes = 0
    for revision, prepared in prepared_documents.items():
        path = prepared.chunked.submission.path
        document = stored.get(path)
        if path in deleted:
            outcomes[revision] = deleted[path]
        elif kept := _keep_stored_content(document, prepared.chunked, source, revision):
            outcomes[revision] = kept.outcome
            unchanged.append(kept)
        else:
            old_chunks += document.chunk_count if document else 0
            old_bytes += document.bytes if document else 0
            version = _build_version(document, prepared, source, revision)
            versions.append(version)
            status = "updated" if document else "created"
            outcomes[revision] = IndexOutcome(status, version.document.pk, len(version.chunks))
    _write(versions, source)
    save_metadata(unchanged)
    documents = [version.document for version in versions]
    quota.update_usage(
        source.organization_id,
        chunks=sum(document.chunk_count for document in documents) - old_chunks,
        bytes=sum(document.bytes for document in documents) - old_bytes,
    )
    return outcomes


def _keep_stored_content(
    document: Document | None, chunked: ChunkedDocument, source: DataSource, revision: uuid.UUID
) -> UnchangedDocument | None:
    """Set the new metadata of a document whose stored content can stay; None if the content must be written.

    Raises:
        OutdatedVersion: If the stored version has changed since the document was chunked.
    """
    submission = chunked.submission
    if document and (
        kept := keep_content(document, submission, source=source, options=chunked.options, revision=revision)
    ):
        return kept
    if document is None and submission.force_reparse:  # deleted after the new parse was requested
        return UnchangedDocument(IndexOutcome("unchanged", None, 0))
    if chunked.base_revision != (document.revision if document else None):
        raise OutdatedVersion
    return None


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
    # The page of the document depends on what it really is.
    declared = formats.declared_type(submission.content_type)
    media_type = declared or chunked.parsed.media_type or parse.default_content_type(submission.path)
    content = {
        "title": chunked.title,
        "content_type": media_type,
        "lang": chunked.lang,
        "text": chunked.parsed.content,
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
    set_values(document, {**metadata_values(submission, source), **content})
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


def _write(versions: Sequence[DocumentVersion], source: DataSource) -> None:
    """Write the documents' rows, and then what the store has of them."""
    with write_long_texts.write_apart([version.document for version in versions]):
        insert_rows([version.document for version in versions if version.is_new])
        for version in versions:
            if not version.is_new:
                version.document.save()
    store = provider_factory.chunk_store()
    store.write(versions, model=source.embedding_model, second_model=source.second_model)
