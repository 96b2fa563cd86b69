"""Parsing stored documents again: after an update of the parsers, or with other chunking options."""

import uuid
from collections.abc import Iterator

from django.db.models import Exists, OuterRef, QuerySet

from orgs.access.caller import Caller
from rag.models import Action, DataSource, Document, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions
from rag.types import Submission

from .create_job import create_job

# Maximum number of documents of one job, into which their texts are copied.
_MAX_DOCUMENTS_PER_JOB = 200


def reparse_documents(caller: Caller, documents: QuerySet[Document]) -> list[IngestionJob]:
    """Submit jobs that parse, chunk and embed the documents again, with the current default chunking options.

    Each document stays searchable in its stored version until the new one is written. A document is skipped if a newer
    version of it is in the queue: that one is parsed anyway, and the stored one must not replace it.

    Args:
        caller: The caller. Documents of sources that they may not send documents to are skipped.
        documents: The documents. Deleted ones are skipped.

    Returns:
        The jobs. All documents of a job belong to one source.

    Raises:
        IndexFull: If an organisation's quota is used up.
    """
    sources = DataSource.objects.visible_to(caller, Action.INGEST).select_related("organization", "embedding_model")
    newer_versions = IngestionDocument.objects.filter(
        state__in=IngestionDocument.OPEN_STATES, source=OuterRef("source"), path=OuterRef("path")
    )
    return [
        create_job(
            source=source,
            submissions=[_build_submission(document, source) for document in batch],
            options=build_submissions.default_chunking_options(),
            actor=caller.authenticated_user,
        )
        for source in sources.filter(pk__in=documents.order_by().values("source"))
        for batch in _batches(documents.filter(source=source, deleted_at=None).exclude(Exists(newer_versions)))
    ]


def _batches(documents: QuerySet[Document]) -> Iterator[list[Document]]:
    last_id = uuid.UUID(int=0)
    ordered = documents.defer(None).select_related("original").defer("original__content").order_by("pk")
    while batch := list(ordered.filter(pk__gt=last_id)[:_MAX_DOCUMENTS_PER_JOB]):
        yield batch
        last_id = batch[-1].pk


def _build_submission(document: Document, source: DataSource) -> Submission:
    """Build a submission of the stored document, with its original file if that is stored, otherwise with its text.

    The type is left empty if it is that of the source: the document keeps inheriting it.
    """
    original = document.original
    return Submission(
        path=document.path,
        title=document.title,
        text="" if original else document.text,
        content_type=original.content_type if original else document.content_type,
        uri=document.uri,
        lang=document.lang,
        source_type="" if document.source_type == source.source_type else document.source_type,
        tags=tuple(document.tags),
        date=document.date,
        metadata=document.metadata,
        content_hash=document.content_hash,
        original_id=original.pk if original else None,
        force_reparse=True,
    )
