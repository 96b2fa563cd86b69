"""Ingesting one document while the client waits, without a job."""

import contextlib

from django.db import transaction

from orgs.access.caller import Caller
from rag.errors import DocumentTooLarge, ModelChanged
from rag.models import DataSource, Document
from rag.pipeline.embed_documents import uses_local_model
from rag.pipeline.ingestion import index, parse_chunk_embed, quota, stored_documents, unchanged_content
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.services.maintenance.indexes import apply_index_changes
from rag.services.sources import creation
from rag.types import ChunkingOptions, IndexOutcome, Submission
from ragsite.postgres import identity
from ragsite.postgres.models import new_revision

from .build_submissions import default_chunking_options

# Longer texts go through a job.
MAX_TEXT_BYTES = 256 * 1024
# Texts that the local model would embed for longer go through a job, too. 256 KB of English prose have 60,000 tokens
# and take 14 seconds; words of random letters have three times as many.
MAX_EMBEDDING_SECONDS = 20
# Measured on one slow core (docs/benchmarks.md). A constant, so that the same text is accepted on every machine.
_TOKENS_PER_SECOND = 4_500
_ADVICE = "Send it as a job: POST /api/rag/ingest with `documents`."


def ingest_now(*, source: DataSource, submission: Submission, caller: Caller | None = None) -> IndexOutcome:
    """Ingest one document. It can be searched when this returns.

    Args:
        source: A source that was found among those that the caller may send documents to. A new source is saved in
            the transaction that writes the document, so that it never exists without the document.
        submission: The document, sent as text.
        caller: The caller who sends it; required for a source that is not saved yet.

    Returns:
        Whether the document was created, updated or unchanged, its id, and its number of chunks.

    Raises:
        DocumentTooLarge: If the text has more than MAX_TEXT_BYTES bytes, or more than MAX_EMBEDDING_SECONDS of work.
        IndexFull: If the organisation's quota has no room.
        ParseFailed: If the text cannot be parsed.
        EmbeddingFailed: If the embedding model does not answer, or too many documents wait for it.
        UnknownSource: If the source was deleted in the meantime.
        NotAllowed: If another request has created the source, and the caller may not send documents to it.
    """
    size = len(submission.text.encode())
    if size > MAX_TEXT_BYTES:
        raise DocumentTooLarge(
            f"The text has {size:,} bytes; a request that waits for the result may have at most "
            f"{MAX_TEXT_BYTES:,}. {_ADVICE}"
        )
    with identity.write_access():
        try:
            return _ingest(source, submission, size, caller)
        except ModelChanged:  # the source was switched to another model: embed once more, with that one
            source.refresh_from_db(fields=["embedding_model"])
            return _ingest(source, submission, size, caller)


def _ingest(source: DataSource, submission: Submission, size: int, caller: Caller | None) -> IndexOutcome:
    """Ingest a document unless it is unchanged, and again if its stored version changes meanwhile."""
    revision, options = new_revision(), _chunking_options(source, submission.path)
    if not _is_new(source) and stored_documents.existing_paths([submission.path], source=source):
        with transaction.atomic():
            apply_index_changes.apply_soon()
            unchanged = unchanged_content.update_unchanged({revision: (submission, options)}, source=source)
        if unchanged:
            return unchanged[revision]
    else:
        quota.check_quota(source.organization_id, chunks=1, bytes=size)
    with _admission(source, size, caller):
        while True:
            prepared = _prepare(submission, source, options)
            with contextlib.suppress(index.OutdatedVersion), transaction.atomic():
                # If another request has created the source, the next attempt is about that source and its documents.
                model_id, source = source.embedding_model_id, creation.save_if_new(source, caller)
                if source.embedding_model_id != model_id:
                    raise index.OutdatedVersion
                apply_index_changes.apply_soon()
                return index.index_documents({revision: prepared}, source=source)[revision]


def _admission(source: DataSource, size: int, caller: Caller | None) -> contextlib.AbstractContextManager[None]:
    """Return what bounds the local embedding of a client's document; commands and remote models have other bounds."""
    if caller is None or not uses_local_model(source.embedding_model):
        return contextlib.nullcontext()
    return DOCUMENT_LIMITER.admit(source.organization_id, size=size)


def _prepare(
    submission: Submission, source: DataSource, options: ChunkingOptions
) -> parse_chunk_embed.PreparedDocument:
    """Parse, chunk and embed a document, unless its new chunks would take too long to embed."""
    document = parse_chunk_embed.parse_and_chunk(submission, source=source, options=options)
    parse_chunk_embed.check_quota([document], source)
    seconds = parse_chunk_embed.estimate_tokens_to_embed(document, source.embedding_model) / _TOKENS_PER_SECOND
    if seconds > MAX_EMBEDDING_SECONDS:
        raise DocumentTooLarge(
            f"The text would take about {seconds:.0f} seconds to embed; a request that waits for the result may take "
            f"at most {MAX_EMBEDDING_SECONDS}. {_ADVICE}"
        )
    (prepared,) = parse_chunk_embed.embed_documents([document], source, on_batch=lambda done: None)
    return prepared


def _is_new(source: DataSource) -> bool:
    """Return whether the source is not saved yet, and so has no documents. It has a primary key already."""
    return source._state.adding


def _chunking_options(source: DataSource, path: str) -> ChunkingOptions:
    """Return the options with which the stored document was chunked, else the defaults.

    The v3 contract (section 1) has no fields for them. If a job has stored the document with other options, the
    defaults would chunk it again although it has not changed, and the outcome would not be `unchanged`.
    """
    if _is_new(source):
        return default_chunking_options()
    documents = Document.objects.live().filter(source=source, path=path)
    stored = documents.values_list("chunk_size", "chunk_overlap").first()
    return ChunkingOptions(*stored) if stored else default_chunking_options()
