"""Searches that can be asked for again by their id, as far as the asker's organisations let them be kept."""

import time
import uuid

from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory
from orgs.models import Organization
from orgs.policies.retention import retention_for
from rag.errors import UnknownQuery
from rag.models import Action, Chunk, SearchRecord
from rag.pipeline.retrieval.passages import passages
from rag.types import Hit, Passage, Question, SearchResult

from . import queries


def search(question: Question, reader: queries.SourceSelection) -> SearchResult:
    """Search, and keep what was asked and which chunks were found, or less of it. Raises what the pipeline raises."""
    started = time.perf_counter()
    found = queries.search(question, reader).passages
    elapsed = round((time.perf_counter() - started) * 1000, 1)
    kept = [{"chunk": str(passage.chunk_id), "score": passage.score} for passage in found]
    record = SearchRecord(user=reader.caller.authenticated_user, text=question.text, results=kept, time_ms=elapsed)
    record.created_at = timezone.now()
    history = retention_for(reader.caller.user).history
    if history == QueryHistory.REDACTED:
        record.text = ""
    if history != QueryHistory.NONE:
        record.save(force_insert=True)
    return _searched(record, found)


def get_search(query_id: uuid.UUID, *, caller: Caller, organization: Organization | None = None) -> SearchResult:
    """The user's own search, with those of its results that they may read now and that are still what was found.

    Raises UnknownQuery, for another user's search too.
    """
    record = SearchRecord.objects.filter(user=caller.authenticated_user, pk=query_id).first()
    history = retention_for(caller.user).history
    if record is None or history == QueryHistory.NONE:
        raise UnknownQuery
    if history == QueryHistory.REDACTED:  # what was kept before it was
        record.text = ""
    hits = [Hit(uuid.UUID(each["chunk"]), each["score"]) for each in record.results]
    chunks = Chunk.objects.visible_to(caller, Action.QUERY).filter(document__deleted_at=None)
    if organization:
        chunks = chunks.filter(source__organization=organization)
    readable = set(chunks.filter(pk__in=[hit.chunk_id for hit in hits]).values_list("pk", flat=True))
    return _searched(record, tuple(passages([hit for hit in hits if hit.chunk_id in readable])))


def _searched(record: SearchRecord, found: tuple[Passage, ...]) -> SearchResult:
    return SearchResult(
        query_id=record.pk, text=record.text, passages=found, time_ms=record.time_ms, created_at=record.created_at
    )
