"""The HNSW index is built when the table is large enough; searches are correct with and without it."""

import dataclasses
import time
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db import connection, transaction

from orgs.access.caller import Caller
from rag.models import Document, EmbeddingModel
from rag.providers.stores.base import VectorIndex
from rag.providers.stores.pgvector import hnsw
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion
from rag.services.maintenance.indexes import vector_index
from rag.types import ChunkDraft, Filters, Mode, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World

DIMENSIONS = 768  # other tests use the local model's


@pytest.fixture(autouse=True)
def without_index(live_world: World) -> Iterator[None]:
    hnsw.drop(DIMENSIONS)
    cache.clear()
    yield
    hnsw.drop(DIMENSIONS)
    cache.clear()


def index_state() -> VectorIndex:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_force_next_flush()")
        cursor.execute("SELECT pg_stat_clear_snapshot()")
    return next(index for index in hnsw.list_indexes() if index.dimensions == DIMENSIONS)


def write_random_chunks(world: World, count: int) -> tuple[SearchScope, np.ndarray]:
    model, _ = EmbeddingModel.objects.get_or_create(
        name="remote", provider="openai", dimensions=DIMENSIONS, base_url="http://127.0.0.1:9/v1"
    )
    source = world.source(f"load-{count}", embedding_model=model)
    document = Document.objects.create(
        source=source, path="load", title="load", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=count, revision=uuid.uuid4(), source_type="doc",
    )  # fmt: skip
    vectors = np.random.default_rng(1).standard_normal((count, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    drafts = [ChunkDraft(number, number, number + 1, "x", (), 1) for number in range(count)]
    digests = [uuid.uuid4() for _ in drafts]
    version = DocumentVersion(document, drafts, digests, range(count), vectors.astype(np.float16))
    PgVectorStore(exact_limit=0).write([version], model=model)
    return SearchScope((source.pk,), model.pk), vectors


def test_searches_are_correct_without_an_index(live_world: World) -> None:
    scope, vectors = write_random_chunks(live_world, 500)
    assert not index_state().is_built
    store = PgVectorStore(exact_limit=0)
    (candidates,) = store.search("", [ScopeQuery(scope, vectors[7])], mode=Mode.DENSE, limit=10)
    assert np.allclose(
        [chunk.cosine for chunk in candidates.chunks], np.sort(vectors @ vectors[7])[::-1][:10], atol=2e-3
    )


def test_it_is_built_when_the_table_is_large_and_few_rows_are_being_inserted(live_world: World, settings: Any) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 400
    write_random_chunks(live_world, 500)
    assert index_state().row_count >= 500
    vector_index.maintain()
    assert not index_state().is_built, "the first run cannot know how fast rows are inserted"
    cache.set(f"vector-index/{DIMENSIONS}", [index_state().inserted_count - 5000, time.time() - 10])
    vector_index.maintain()
    assert not index_state().is_built, "500 rows a second were inserted since the last run"
    cache.set(f"vector-index/{DIMENSIONS}", [index_state().inserted_count - 50, time.time() - 10])
    vector_index.maintain()
    assert index_state().is_built


def test_it_is_not_built_for_a_small_table(live_world: World) -> None:
    write_random_chunks(live_world, 50)
    cache.set(f"vector-index/{DIMENSIONS}", [index_state().inserted_count, time.time() - 10])
    vector_index.maintain()
    assert not index_state().is_built


def test_an_invalid_index_of_a_killed_build_is_replaced(live_world: World) -> None:
    write_random_chunks(live_world, 50)
    assert hnsw.build(DIMENSIONS)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        # PostgreSQL marks an index in this way if its build did not end.
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'embedding768_hnsw'::regclass")
    assert not index_state().is_built
    assert hnsw.build(DIMENSIONS)
    assert index_state().is_built


def test_only_one_process_builds_at_a_time(live_world: World) -> None:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [f"hnsw/{DIMENSIONS}"])
            assert not hnsw.build(DIMENSIONS)
    finally:
        other.close()


def test_the_command_shows_drops_and_builds(live_world: World, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("vector_index", "build", "--dimensions", str(DIMENSIONS))
    assert index_state().is_built
    call_command("vector_index", "drop", "--dimensions", str(DIMENSIONS))
    assert not index_state().is_built
    assert "not built" in capsys.readouterr().out


def scans(relation: str) -> int:
    """How often this transaction has scanned an index, or a table from its beginning to its end."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_numscans(%s::regclass)", [relation])
        return int(cursor.fetchone()[0])


def test_large_scopes_are_searched_by_the_index(live_world: World) -> None:
    """Whether the scope lists its sources or names their organisation, with filters and without."""
    listed, vectors = write_random_chunks(live_world, 500)
    hnsw.build(DIMENSIONS)
    named = dataclasses.replace(listed, source_ids=(), public_in=(live_world.home.pk,))
    filtered = dataclasses.replace(named, filters=Filters(source_types=("doc",)))
    for scope in (listed, named, filtered):
        with transaction.atomic(), identity.run_as(Caller(live_world.users["member"]).database_identity):
            before = scans("embedding768_hnsw"), scans("rag_embedding768")
            (candidates,) = PgVectorStore(exact_limit=0).search(
                "", [ScopeQuery(scope, vectors[7])], mode=Mode.DENSE, limit=10
            )
            assert len(candidates.chunks) == 10
            assert (scans("embedding768_hnsw"), scans("rag_embedding768")) == (before[0] + 1, before[1])
