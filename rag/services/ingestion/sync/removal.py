"""Last phase of a sync: deletes documents whose items have disappeared; many only if a person confirms it."""

import contextlib
import time

from django.db import transaction

from rag.errors import UnknownDocument
from rag.models import Document, SyncItem, SyncRun
from rag.services.sources import documents

from . import runs

State = SyncRun.State
# More than this share of the documents, or all of them, are removed only if a person confirms it. A few always are.
MAX_UNASKED_SHARE = 0.2
MAX_UNASKED_DOCUMENTS = 5
_BATCH_ITEMS = 100


def needs_confirmation(*, missing: int, total: int) -> bool:
    """Return whether a person must confirm that `missing` of `total` documents are removed."""
    is_large_share = missing > MAX_UNASKED_DOCUMENTS and missing > total * MAX_UNASKED_SHARE
    return is_large_share or 0 < missing == total


def remove_missing(run: SyncRun, deadline: float) -> bool:
    """Delete what has disappeared, or let the run wait for a confirmation.

    Returns:
        Whether there is more to do now.
    """
    missing = SyncItem.objects.missing_in(run)
    if not run.is_removal_confirmed:
        stored = SyncItem.objects.filter(connection=run.connection_id, document__deleted_at=None)
        stored = stored.exclude(document=None)
        number = missing.filter(pk__in=stored.values("pk")).count()
        if needs_confirmation(missing=number, total=stored.count()):
            runs.wait_for_confirmation(run, missing=number)
            return False
        # A removal that has begun continues, even if the rest is a larger share.
        runs.update(run, missing=number, is_removal_confirmed=True)
    while batch := list(missing.order_by("pk")[:_BATCH_ITEMS]):
        for item in batch:
            _remove(run, item)
            if time.monotonic() > deadline or runs.must_leave(run):
                return True
    runs.end(run, State.FINISHED)
    return False


@transaction.atomic
def _remove(run: SyncRun, item: SyncItem) -> None:
    live = Document.objects.live().filter(path=item.path).select_related("source__organization").without_text()
    if item.document_id and (document := live.filter(pk=item.document_id).first()):
        with contextlib.suppress(UnknownDocument):
            documents.delete_document(document)
            runs.increment(run, "removed")
    SyncItem.objects.filter(pk=item.pk).delete()
