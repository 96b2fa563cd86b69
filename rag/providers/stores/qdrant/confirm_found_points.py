"""What PostgreSQL says about the points that a search in Qdrant has found."""

import contextlib
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.db import connection
from pgvector import HalfVector

from rag.models import Chunk
from rag.providers.base import Vectors
from rag.providers.stores.pgvector.bm25_query import LexicalQuery
from rag.providers.stores.pgvector.search_arguments import FILTERS, SCOPE, filter_values, scope_values
from rag.types import SearchScope
from ragsite.postgres.replicas import routing as replicas

from . import collection
from .client import QdrantClient

_SCORE = (
    "SELECT chunk_id, distance, word_distance, matched_terms "
    f"FROM rag_score_chunks({SCOPE}, {FILTERS}, %s, %s, %s::sparsevec, %s::int[], %s::uuid[])"
)
# How many chunks are compared, at most, that replace those of outdated points. It bounds the time of a search.
_MAX_REPLACEMENTS = 5_000

# (chunk id, distance by vector, distance by words, terms), as `rag_score_chunks` returns them.
Scores = dict[uuid.UUID, tuple[float | None, float | None, list[int] | None]]


@dataclass(frozen=True, slots=True)
class Confirmed:
    """What PostgreSQL says about the points that a search has found.

    Attributes:
        scores: The scores of the chunks that exist and that the caller may query now, with those of `replacements`.
        replacements: The chunks of documents of which outdated points were found. They may have no points yet.
        has_copied: Whether outdated points have disappeared meanwhile. What replaces them is found by another search.
    """

    scores: Scores
    replacements: tuple[uuid.UUID, ...] = ()
    has_copied: bool = False


def confirm(
    client: QdrantClient,
    scope: SearchScope,
    vector: Vectors | None,
    query: LexicalQuery,
    ids: Collection[uuid.UUID],
) -> Confirmed:
    """Compare the points with what PostgreSQL has now.

    Qdrant may already have points of chunks that a read replica does not have yet. So the primary is asked about each
    chunk that the replica does not confirm.
    """
    scores = score_chunks(scope, vector, query, list(ids))
    if not (missing := [pk for pk in ids if pk not in scores]):
        return Confirmed(scores)
    with replicas.on_primary():
        if replicas.is_on_replica():
            scores |= score_chunks(scope, vector, query, missing)
            missing = [pk for pk in missing if pk not in scores]
        documents = _documents_of(client, scope, missing)
        current = Chunk.objects.filter(document__in=set(documents.values()), document__deleted_at=None)
        replacements = list(current.values_list("pk", flat=True)[:_MAX_REPLACEMENTS])
        scores |= score_chunks(scope, vector, query, replacements) if replacements else {}
    return Confirmed(scores, tuple(replacements), has_copied=len(documents) < len(missing))


def _documents_of(
    client: QdrantClient, scope: SearchScope, chunk_ids: Sequence[uuid.UUID]
) -> dict[uuid.UUID, uuid.UUID | None]:
    """Return the documents of the points that still exist; None for one that names no document."""
    if not chunk_ids:
        return {}
    of_chunks = [{"has_id": [str(pk) for pk in chunk_ids]}]
    page, _ = client.scroll(
        collection.name(scope.model_id), conditions=of_chunks, field="document", limit=len(chunk_ids), offset=None
    )
    documents: dict[uuid.UUID, uuid.UUID | None] = dict.fromkeys(page)
    for chunk_id, document_id in page.items():
        with contextlib.suppress(ValueError):
            documents[chunk_id] = uuid.UUID(document_id)
    return documents


def score_chunks(
    scope: SearchScope, vector: Vectors | None, query: LexicalQuery, chunk_ids: Sequence[uuid.UUID]
) -> Scores:
    """Return the scores of the chunks that the database server which is read has, and that the caller may query."""
    values: list[int | str | list[int] | list[float] | list[uuid.UUID] | None] = [
        len(vector) if vector is not None else 0,
        HalfVector(vector).to_text() if vector is not None else None,
        query.vector,
        list(query.weights),
        list(chunk_ids),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_SCORE, [*scope_values(scope), *filter_values(scope), *values])
        return {chunk_id: tuple(scores) for chunk_id, *scores in cursor.fetchall()}
