"""Compares what two stores find, for sampled chunks."""

import uuid
from collections.abc import Iterator

import numpy as np
from django.db import connection

from rag.models import EmbeddingModel
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.providers.stores.base import ChunkStore
from rag.providers.stores.search_types import ScopeQuery
from rag.types import Mode, SearchScope

_NEIGHBOURS = 10


def measure_recall(exact: ChunkStore, tested: ChunkStore, sample: int) -> float:
    """Return the share of the chunks found by the first store that the second one finds too; 1 without chunks."""
    shares = []
    for model in EmbeddingModel.objects.order_by("pk"):
        for query in _sampled_queries(model, sample):
            exact_ids, tested_ids = _nearest(exact, query), _nearest(tested, query)
            shares.append(len(exact_ids & tested_ids) / len(exact_ids) if exact_ids else 1.0)
    return sum(shares) / len(shares) if shares else 1.0


def _sampled_queries(model: EmbeddingModel, sample: int) -> Iterator[ScopeQuery]:
    table = connection.ops.quote_name(EMBEDDING_TABLES[model.dimensions]._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT source_id, embedding::real[] FROM {table} WHERE model_id = %s ORDER BY random() LIMIT %s",
            [model.pk, sample],
        )
        rows = cursor.fetchall()
    for source_id, vector in rows:
        yield ScopeQuery(SearchScope((source_id,), model.pk), np.array(vector, np.float32))


def _nearest(store: ChunkStore, query: ScopeQuery) -> set[uuid.UUID]:
    (candidates,) = store.search("", [query], mode=Mode.DENSE, limit=_NEIGHBOURS)
    return set(candidates.dense_ids)
