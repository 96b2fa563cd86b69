"""The slow steps of the ingestion pipeline: parse -> chunk -> embed. They run outside of a transaction.

The last step, `index`, runs in a transaction.
"""

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.conf import settings

from rag.errors import DocumentTooLarge
from rag.models import DataSource, Document, EmbeddingModel, Original
from rag.parsing import parse
from rag.pipeline.embed_documents import EmbeddedTexts, embed_texts, estimate_local_tokens
from rag.providers import file_storage, provider_factory
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.text import languages
from rag.text.indexed_text import digest, embedded_text
from rag.types import ChunkDraft, ChunkingOptions, ParsedDocument, Submission

from . import quota
from .chunk import chunk
from .compact_sequences import ChunkSequence, DigestSequence, find_first_of_equal

# The largest text, of 200 MB, has 250,000 chunks of the default size. Much smaller ones would fill a worker's memory.
MAX_CHUNKS = 300_000


@dataclass(frozen=True, slots=True)
class ChunkedDocument:
    """A parsed document, split into chunks and not embedded yet.

    Attributes:
        digests: A digest of the embedded text of each chunk.
        new_indexes: The indexes of the chunks that have no vector in the stored version.
        base_revision: The revision of the stored version whose vectors the other chunks keep, if there is one.
        bytes: The size that the organisation's quota counts for the document.
    """

    submission: Submission
    options: ChunkingOptions
    parsed: ParsedDocument
    title: str
    lang: str
    chunks: Sequence[ChunkDraft]
    digests: Sequence[uuid.UUID]
    new_indexes: Sequence[int]
    base_revision: uuid.UUID | None
    bytes: int


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that is ready to be written. `embedded` belongs to its new chunks (`chunked.new_indexes`)."""

    chunked: ChunkedDocument
    embedded: EmbeddedTexts


def prepare(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, on_batch: Callable[[int], None]
) -> PreparedDocument:
    """Do all slow steps for one document.

    Args:
        submission: The document as it was submitted.
        source: The data source of the document.
        options: The size and overlap of its chunks.
        on_batch: Called between batches with the number of embedded chunks; an exception from it ends the work.

    Raises:
        ParseFailed: If the file cannot be parsed.
        UnsupportedFormat: If no parser reads this format.
        DocumentTooLarge: If the document has more than MAX_CHUNKS chunks.
        IndexFull: If the document exceeds the organisation's quota.
        EmbeddingFailed: If the embedding model did not answer.
    """
    document = parse_and_chunk(submission, source=source, options=options)
    check_quota([document], source)
    (prepared,) = embed_documents([document], source, on_batch=on_batch)
    return prepared


def parse_and_chunk(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, is_new: bool = False
) -> ChunkedDocument:
    """Parse a document, split it into chunks and find the chunks that have no vector yet.

    Args:
        submission: The document as it was submitted.
        source: The data source of the document.
        options: The size and overlap of its chunks.
        is_new: Whether the path had no document a moment ago, so that no stored version is looked up.

    Raises:
        ParseFailed: If the file cannot be parsed.
        UnsupportedFormat: If no parser reads this format.
        DocumentTooLarge: If the document has more than MAX_CHUNKS chunks.
        StorageFailed: If the submitted file cannot be read.
    """
    parsed = _parse(submission, source)
    title = submission.title or parsed.title or submission.path.rstrip("/").rsplit("/", 1)[-1]
    with DOCUMENT_LIMITER.slot():
        chunks = ChunkSequence(parsed.content, itertools.islice(chunk(parsed, options), MAX_CHUNKS + 1))
    if len(chunks) > MAX_CHUNKS:
        message = f"The document has more than {MAX_CHUNKS:,} chunks. Send it in parts, or in larger chunks."
        raise DocumentTooLarge(message)
    digests = DigestSequence(digest(draft.text, draft.headings, title) for draft in chunks)
    stored = None
    if not (is_new or source._state.adding):
        stored = Document.objects.live().filter(source=source, path=submission.path).only("revision").first()
    embedded_digests = Counter[uuid.UUID]()
    if stored:
        embedded_digests = provider_factory.chunk_store().embedded_digests(stored, model=source.embedding_model)
    return ChunkedDocument(
        submission=submission,
        options=options,
        parsed=parsed,
        title=title,
        lang=submission.lang or languages.detect_language(parsed.content),
        chunks=chunks,
        digests=digests,
        new_indexes=_new_indexes(digests, embedded_digests),
        base_revision=stored.revision if stored else None,
        bytes=quota.document_size(parsed.content, submission.original_id),
    )


def _new_indexes(digests: Sequence[uuid.UUID], embedded_digests: Counter[uuid.UUID]) -> Sequence[int]:
    """Return the indexes of the chunks without a vector. Each stored vector serves one chunk with its digest."""
    if not embedded_digests:
        return range(len(digests))
    remaining = embedded_digests.copy()
    indexes = []
    for index, chunk_digest in enumerate(digests):
        if remaining[chunk_digest]:
            remaining[chunk_digest] -= 1
        else:
            indexes.append(index)
    return indexes


def check_quota(documents: Sequence[ChunkedDocument], source: DataSource) -> None:
    """Check the quota before documents are embedded. Nothing is locked, so the quota may still be exceeded later.

    Raises:
        IndexFull: If the documents exceed the quota.
    """
    sizes = {document.submission.path: (len(document.chunks), document.bytes) for document in documents}
    quota.check_quota_of_documents(source, sizes)


def estimate_tokens_to_embed(document: ChunkedDocument, model: EmbeddingModel) -> int:
    """Estimate how many tokens embedding the new chunks processes on this machine; 0 if it processes none here."""
    drafts = [document.chunks[index] for index in document.new_indexes]
    texts = {embedded_text(draft.text, draft.headings, document.title) for draft in drafts}
    with DOCUMENT_LIMITER.slot():
        return estimate_local_tokens([*texts], model=model)


def embed_documents(
    documents: Sequence[ChunkedDocument], source: DataSource, *, on_batch: Callable[[int], None]
) -> list[PreparedDocument]:
    """Embed the new chunks of all documents together, so that many small documents need as few calls as a long one.

    Equal texts are embedded once. If the source has a second model, that embeds them too. So questions in other
    languages find a document from the moment on that it is stored.

    Args:
        documents: The documents. The result has the same order.
        source: Their data source.
        on_batch: Called between batches with the number of embedded chunks; an exception from it ends the work.

    Raises:
        EmbeddingFailed: If the embedding model did not answer.
    """
    digests = (document.digests[index] for document in documents for index in document.new_indexes)
    is_first, positions = find_first_of_equal(digests)
    new_chunks = ((document, index) for document in documents for index in document.new_indexes)
    unique_chunks = itertools.compress(new_chunks, is_first)
    drafts = ((document.chunks[index], document.title) for document, index in unique_chunks)
    texts = (embedded_text(draft.text, draft.headings, title) for draft, title in drafts)
    embedded = embed_texts(
        texts,
        int(is_first.sum()),
        model=source.embedding_model,
        second_model=source.second_model if settings.RAG_MULTILINGUAL_MODEL else None,
        on_batch=on_batch,
    )
    ends = itertools.accumulate((len(document.new_indexes) for document in documents), initial=0)
    return [
        PreparedDocument(document, embedded.select(positions[start:end]))
        for document, (start, end) in zip(documents, itertools.pairwise(ends), strict=True)
    ]


def _parse(submission: Submission, source: DataSource) -> ParsedDocument:
    if submission.original_id is None:
        return parse.parse_text(submission.text, content_type=submission.content_type, path=submission.path)
    original = Original.objects.get(pk=submission.original_id)
    with file_storage.local_copy(original) as file:
        content_type, ocr = submission.content_type, source.has_ocr
        return parse.parse_file(file, content_type=content_type, name=original.name, ocr=ocr, lang=submission.lang)
