"""The search history: results that can be requested again by their id, as far as retention policies allow."""

import time
import uuid

from django.db import transaction
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory
from orgs.models import Organization
from orgs.policies.retention import retention_for
from rag.errors import UnknownQuery
from rag.models import Action, Chunk, SearchRecord
from rag.pipeline.retrieval.load_passages import read_passages
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import Hit, Passage, Question, SearchResult

from . import history_writer


def search(question: Question, selection: SourceSelection) -> SearchResult:
    """Search, and store the query and its results as far as the caller's organisations allow.

    Raises:
        UnknownSource: If a source of `selection.data_sources` is not visible to the caller.
        RagError: If the retrieval pipeline fails.
    """
    started = time.perf_counter()
    found_passages = permitted_queries.search(question, selection).passages
    time_ms = round((time.perf_counter() - started) * 1000, 1)
    results = [{"chunk": str(passage.chunk_id), "score": passage.score} for passage in found_passages]
    user = selection.caller.authenticated_user
    record = SearchRecord(user=user, text=question.text, results=results, time_ms=time_ms, created_at=timezone.now())
    with transaction.atomic():  # one transaction, so that the caller's identity is set once
        retention = retention_for(user)
        if retention.history == QueryHistory.REDACTED:
            record.text = ""
        if retention.history != QueryHistory.NONE:
            with history_writer.locked_history(user, retention) as writer:
                writer.add_search(record)
    return _search_result(record, found_passages)


def get_search(query_id: uuid.UUID, *, caller: Caller, organization: Organization | None = None) -> SearchResult:
    """Return a stored search of the caller, with the results that still exist and that the caller may read now.

    Args:
        query_id: Primary key of the SearchRecord.
        caller: The user whose search it is.
        organization: Only results of this organisation, if the request names one.

    Raises:
        UnknownQuery: If there is no such search, it belongs to another user, or history is not allowed any more.
    """
    record = SearchRecord.objects.filter(user=caller.authenticated_user, pk=query_id).first()
    history = retention_for(caller.user).history
    if record is None or history == QueryHistory.NONE:
        raise UnknownQuery
    if history == QueryHistory.REDACTED:  # the record may be older than the policy
        record.text = ""
    hits = [Hit(uuid.UUID(result["chunk"]), result["score"]) for result in record.results]
    chunks = Chunk.objects.visible_to(caller, Action.QUERY).filter(document__deleted_at=None)
    if organization:
        chunks = chunks.filter(source__organization=organization)
    readable_ids = set(chunks.filter(pk__in=[hit.chunk_id for hit in hits]).values_list("pk", flat=True))
    return _search_result(record, tuple(read_passages([hit for hit in hits if hit.chunk_id in readable_ids])))


def _search_result(record: SearchRecord, found_passages: tuple[Passage, ...]) -> SearchResult:
    return SearchResult(
        query_id=record.pk,
        text=record.text,
        passages=found_passages,
        time_ms=record.time_ms,
        created_at=record.created_at,
    )
