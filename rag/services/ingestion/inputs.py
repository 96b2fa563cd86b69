"""What the ingestion pipeline gets for a document: the submission and the chunking options."""

from django.conf import settings

from rag.models import IngestionDocument
from rag.types import ChunkingOptions, Submission


def default_chunking_options() -> ChunkingOptions:
    """Return the chunk size and overlap of the settings, in tokens. The overlap is at most half of the size."""
    size = settings.RAG_CHUNK_TOKENS
    return ChunkingOptions(size=size, overlap=min(settings.RAG_CHUNK_OVERLAP_TOKENS, size // 2))


def chunking_options_of(row: IngestionDocument) -> ChunkingOptions:
    """Return the chunking options of the document's job."""
    return ChunkingOptions(row.job.chunk_size, row.job.chunk_overlap)


def submission_of(row: IngestionDocument) -> Submission:
    """Return the document as the client sent it."""
    return Submission(
        path=row.path,
        title=row.title,
        text=row.text,
        content_type=row.content_type,
        uri=row.uri,
        lang=row.lang,
        source_type=row.source_type,
        tags=tuple(row.tags),
        date=row.date,
        metadata=row.metadata,
        content_hash=row.content_hash,
        original_id=row.original_id,
        force_reparse=row.job.force_reparse,
    )
