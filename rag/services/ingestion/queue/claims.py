"""Chooses the documents of jobs that a worker processes next, and claims them under a lease.

The database's clock decides, because the clocks of workers and of the process that sweeps may differ.
"""

import datetime
import math
import uuid
from collections.abc import Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F

from rag.models import IngestionDocument, ModelOutage
from rag.models.ingestion.jobs import TEXT_BYTES
from rag.services.operations import workers
from ragsite.postgres.base import read_rows
from ragsite.postgres.models import uuid7

from . import leases

State = IngestionDocument.State
Stage = IngestionDocument.Stage
# Maximum bytes of text that one worker claims at once, so that other workers get a share of long documents, and other
# organisations need not wait long. A remote model embeds so much faster that a claim of that size would be finished too
# soon. A file counts as a fixed number of bytes, because its text is not known yet.
_MAX_BYTES_PER_CLAIM, _MAX_BYTES_PER_REMOTE_CLAIM = 128 * 1024, 512 * 1024
_BYTES_PER_FILE = 16 * 1024
# A worker claims two thirds of what is an even share of the waiting documents: large claims at first, small ones at the
# end, so that all workers end at nearly the same time. Embedding fewer bytes than this takes less time than a claim.
_WORKERS_PER_EVEN_SHARE, _MIN_BYTES_PER_CLAIM = 3 / 2, 2 * 1024
# More documents of a source are not counted: an even share of them is more than one claim may have.
_MAX_COUNTED_DOCUMENTS = 2_000
# Larger than the number of workers that look for work at the same moment.
_MAX_CANDIDATE_SOURCES = 64


def claim_next(limit: int, *, only_overlooked: bool = False) -> list[IngestionDocument]:
    """Claim documents that are waiting, all of one source.

    The choice is fair between organisations: first comes the organisation with the fewest running documents, and among
    equals the one that was served longest ago; within it, the source with the fewest running documents. A source whose
    embedding model is down is skipped until the pause is over; then a single document is claimed as a probe. Two
    concurrent calls never return the same document.

    Args:
        limit: The maximum number of documents to claim. Fewer are claimed if they are long.
        only_overlooked: Claim only short documents, of an organisation of which no document is being processed.

    Returns:
        The claimed documents in the order in which they were submitted; empty if nothing can be claimed now.
    """
    with transaction.atomic():
        for source in _candidate_sources():
            if only_overlooked and source.running_documents:
                return []  # all that follow have documents in progress, too
            queued = IngestionDocument.objects.filter(source=source.pk, state=State.QUEUED, due_at=None)
            queued = queued.order_by("source_id", "pk").select_for_update(skip_locked=True)
            claimable = queued.annotate(length=TEXT_BYTES).values_list("pk", "attempts", "length", "original_id")
            max_bytes = _MAX_BYTES_PER_REMOTE_CLAIM if source.is_remote else _MAX_BYTES_PER_CLAIM
            if only_overlooked:
                claimable = claimable.filter(length__lte=max_bytes)
            candidates = list(claimable[: 1 if source.has_outage else limit])
            share = _share_of_worker(source.pk) if len(candidates) > 1 else 1
            ids = _select_claim(candidates, max_bytes, share or limit)
            if ids and (not source.has_outage or _set_probe(ids[0], source.model_id, source.now)):
                break
        else:
            return []
        lease = uuid7()
        IngestionDocument.objects.filter(pk__in=ids).update(
            state=State.RUNNING,
            attempts=F("attempts") + 1,
            lease=lease,
            due_at=source.now + leases.lease_duration(),
            claimed_at=source.now,
            stage=Stage.PARSING,
            chunk_count=0,
        )
        with connection.cursor() as cursor:
            cursor.execute(_SET_SERVED, [source.organization_id, source.now])
    claimed = IngestionDocument.objects.select_related("job__source__embedding_model", "original").defer(
        "original__content"
    )
    return list(claimed.filter(pk__in=ids, lease=lease).order_by("pk"))


def _share_of_worker(source_id: uuid.UUID) -> int:
    """Return how many of the source's documents one worker should claim now; 0 if it does not matter."""
    slots = workers.count_slots(settings.CELERY_TASK_DEFAULT_QUEUE)
    if slots < 2:
        return 0
    ((waiting,),) = read_rows(_COUNT_WAITING, [source_id, _MAX_COUNTED_DOCUMENTS])
    return math.ceil(int(waiting) / (_WORKERS_PER_EVEN_SHARE * slots))


_COUNT_WAITING = """
SELECT count(*) FROM (
    SELECT FROM rag_ingestiondocument WHERE source_id = %s AND state = 'queued' AND due_at IS NULL LIMIT %s
) AS waiting
"""


def _select_claim(
    claimable: Sequence[tuple[uuid.UUID, int, int, uuid.UUID | None]], max_bytes: int, share: int
) -> list[uuid.UUID]:
    """Return the ids of the first documents that one worker should claim together.

    A document that lost its worker before is claimed alone: if it was the cause, no other document is lost with it.

    Args:
        claimable: Documents as (id, attempts, bytes of text, id of the file), in the order of the queue.
        max_bytes: The maximum length of the documents together. A single one may be longer.
        share: Their maximum number. More are claimed if they are very short.
    """
    ids: list[uuid.UUID] = []
    claimed_bytes = 0
    for document_id, attempts, length, original_id in claimable:
        length = _BYTES_PER_FILE if original_id else length
        is_enough = len(ids) >= share and claimed_bytes >= _MIN_BYTES_PER_CLAIM
        if ids and (attempts or is_enough or claimed_bytes + length > max_bytes):
            break
        claimed_bytes += length
        ids.append(document_id)
        if attempts:
            break
    return ids


class _CandidateSource(NamedTuple):
    """A source with work, its model, how many documents of its organisation are being processed, and the time now."""

    pk: uuid.UUID
    organization_id: uuid.UUID
    model_id: uuid.UUID
    is_remote: bool
    has_outage: bool
    running_documents: int
    now: datetime.datetime


def _candidate_sources() -> list[_CandidateSource]:
    """Return the sources with work, the fairest first."""
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATE_SOURCES, [_MAX_CANDIDATE_SOURCES])
        return [_CandidateSource(*row) for row in cursor.fetchall()]


# Finds the sources with queued documents by skipping through the index from one source to the next (a "loose index
# scan"): the time depends on the number of sources, not on the number of documents.
_CANDIDATE_SOURCES = """
WITH RECURSIVE work AS (
    (SELECT source_id FROM rag_ingestiondocument WHERE state = 'queued' AND due_at IS NULL
     ORDER BY source_id LIMIT 1)
    UNION ALL
    SELECT (SELECT next.source_id FROM rag_ingestiondocument AS next
            WHERE next.state = 'queued' AND next.due_at IS NULL AND next.source_id > work.source_id
            ORDER BY next.source_id LIMIT 1)
    FROM work WHERE work.source_id IS NOT NULL
), running AS (
    SELECT document.source_id, source.organization_id, count(*) AS documents
    FROM rag_ingestiondocument AS document JOIN rag_datasource AS source ON source.id = document.source_id
    WHERE document.state = 'running' GROUP BY document.source_id, source.organization_id
), organizations AS (
    SELECT organization_id, sum(documents) AS documents FROM running GROUP BY organization_id
)
SELECT source.id, source.organization_id, model.id, model.provider <> 'local', outage.model_id IS NOT NULL,
    coalesce(organizations.documents, 0)::int, clock_timestamp()
FROM work
JOIN rag_datasource AS source ON source.id = work.source_id
JOIN rag_embeddingmodel AS model ON model.id = source.embedding_model_id
LEFT JOIN rag_modeloutage AS outage ON outage.model_id = model.id
LEFT JOIN rag_ingestionfairness AS fairness ON fairness.organization_id = source.organization_id
LEFT JOIN organizations ON organizations.organization_id = source.organization_id
LEFT JOIN running ON running.source_id = source.id
WHERE outage.model_id IS NULL OR outage.until <= clock_timestamp()
ORDER BY coalesce(organizations.documents, 0), fairness.served_at NULLS FIRST, coalesce(running.documents, 0), random()
LIMIT %s
"""
_SET_SERVED = """
INSERT INTO rag_ingestionfairness (organization_id, served_at) VALUES (%s, %s)
ON CONFLICT (organization_id) DO UPDATE SET served_at = excluded.served_at
"""


def _set_probe(document_id: uuid.UUID, model_id: uuid.UUID, now: datetime.datetime) -> bool:
    """Make this document the one that tests whether the model answers again; others wait until its lease expires.

    Returns:
        False if another worker was first.
    """
    due_outages = ModelOutage.objects.filter(model_id=model_id, until__lte=now)
    return bool(due_outages.update(until=leases.lease_expiry(), probe=document_id))
