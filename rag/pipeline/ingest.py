"""A document's way in: parse → chunk → embed, without a transaction; then `index`, in a short one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from rag import storage
from rag.models import DataSource, Original
from rag.parsing import registry as parsers
from rag.providers.base import Vectors
from rag.types import ChunkDraft, ChunkingOptions, Parsed, Submission

from .chunk import chunk
from .embed import embed_chunks


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document ready to be written. vectors: float32 (len(chunks), dimensions of the source's model)."""

    submission: Submission
    options: ChunkingOptions
    chunks: list[ChunkDraft]
    vectors: Vectors


def prepare(
    submission: Submission, *, source: DataSource, options: ChunkingOptions, on_batch: Callable[[int], None]
) -> Prepared:
    """The slow part. Raises ParseFailed, UnsupportedFormat, StorageFailed, EmbeddingFailed, and as `on_batch` does."""
    parsed = _parsed(submission)
    submission = replace(submission, text=parsed.text)
    chunks = list(chunk(parsed, options))
    vectors = embed_chunks(chunks, title=submission.title, model=source.embedding_model, on_batch=on_batch)
    return Prepared(submission, options, chunks, vectors)


def _parsed(submission: Submission) -> Parsed:
    if submission.original_id is None:
        return parsers.parse(submission.text, content_type=submission.content_type, path=submission.path)
    original = Original.objects.get(pk=submission.original_id)
    with storage.local_copy(original) as file:
        return parsers.read(file, content_type=submission.content_type, name=original.name)
