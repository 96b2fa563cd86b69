"""Terms for chunks that have none: those of a database that was filled before there were any."""

import time

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from rag.models import Chunk, ChunkTerms, DataSource, Document
from rag.pipeline.embed import embedded_text
from rag.providers.stores import terms
from ragsite.db import hold_turn

logger = structlog.get_logger(__name__)

# Chunks of one transaction, for which writers of their source wait.
_BATCH = 500
# That nothing is missing is remembered for a day: writers give every chunk its terms, so this looks after mistakes.
_COMPLETE, _REMEMBERED = "terms/complete", 24 * 3600


def tend() -> None:
    """Beat calls it at the pace of the sweep. Cheap unless something is missing."""
    if cache.get(_COMPLETE):
        return
    end = time.monotonic() + settings.RAG_SWEEP_SECONDS
    with hold_turn("terms") as is_mine:
        if not is_mine:
            return
        is_complete = True
        for source in DataSource.objects.filter(deleted_at=None).order_by("pk"):
            while batch := list(_without_terms(source)[:_BATCH]):
                is_complete = False
                if time.monotonic() > end or not _add(source, set(batch)):
                    break
        if is_complete:
            cache.set(_COMPLETE, True, _REMEMBERED)


def _without_terms(source: DataSource) -> QuerySet:
    """The documents of such chunks. Of a deleted one nothing is searched."""
    chunks = Chunk.objects.filter(~Exists(ChunkTerms.objects.filter(chunk=OuterRef("pk"))))
    return chunks.filter(source=source, document__deleted_at=None).order_by("pk").values_list("document_id", flat=True)


@transaction.atomic
def _add(source: DataSource, document_ids: set[object]) -> bool:
    """False if somebody is writing all of these documents right now: they are left to the next call."""
    documents = Document.objects.live().filter(source=source, pk__in=document_ids).order_by("pk")
    free = list(documents.select_for_update(no_key=True, skip_locked=True).values_list("pk", flat=True))
    terms.follow(free, text_of=embedded_text, most=_BATCH)
    logger.info("terms_added", source=str(source.pk), documents=len(free))
    return bool(free)
