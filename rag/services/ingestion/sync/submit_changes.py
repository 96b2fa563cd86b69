"""Second phase of a sync: fetches what may have changed, and submits new and changed items as jobs.

So quotas and fair scheduling apply to them.
"""

import contextlib
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from functools import partial

from django.db import transaction
from django.db.models import Exists, OuterRef

from rag.errors import UnsupportedFormat
from rag.models import IngestionDocument, IngestionJob, SyncItem, SyncRun
from rag.providers import provider_factory
from rag.providers.connectors.base import Connector, ItemFailed, ItemGone
from rag.services.ingestion import build_submissions
from rag.services.jobs.submit_documents import Upload, rewind, submit_documents
from rag.types import Submission

from . import ingestion_outcomes, renaming, runs
from .fetching import FetchedItem, fetch

_MAX_BATCH_ITEMS = 50
_MAX_BATCH_BYTES = 64 * 1024 * 1024
# How many submitted documents of a connection may wait for a worker. More would only fill the storage.
_MAX_WAITING = 500
# The location is down if this many items in a row could not be read.
_MAX_FAILURES_IN_A_ROW = 5
# Of job documents that are ingested already, or will be.
_ACCEPTED_STATES = (*IngestionDocument.OPEN_STATES, IngestionDocument.State.DONE)
_failures_in_a_row: Counter[uuid.UUID] = Counter()


class LocationIsDown(Exception):
    """Several items in a row could not be read. The text says why."""


def submit_changes(run: SyncRun, deadline: float) -> bool:
    """Submit what has changed, and wait for the outcomes.

    Returns:
        Whether there is more to do now; False while the submitted documents are ingested.

    Raises:
        LocationIsDown: If several items in a row cannot be read.
        RagError: If the organisation's quota is used up, or the storage does not answer.
    """
    connector = provider_factory.connector(run.connection)
    unlinked = _unlinked_documents(run)
    while time.monotonic() < deadline and not runs.must_leave(run):
        ingestion_outcomes.store(run)
        waiting = SyncItem.objects.submitted_for(run.connection).count()
        if waiting >= _MAX_WAITING:
            return False
        items = SyncItem.objects.to_submit_in(run).select_related("document").order_by("pk")
        if batch := list(items.defer("document__text", "document__line_boxes")[:_MAX_BATCH_ITEMS]):
            _fetch_and_submit(run, connector, batch, unlinked, deadline)
        elif waiting:
            return False
        else:
            runs.update(run, phase=SyncRun.Phase.REMOVING)
            _failures_in_a_row.pop(run.pk, None)
            return True
    return True


def _unlinked_documents(run: SyncRun) -> dict[tuple[str, str], uuid.UUID]:
    """Return path and hash → job document, of documents that were submitted during this run and belong to no item.

    They exist if a worker was killed after it had submitted a job, and before it had linked the documents to items.
    """
    jobs = IngestionJob.objects.filter(source=run.connection.source_id, pk__gt=run.pk)
    linked = SyncItem.objects.filter(connection=run.connection_id, submitted=OuterRef("pk"))
    documents = IngestionDocument.objects.filter(job__in=jobs, state__in=_ACCEPTED_STATES)
    documents = documents.filter(job__created_by=run.connection.acts_for).exclude(Exists(linked)).order_by("-pk")
    rows = documents.values_list("path", "content_hash", "pk")[: 10 * _MAX_BATCH_ITEMS]
    return {(path, content_hash): pk for path, content_hash, pk in rows}


def _fetch_and_submit(
    run: SyncRun,
    connector: Connector,
    items: list[SyncItem],
    unlinked: Mapping[tuple[str, str], uuid.UUID],
    deadline: float,
) -> None:
    """Fetch items until there are enough bytes or the deadline has passed, and submit those that have changed."""
    with contextlib.ExitStack() as files:
        changed: list[FetchedItem] = []
        for item in items:
            fetched = _fetch(run, connector, item)
            if fetched is not None:
                files.callback(fetched.file.close)
                if _has_current_document(item, fetched.sha256):
                    _finish(run, item, fetched.state)
                elif document := unlinked.get((item.path, fetched.sha256)):
                    _link(run, {document: fetched})
                elif not renaming.take_over_document(run, fetched):
                    changed.append(fetched)
            is_full = sum(other.size for other in changed) >= _MAX_BATCH_BYTES
            if is_full or time.monotonic() > deadline or runs.must_leave(run):
                break
        if changed:
            _submit(run, changed)


def _fetch(run: SyncRun, connector: Connector, item: SyncItem) -> FetchedItem | None:
    """Return the item's content; None if there is none to be submitted. The outcome is then stored.

    Raises:
        LocationIsDown: If several items in a row could not be read.
    """
    is_current = _has_current_document(item, item.content_hash) and not item.error_code
    try:
        fetched = fetch(connector, item, validators=item.validators if is_current else {})
    except ItemGone:
        SyncItem.objects.filter(pk=item.pk).update(seen_in=None, handled_in=run.pk)
        return None
    except ItemFailed as error:
        _failures_in_a_row[run.pk] += error.is_location_down
        runs.record_failure(run, item, error.code, str(error))
        if _failures_in_a_row[run.pk] >= _MAX_FAILURES_IN_A_ROW:
            del _failures_in_a_row[run.pk]
            raise LocationIsDown(str(error)) from error
        return None
    _failures_in_a_row.pop(run.pk, None)
    if fetched is None:
        _finish(run, item, {"version": item.listed_version})
    return fetched


def _has_current_document(item: SyncItem, content_hash: str) -> bool:
    document = item.document
    return bool(
        document and document.deleted_at is None and (document.path, document.content_hash) == (item.path, content_hash)
    )


def _finish(run: SyncRun, item: SyncItem, state: Mapping[str, object]) -> None:
    """Store that the item's document has its content already."""
    values = {**state, "error_code": "", "error_message": "", "handled_in": run.pk}
    SyncItem.objects.filter(pk=item.pk).update(**values)


def _submit(run: SyncRun, changed: list[FetchedItem]) -> None:
    source, actor = run.connection.source, run.connection.acts_for
    assert actor is not None, "the worker has checked it"
    documents = [
        Upload(
            Submission(
                path=fetched.item.path,
                title="",
                text="",
                uri=fetched.uri,
                content_type=fetched.content_type,
                content_hash=fetched.sha256,
            ),
            partial(rewind, fetched.file),
            fetched.name,
        )
        for fetched in changed
    ]
    options = build_submissions.default_chunking_options()
    try:
        job = submit_documents(source=source, documents=documents, options=options, actor=actor)
    except UnsupportedFormat as error:  # of a job with one document
        runs.record_failure(run, changed[0].item, error.code, error.message)
        return
    ids = job.documents.order_by("index").values_list("pk", flat=True)
    _link(run, dict(zip(ids, changed, strict=True)))


@transaction.atomic
def _link(run: SyncRun, submitted: Mapping[uuid.UUID, FetchedItem]) -> None:
    """Note which job documents the items became."""
    for document_id, fetched in submitted.items():
        SyncItem.objects.filter(pk=fetched.item.pk).update(
            submitted=document_id, submitted_state=fetched.state, handled_in=run.pk, error_code="", error_message=""
        )
