"""Questions about something that hardly any chunk is about: the index of vectors does not lead to the nearest ones."""

import uuid

import numpy as np
import pytest
from django.db import connection, transaction
from numpy.typing import NDArray

from orgs.access.caller import Caller
from rag.models import DataSource, Document
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion
from rag.types import ChunkDraft, Mode, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World

# More than the index is read (max_read), and than it compares when a vector is added (ef_construction).
LARGE, SMALL = 2_300, 200


# A few chunks of both groups, without the nearest one: a sample that only leads to it.
SAMPLE = """
CREATE OR REPLACE FUNCTION rag_sampled_rows(dimensions integer, size integer) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT 'rag_embedding384 AS vector WHERE chunk_id IN (SELECT id FROM rag_chunk WHERE position % 60 = 0)'
$$
"""


def groups_of_vectors(small: int = SMALL) -> NDArray[np.float32]:
    """A large group, a small one that is farther from the question, and beside it the nearest vector, at the end."""
    groups = np.zeros((LARGE + small + 1, 384), np.float32)
    groups[:, 3:] = np.random.default_rng(1).standard_normal((len(groups), 381)) * 0.01
    groups[:LARGE, :2] += (0.30, 0.95)
    groups[LARGE:, 2] += 0.94
    groups[-1, 0] += 0.35
    groups /= np.linalg.norm(groups, axis=1, keepdims=True)
    return groups


def write(source: DataSource, vectors: NDArray[np.float32]) -> None:
    document = Document.objects.create(
        source=source, path="groups", title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(vectors), revision=uuid.uuid4(), source_type="doc",
    )  # fmt: skip
    drafts = [ChunkDraft(place, place, place + 1, "x", (), 1) for place in range(len(vectors))]
    digests = [uuid.uuid4() for _ in drafts]
    version = DocumentVersion(document, drafts, digests, range(len(vectors)), vectors.astype(np.float16), is_new=True)
    PgVectorStore(exact_limit=0).write([version], model=source.embedding_model)


def build_index() -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with unchecked rows gets no index
        cursor.execute(
            "CREATE INDEX test_hnsw ON rag_embedding384 USING hnsw (embedding halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 128)"
        )
        cursor.execute("ANALYZE rag_embedding384")
        cursor.execute(SAMPLE)


# From a sample; or, in a smaller table, by comparing all vectors.
@pytest.mark.parametrize("exact_limit", [0, 1_000])
def test_its_nearest_chunk_is_found_unless_the_caller_may_not_read_it(world: World, exact_limit: int) -> None:
    question = np.eye(1, 384, dtype=np.float32)[0]
    source, foreign = world.source("groups"), world.source("foreign", organization=world.abroad, visibility="private")
    write(source, groups_of_vectors())
    write(foreign, question[np.newaxis])
    build_index()
    scope = SearchScope((source.pk, foreign.pk), source.embedding_model_id)
    with transaction.atomic(), identity.run_as(Caller(world.users["member"]).database_identity):
        (candidates,) = PgVectorStore(exact_limit=exact_limit).search(
            "", [ScopeQuery(scope, question)], mode=Mode.DENSE, limit=10
        )
    cosines = [round(chunk.cosine, 2) for chunk in candidates.chunks]
    assert len({chunk.chunk_id for chunk in candidates.chunks}) == 10
    assert 0.4 > cosines[0] > 0.32 > cosines[1]


def test_a_small_part_of_a_smaller_table_is_found_too(world: World) -> None:
    """None of the nearest vectors of the table is in the scope."""
    question = np.eye(1, 384, dtype=np.float32)[0]
    source, other = world.source("small"), world.source("large")
    vectors = groups_of_vectors(300)
    write(other, vectors[:LARGE])
    write(source, vectors[LARGE:])
    build_index()
    scope = SearchScope((source.pk,), source.embedding_model_id)
    with transaction.atomic(), identity.run_as(Caller(world.users["member"]).database_identity):
        (candidates,) = PgVectorStore(exact_limit=270).search(
            "", [ScopeQuery(scope, question)], mode=Mode.DENSE, limit=10
        )
    assert len({chunk.chunk_id for chunk in candidates.chunks}) == 10
    assert candidates.chunks[0].cosine > 0.32
