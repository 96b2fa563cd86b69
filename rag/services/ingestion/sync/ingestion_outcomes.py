"""Stores with the items of a sync what became of their submitted documents: ingested, failed or cancelled."""

from django.db import transaction
from django.db.models import Exists, OuterRef

from rag.models import IngestionDocument, SyncItem, SyncRun

from . import runs

State = IngestionDocument.State
_MAX_ITEMS = 500
_CANCELLED = "Its job was cancelled."


def store(run: SyncRun) -> None:
    """Store the outcomes of all submitted documents that have ended."""
    is_open = IngestionDocument.objects.filter(pk=OuterRef("submitted"), state__in=IngestionDocument.OPEN_STATES)
    ended = SyncItem.objects.submitted_for(run.connection).exclude(Exists(is_open)).order_by("pk")
    while items := list(ended[:_MAX_ITEMS]):
        documents = IngestionDocument.objects.defer("text", "metadata").in_bulk([item.submitted for item in items])
        for item in items:
            _store_one(run, item, documents.get(item.submitted) if item.submitted else None)


@transaction.atomic
def _store_one(run: SyncRun, item: SyncItem, document: IngestionDocument | None) -> None:
    if document is None or document.state == State.CANCELLED:
        runs.record_failure(run, item, "CANCELLED", _CANCELLED)
    elif document.state == State.FAILED:
        runs.record_failure(run, item, document.error_code, document.error_message)
    else:
        SyncItem.objects.filter(pk=item.pk).update(
            **item.submitted_state, document=document.document_id, submitted=None, submitted_state={}
        )
        if item.document_id is None:
            runs.increment(run, "added")
        elif document.outcome != IngestionDocument.Outcome.UNCHANGED:
            runs.increment(run, "changed")
