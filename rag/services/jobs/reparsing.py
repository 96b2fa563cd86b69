"""Documents are parsed, cut and embedded anew from what is stored: after newer parsers came, or other options."""

import uuid
from collections.abc import Iterator

from django.db.models import Exists, OuterRef, QuerySet

from orgs.access.caller import Caller
from rag.models import Action, DataSource, Document, IngestionDocument, IngestionJob
from rag.services.ingestion import inputs
from rag.types import Submission

from . import submit

_ON_THEIR_WAY = IngestionDocument.objects.filter(
    state__in=IngestionDocument.OPEN_STATES, source=OuterRef("source"), path=OuterRef("path")
)
# Documents of one job: their texts are copied into it.
_BATCH = 200


def reparse_documents(caller: Caller, documents: QuerySet[Document]) -> list[IngestionJob]:
    """Jobs of those documents that are live and that the user may send, with the present options for chunks.

    Left out are those of which another version is on its way: it is parsed anyway, and must not become history.
    Nobody misses a document meanwhile: it stays as it is until its new version is written. Raises IndexFull.
    """
    allowed = DataSource.objects.visible_to(caller, Action.INGEST).select_related("organization", "embedding_model")
    return [
        submit.submit_job(
            source=source,
            submissions=[_submission(document, source) for document in batch],
            options=inputs.default_chunking_options(),
            actor=caller.authenticated_user,
        )
        for source in allowed.filter(pk__in=documents.order_by().values("source"))
        for batch in _batches(documents.filter(source=source, deleted_at=None).exclude(Exists(_ON_THEIR_WAY)))
    ]


def _batches(documents: QuerySet[Document]) -> Iterator[list[Document]]:
    last = uuid.UUID(int=0)
    ordered = documents.defer(None).select_related("original").order_by("pk")
    while batch := list(ordered.filter(pk__gt=last)[:_BATCH]):
        yield batch
        last = batch[-1].pk


def _submission(document: Document, source: DataSource) -> Submission:
    """As it was sent, as far as that is known. What it inherits from its source it goes on inheriting."""
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
