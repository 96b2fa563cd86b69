"""Terms for chunks that have none: those of a database that was filled before there were any."""

import time
import uuid

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from rag.models import Chunk, ChunkTerms, DataSource, Document
from rag.providers.stores.pgvector import terms
from rag.text.embedded_text import embedded_text
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)

# Chunks of one transaction, for which writers of their source wait.
_BATCH = 500
# That nothing is missing is remembered for ten minutes: writers give every chunk its terms, but those of an older
# version, which run on while this one is rolled out, do not.
_COMPLETE, _REMEMBERED = "terms/complete", 600


def tend() -> None:
    """Beat calls it at the pace of the sweep. Cheap unless something is missing."""
    if cache.get(_COMPLETE):
        return
    end = time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS
    with session_lock("terms") as is_mine:
        if not is_mine:
            return
        is_complete = True
        for source in DataSource.objects.filter(deleted_at=None).order_by("pk"):
            after = uuid.UUID(int=0)
            while batch := list(_without_terms(source, after)[:_BATCH]):
                is_complete = False
                if time.monotonic() > end:
                    return
                _add(source, {document_id for _, document_id in batch})
                after = batch[-1][0]
        if is_complete:
            cache.set(_COMPLETE, True, _REMEMBERED)


def _without_terms(source: DataSource, after: uuid.UUID) -> QuerySet:
    """Such chunks and their documents, by key. Of a deleted one nothing is searched."""
    chunks = Chunk.objects.filter(~Exists(ChunkTerms.objects.filter(chunk=OuterRef("pk"))), pk__gt=after)
    return chunks.filter(source=source, document__deleted_at=None).order_by("pk").values_list("pk", "document_id")


@transaction.atomic
def _add(source: DataSource, document_ids: set[object]) -> None:
    """Documents that somebody is writing right now are left to the next call."""
    documents = Document.objects.live().filter(source=source, pk__in=document_ids).order_by("pk")
    free = list(documents.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
    terms.follow(free, text_of=embedded_text, most=_BATCH)
    logger.info("terms_added", source=str(source.pk), documents=len(free))
