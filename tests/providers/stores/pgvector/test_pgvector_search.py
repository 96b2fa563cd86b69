"""Vector search in PostgreSQL: complete and correct results for every scope, exact and approximate."""

import uuid

import numpy as np
import pytest

from rag.models import Chunk, Document
from rag.providers.base import Vectors
from rag.providers.stores.pgvector import search as pgvector_search
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion
from rag.types import ChunkDraft, Filters, Hit, Mode, SearchScope
from tests.support.factories import World

CHUNKS = 3000


@pytest.fixture
def vectors() -> Vectors:
    """Clustered, as texts are: 30 topics."""
    random = np.random.default_rng(7)
    topics = random.standard_normal((30, 384))
    points = topics[random.integers(0, 30, CHUNKS)] + 0.6 * random.standard_normal((CHUNKS, 384))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), np.float32)


def add_source(world: World, slug: str, vectors: Vectors, **fields: object) -> tuple[uuid.UUID, list[uuid.UUID]]:
    source = world.source(slug)
    document = Document.objects.create(
        source=source, path=slug, title=slug, text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(vectors), revision=uuid.uuid4(), source_type="doc", **fields,
    )  # fmt: skip
    drafts = [ChunkDraft(position, position, position + 1, "x", (), 1) for position in range(len(vectors))]
    digests = [uuid.uuid4() for _ in drafts]
    version = DocumentVersion(document, drafts, digests, range(len(drafts)), vectors.astype(np.float16))
    PgVectorStore(exact_limit=0).write([version], model=source.embedding_model)
    ids = Chunk.objects.filter(document=document).order_by("position").values_list("pk", flat=True)
    return source.pk, list(ids)


def search(store: PgVectorStore, vector: Vectors, scope: SearchScope, limit: int) -> list[Hit]:
    (candidates,) = store.search("", [ScopeQuery(scope, vector)], mode=Mode.DENSE, limit=limit)
    assert candidates.lexical_ids == ()
    assert candidates.dense_ids == tuple(chunk.chunk_id for chunk in candidates.chunks)
    return [Hit(chunk.chunk_id, chunk.cosine) for chunk in candidates.chunks]


@pytest.mark.parametrize("exact_limit", [20_000, 0], ids=["exact", "approximate"])
def test_a_small_scope_gets_a_complete_and_correct_result(world: World, vectors: Vectors, exact_limit: int) -> None:
    """Also with the index, although the nearest neighbours all lie outside the scope."""
    small = 3
    small_source, small_ids = add_source(world, "small", vectors[:small])
    large_source, large_ids = add_source(world, "large", vectors[small:])
    model_id = world.home.sources.get(slug="small").embedding_model_id
    store = PgVectorStore(exact_limit=exact_limit)
    question = vectors[100]
    for scope_ids, chunk_ids, scope_vectors, k in (
        ((small_source,), small_ids, vectors[:small], small),
        ((small_source, large_source), small_ids + large_ids, vectors, 20),
    ):
        scope = SearchScope(source_ids=scope_ids, model_id=model_id)
        hits = search(store, question, scope, k)
        similarity = scope_vectors.astype(np.float16).astype(np.float32) @ question
        best = np.argsort(-similarity)[:k]
        assert len(hits) == k
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        assert np.allclose([hit.score for hit in hits], similarity[best], atol=2e-3)
        correct = len({hit.chunk_id for hit in hits} & {chunk_ids[index] for index in best})
        assert correct >= (k if exact_limit else 0.9 * k)


def test_a_limit_above_the_number_of_chunks(world: World, vectors: Vectors) -> None:
    source_id, ids = add_source(world, "library", vectors[:5])
    model_id = world.home.sources.get().embedding_model_id
    for exact_limit in (0, 100):
        store = PgVectorStore(exact_limit=exact_limit)
        assert {hit.chunk_id for hit in search(store, vectors[0], SearchScope((source_id,), model_id), 50)} == set(ids)
        assert search(store, vectors[0], SearchScope((), model_id), 50) == []
        assert search(store, vectors[0], SearchScope((source_id,), uuid.uuid4()), 50) == []


@pytest.mark.parametrize("max_tagged", [0, 2_000])
def test_filters_restrict_exact_and_approximate_search(
    world: World, vectors: Vectors, monkeypatch: pytest.MonkeyPatch, max_tagged: int
) -> None:
    monkeypatch.setattr(pgvector_search, "_MAX_MATCHING_DOCUMENTS", max_tagged)
    english, _ = add_source(world, "en", vectors[:50], lang="en", tags=["a", "b"])
    french, french_ids = add_source(world, "fr", vectors[50:100], lang="fr", tags=["c"], content_type="text/html")
    model_id = world.home.sources.all()[0].embedding_model_id
    for exact_limit in (0, 1000):
        store = PgVectorStore(exact_limit=exact_limit)
        for conditions in (
            Filters(langs=("fr",)),
            Filters(tags=("c", "d")),
            Filters(content_types=("text/html", "text/csv")),
            Filters(source_types=("doc",), langs=("fr",)),
        ):
            hits = search(store, vectors[0], SearchScope((english, french), model_id, conditions), 50)
            assert {hit.chunk_id for hit in hits} == set(french_ids)
        assert (
            search(store, vectors[0], SearchScope((english, french), model_id, Filters(source_types=("email",))), 5)
            == []
        )


def test_equal_scores_are_ordered_by_id(world: World, vectors: Vectors) -> None:
    source_id, _ = add_source(world, "library", np.repeat(vectors[:1], 40, axis=0))
    model_id = world.home.sources.get().embedding_model_id
    store = PgVectorStore(exact_limit=1000)
    first = search(store, vectors[0], SearchScope((source_id,), model_id), 10)
    assert first == search(store, vectors[0], SearchScope((source_id,), model_id), 10)
    assert [hit.chunk_id for hit in first] == sorted(hit.chunk_id for hit in first)
