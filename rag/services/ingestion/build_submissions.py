"""The input of the ingestion pipeline for a job document: its submission and its chunking options."""

from django.conf import settings

from rag.models import IngestionDocument
from rag.types import ChunkingOptions, Submission


def default_chunking_options() -> ChunkingOptions:
    """Return the chunk size and overlap of the settings, in tokens. The overlap is at most half of the size."""
    size = settings.RAG_CHUNK_TOKENS
    return ChunkingOptions(size=size, overlap=min(settings.RAG_CHUNK_OVERLAP_TOKENS, size // 2))


def chunking_options_of(document: IngestionDocument) -> ChunkingOptions:
    """Return the chunking options of the document's job."""
    return ChunkingOptions(document.job.chunk_size, document.job.chunk_overlap)


def submission_of(document: IngestionDocument) -> Submission:
    """Return the document as the client sent it."""
    return Submission(
        path=document.path,
        title=document.title,
        text=document.text,
        content_type=document.content_type,
        uri=document.uri,
        lang=document.lang,
        source_type=document.source_type,
        tags=tuple(document.tags),
        date=document.date,
        metadata=document.metadata,
        content_hash=document.content_hash,
        original_id=document.original_id,
        force_reparse=document.job.force_reparse,
    )
