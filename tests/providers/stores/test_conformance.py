"""What every chunk store must do, through the `ChunkStore` protocol alone. Add a new store to `STORES`."""

import datetime
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from django.db import transaction

from rag.models import Chunk, DataSource, Document, EmbeddingModel
from rag.providers.base import Vectors
from rag.providers.stores.base import (
    Candidate,
    Candidates,
    ChunkStore,
    DocumentVersion,
    MetadataUpdate,
    ScopeQuery,
)
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.text.embedded_text import digest
from rag.types import ChunkDraft, Filters, Mode, SearchScope
from rag.types.token_vectors import TokenSignatures
from ragsite.postgres.models import uuid7
from tests.support.factories import World

STORES: dict[str, Callable[[], ChunkStore]] = {
    "pgvector": lambda: PgVectorStore(exact_limit=20_000),
    "pgvector, by index": lambda: PgVectorStore(exact_limit=0),
}
DIMENSIONS = 384
FIRST = uuid.UUID(int=0)
DATE = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> ChunkStore:
    return STORES[request.param]()


def unit_vector(*weights: float, dimensions: int = DIMENSIONS) -> Vectors:
    """A vector of length 1 in the direction of these first components."""
    vector = np.zeros(dimensions, np.float32)
    vector[: len(weights)] = weights
    return vector / np.linalg.norm(vector)


def signatures_of(seed: int, tokens: int = 5) -> TokenSignatures:
    return np.random.default_rng(seed).integers(0, 256, (tokens, DIMENSIONS // 8), np.uint8)


def new_document(source: DataSource, **fields: Any) -> Document:
    values: dict[str, Any] = {"title": "", "source_type": "doc", "content_type": "text/plain", "lang": "en"} | fields
    return Document.objects.create(
        source=source,
        path=str(uuid7()),
        text="",
        content_hash="",
        chunk_size=1,
        chunk_overlap=0,
        chunk_count=1,
        revision=uuid7(),
        **values,
    )


def write(
    store: ChunkStore,
    document: Document,
    texts: Sequence[str],
    vectors: Sequence[Vectors] = (),
    signatures: Sequence[TokenSignatures] = (),
    **fields: Any,
) -> list[uuid.UUID]:
    """Write these chunks as the document's new version, by default with orthogonal vectors; return their ids."""
    model = document.source.embedding_model
    stored_digests = store.embedded_digests(document, model=model)
    is_new = not stored_digests
    digests = [digest(text, (), document.title) for text in texts]
    new_indexes = [index for index, text_digest in enumerate(digests) if not stored_digests[text_digest]]
    all_vectors = list(vectors) or [unit_vector(*[0] * index, 1) for index in range(len(texts))]
    half_vectors = np.array([all_vectors[index] for index in new_indexes], np.float16).reshape(-1, DIMENSIONS)
    drafts = [ChunkDraft(index, index, index + 1, text, (), 1) for index, text in enumerate(texts)]
    with transaction.atomic():
        store.write(
            [
                DocumentVersion(
                    document,
                    drafts,
                    digests,
                    new_indexes,
                    half_vectors,
                    [signatures[index] for index in new_indexes] if signatures else (),
                    is_new=is_new,
                    **fields,
                )
            ],
            model=model,
        )
    return list(Chunk.objects.filter(document=document).order_by("position").values_list("pk", flat=True))


def scope(*sources: DataSource, model: EmbeddingModel | None = None, **filters: Any) -> SearchScope:
    model_id = model.pk if model else sources[0].embedding_model_id
    return SearchScope(tuple(source.pk for source in sources), model_id, Filters(**filters))


def search(
    store: ChunkStore,
    text: str,
    vector: Vectors | None,
    within: SearchScope,
    *,
    mode: Mode = Mode.HYBRID,
    limit: int = 100,
) -> Candidates:
    (candidates,) = store.search(text, [ScopeQuery(within, vector)], mode=mode, limit=limit)
    return candidates


def ids(candidates: Candidates) -> set[uuid.UUID]:
    return {chunk.chunk_id for chunk in candidates.chunks}


def by_id(candidates: Candidates) -> dict[uuid.UUID, Candidate]:
    return {chunk.chunk_id: chunk for chunk in candidates.chunks}


def test_the_store_is_available(store: ChunkStore, world: World) -> None:
    assert store.is_available()
    assert DIMENSIONS in store.dimensions


# --- Writing


def test_a_new_version_replaces_chunks_and_keeps_the_rows_of_equal_ones(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    zebra, lion, _ = write(store, document, ["zebra", "lion", "otter"])
    assert store.embedded_digests(document, model=document.source.embedding_model).total() == 3
    heron, same_lion, same_zebra = write(store, document, ["heron", "lion", "zebra"])
    assert (same_lion, same_zebra) == (lion, zebra)
    assert list(Chunk.objects.order_by("position").values_list("text", flat=True)) == ["heron", "lion", "zebra"]
    within = scope(document.source)
    assert ids(search(store, "heron lion zebra otter", unit_vector(1), within)) == {heron, lion, zebra}
    assert search(store, "otter", None, within).chunks == ()
    assert search(store, "heron", None, within).lexical_ids == (heron,)
    assert store.count_wrong_statistics(document.source.pk) == 0


def test_equal_chunks_of_a_document_are_counted(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    write(store, document, ["zebra", "zebra"])
    counts = store.embedded_digests(document, model=document.source.embedding_model)
    assert counts == {digest("zebra", (), ""): 2}


def test_a_write_that_is_rolled_back_leaves_nothing(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    (kept,) = write(store, document, ["zebra"])
    with transaction.atomic():
        write(store, document, ["lion"])
        transaction.set_rollback(True)
    candidates = search(store, "zebra lion", unit_vector(1), scope(document.source))
    assert ids(candidates) == {kept}
    assert store.count_wrong_statistics(document.source.pk) == 0


def test_documents_are_deleted_in_batches(store: ChunkStore, world: World) -> None:
    source = world.source()
    doomed, kept = new_document(source), new_document(source)
    write(store, doomed, ["zebra", "lion", "otter"])
    (kept_id,) = write(store, kept, ["zebra"])
    assert [store.delete_document_chunks([doomed.pk], limit=2) for _ in range(3)] == [2, 1, 0]
    assert ids(search(store, "zebra lion", unit_vector(1), scope(source))) == {kept_id}
    assert store.count_wrong_statistics(source.pk) == 0


def test_a_source_is_deleted_in_batches_with_its_statistics(store: ChunkStore, world: World) -> None:
    source, other = world.source("doomed"), world.source("kept")
    write(store, new_document(source), ["zebra", "lion", "otter"])
    (kept_id,) = write(store, new_document(other), ["zebra"])
    assert [store.delete_source_chunks(source.pk, limit=2) for _ in range(2)] == [2, 1]
    assert search(store, "zebra", unit_vector(1), scope(source)).chunks == ()
    assert ids(search(store, "zebra", unit_vector(1), scope(source, other))) == {kept_id}
    assert store.count_wrong_statistics(source.pk) == 0


FIELDS = (
    ({"lang": "de"}, {"langs": ("de", "fr")}),
    ({"tags": ["plants", "zoo"]}, {"tags": ("zoo", "other")}),
    ({"content_type": "text/html"}, {"content_types": ("text/html",)}),
    ({"source_type": "faq"}, {"source_types": ("faq",)}),
    ({"date": DATE}, {"date_from": DATE}),
    ({"date": DATE}, {"date_to": DATE}),
)


@pytest.mark.parametrize(("fields", "filters"), FIELDS, ids=[next(iter(filters)) for _, filters in FIELDS])
def test_each_filter_restricts_both_searches(
    store: ChunkStore, world: World, fields: dict[str, Any], filters: dict[str, Any]
) -> None:
    source = world.source()
    write(store, new_document(source), ["zebra"])
    (matching,) = write(store, new_document(source, **fields), ["zebra"])
    within = scope(source, **filters)
    candidates = search(store, "zebra", unit_vector(1), within)
    assert candidates.dense_ids == candidates.lexical_ids == (matching,)
    document = Document.objects.get(chunks=matching)
    assert list(Document.objects.matching(within.filters)) == [document], "querysets and stores filter in the same way"


@pytest.mark.parametrize(("fields", "filters"), FIELDS, ids=[next(iter(filters)) for _, filters in FIELDS])
def test_filters_use_updated_metadata(
    store: ChunkStore, world: World, fields: dict[str, Any], filters: dict[str, Any]
) -> None:
    document = new_document(world.source())
    (chunk_id,) = write(store, document, ["zebra"])
    for name, value in fields.items():
        setattr(document, name, value)
    document.save()
    store.update_metadata([MetadataUpdate(document, has_new_lang="lang" in fields)])
    candidates = search(store, "zebra", unit_vector(1), scope(document.source, **filters))
    assert candidates.dense_ids == candidates.lexical_ids == (chunk_id,)


def test_a_new_title_and_a_new_language_are_indexed(store: ChunkStore, world: World) -> None:
    document = new_document(world.source(), title="Alpha", lang="en")
    write(store, document, ["Die Häuser am Fluss"])
    document.title, document.lang = "Omega", "de"
    document.save()
    store.update_metadata([MetadataUpdate(document, has_new_title=True, has_new_lang=True)])
    are_found = [bool(search(store, text, None, scope(document.source)).chunks) for text in ("alpha", "omega", "Haus")]
    assert are_found == [False, True, True]
    assert store.count_wrong_statistics(document.source.pk) == 0


# --- Searching


def test_each_candidate_has_both_scores(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    texts = ["zebra lion", "zebra", "otter"]
    nearest, middle, farthest = write(store, document, texts, [unit_vector(1), unit_vector(1, 1), unit_vector(0, 1)])
    candidates = search(store, "zebra lion", unit_vector(1), scope(document.source))
    assert candidates.dense_ids == (nearest, middle, farthest)
    assert candidates.lexical_ids == (nearest, middle)
    scores = by_id(candidates)
    assert [scores[key].cosine for key in (nearest, middle, farthest)] == pytest.approx([1, 2**-0.5, 0], abs=2e-3)
    assert scores[nearest].lexical_score > scores[middle].lexical_score > 0 == scores[farthest].lexical_score
    assert scores[nearest].coverage == pytest.approx(1)
    assert 0 < scores[middle].coverage < 1
    assert scores[farthest].coverage == 0


def test_the_mode_decides_which_searches_find_candidates(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    vectors = [unit_vector(1), unit_vector(0, 1), unit_vector(0, 0, 1)]
    nearest, lexical, _ = write(store, document, ["lion", "zebra", "otter"], vectors)
    within, query = scope(document.source), unit_vector(2, 1)
    dense_only = search(store, "zebra", query, within, mode=Mode.DENSE, limit=1)
    assert (dense_only.dense_ids, dense_only.lexical_ids) == ((nearest,), ())
    assert by_id(dense_only)[nearest].lexical_score == 0
    lexical_only = search(store, "zebra", query, within, mode=Mode.LEXICAL, limit=1)
    assert (lexical_only.dense_ids, lexical_only.lexical_ids) == ((), (lexical,))
    assert by_id(lexical_only)[lexical].cosine == pytest.approx(5**-0.5, abs=2e-3)
    hybrid = search(store, "zebra", query, within, limit=1)
    assert [chunk.chunk_id for chunk in hybrid.chunks] == [nearest, lexical], "the nearest first, then the others"


def test_without_a_vector_only_terms_are_searched(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    zebra, _ = write(store, document, ["zebra", "lion"])
    for mode in (Mode.HYBRID, Mode.LEXICAL):
        candidates = search(store, "zebra", None, scope(document.source), mode=mode)
        assert ids(candidates) == {zebra}
        assert by_id(candidates)[zebra].cosine == 0
    assert search(store, "zebra", None, scope(document.source), mode=Mode.DENSE).chunks == ()


def test_stop_words_and_unknown_words_find_nothing(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    write(store, document, ["the zebra"])
    for text in ("the", "unicorn", "", "…"):
        assert search(store, text, None, scope(document.source)).chunks == ()


def test_equal_scores_are_ordered_by_id(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    # The digests differ; the terms and vectors are equal.
    chunk_ids = write(store, document, [f"zebra{' ' * number}!" for number in range(30)], [unit_vector(1)] * 30)
    candidates = search(store, "zebra", unit_vector(1), scope(document.source), limit=10)
    assert candidates.lexical_ids == tuple(sorted(chunk_ids)[:10])
    assert candidates.dense_ids == tuple(sorted(candidates.dense_ids))
    assert search(store, "zebra", unit_vector(1), scope(document.source), limit=10) == candidates


def test_a_small_scope_gets_a_complete_result(store: ChunkStore, world: World) -> None:
    """Although the nearest neighbours all lie outside the scope."""
    small, large = world.source("small"), world.source("large")
    chunk_ids = write(store, new_document(small), ["zebra", "lion"], [unit_vector(0, 1), unit_vector(0, 0, 1)])
    write(store, new_document(large), [f"w{number}" for number in range(300)], [unit_vector(1)] * 300)
    assert set(search(store, "", unit_vector(1), scope(small), limit=2).dense_ids) == set(chunk_ids)
    assert len(search(store, "", unit_vector(1), scope(small), limit=50).dense_ids) == 2


def test_scopes_are_independent(store: ChunkStore, world: World) -> None:
    """Chunks outside a scope are not found and change no score: IDF is computed in the scope alone."""
    visible, secret = world.source("visible"), world.source("secret")
    chunk_ids = write(store, new_document(visible), ["zebra runs", "lion", "running lion"])
    query = "zebra running lion unicorn"
    before = search(store, query, unit_vector(1), scope(visible))
    secret_ids = write(store, new_document(secret, lang="de"), ["zebra zebra", "unicorn", "lion unicorn"])
    assert search(store, query, unit_vector(1), scope(visible)) == before
    assert ids(before) == set(chunk_ids)
    queries = [ScopeQuery(scope(secret), unit_vector(1)), ScopeQuery(scope(visible), unit_vector(1))]
    first, second = store.search(query, queries, mode=Mode.HYBRID, limit=100)
    assert (ids(first), ids(second)) == (set(secret_ids), set(chunk_ids)), "in the order of the queries"
    assert search(store, query, unit_vector(1), SearchScope((), visible.embedding_model_id)).chunks == ()
    assert search(store, "", unit_vector(1), SearchScope((visible.pk,), uuid.uuid4())).chunks == ()


def test_deleted_documents_are_not_found(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    write(store, document, ["zebra"])
    document.deleted_at = datetime.datetime.now(datetime.UTC)
    document.save()
    assert search(store, "zebra", unit_vector(1), scope(document.source)).chunks == ()


# --- Token signatures


def test_token_signatures_are_stored_and_backfilled(store: ChunkStore, world: World) -> None:
    source = world.source()
    stored = [signatures_of(1), signatures_of(2, tokens=200)]
    first, second = write(store, new_document(source), ["zebra", "lion"], signatures=stored)
    third, fourth = write(store, new_document(source), ["otter", "heron"])
    read = store.token_signatures([first, second, third, uuid.uuid4()])
    assert set(read) == {first, second}
    assert np.array_equal(read[first], stored[0])
    assert np.array_equal(read[second], stored[1])
    chunk_ids = sorted([first, second, third, fourth])
    missing, last = store.chunks_without_signatures(source.pk, after=FIRST, limit=100)
    assert (missing, last) == (sorted([third, fourth]), chunk_ids[-1])
    assert store.chunks_without_signatures(source.pk, after=FIRST, limit=2)[1] == chunk_ids[1]
    assert store.chunks_without_signatures(source.pk, after=chunk_ids[-1], limit=2) == ([], None)
    assert store.add_signatures({third: signatures_of(3), first: signatures_of(4), uuid.uuid4(): signatures_of(5)}) == 1
    read = store.token_signatures(chunk_ids)
    assert np.array_equal(read[third], signatures_of(3))
    assert np.array_equal(read[first], stored[0]), "existing ones are kept"
    store.delete_source_chunks(source.pk, limit=100)
    assert store.token_signatures(chunk_ids) == {}


# --- Vectors of a second model


@pytest.fixture
def second_model(world: World) -> EmbeddingModel:
    return EmbeddingModel.objects.create(
        name="second", provider="openai", dimensions=768, base_url="http://127.0.0.1:9/v1"
    )


def test_vectors_of_a_second_model(store: ChunkStore, world: World, second_model: EmbeddingModel) -> None:
    source = world.source()
    document, deleted = new_document(source, title="Animals", tags=["zoo"]), new_document(source)
    chunk_ids = sorted(write(store, document, ["zebra", "lion", "otter"]))
    write(store, deleted, ["heron"])
    deleted.deleted_at = datetime.datetime.now(datetime.UTC)
    deleted.save()
    assert store.has_all_vectors(source.pk, source.embedding_model)
    assert store.count_chunks_without_vector(source.pk, second_model) == 3
    first_two = store.chunks_without_vector(source.pk, second_model, after=None, limit=2)
    assert [chunk.id for chunk in first_two] == chunk_ids[:2]
    assert {(chunk.title, chunk.document_id) for chunk in first_two} == {("Animals", document.pk)}
    (third,) = store.chunks_without_vector(source.pk, second_model, after=chunk_ids[1], limit=2)
    vectors = np.array([unit_vector(*[0] * index, 1, dimensions=768) for index in range(3)])
    chunks = [*first_two, third]
    assert store.add_vectors(chunks, vectors, [], model=second_model) == 0, "documents that were not locked are skipped"
    assert store.add_vectors(chunks[:2], vectors[:2], [document], model=second_model) == 2
    assert not store.has_all_vectors(source.pk, second_model)
    Chunk.objects.filter(pk=third.id).delete()
    assert store.add_vectors([third], vectors[2:], [document], model=second_model) == 0, "the chunk was deleted"
    assert store.has_all_vectors(source.pk, second_model)
    within = scope(source, model=second_model, tags=("zoo",))
    candidates = search(store, "", vectors[0], within, mode=Mode.DENSE)
    assert candidates.dense_ids[0] == chunk_ids[0]
    assert set(candidates.dense_ids) == set(chunk_ids[:2])
    assert store.delete_vectors(source.pk, second_model, after=None, limit=1) == chunk_ids[0]
    assert store.count_chunks_without_vector(source.pk, second_model) == 1
    position: uuid.UUID | None = chunk_ids[0]
    while position := store.delete_vectors(source.pk, second_model, after=position, limit=1):
        pass
    assert search(store, "", vectors[0], within, mode=Mode.DENSE).dense_ids == ()
    assert set(search(store, "", unit_vector(1), scope(source)).dense_ids) == set(chunk_ids[:2])


def test_a_new_version_has_no_vectors_of_a_second_model(
    store: ChunkStore, world: World, second_model: EmbeddingModel
) -> None:
    """Vectors of replaced chunks are deleted, those of kept chunks remain."""
    document = new_document(world.source())
    write(store, document, ["zebra", "lion"])
    chunks = store.chunks_without_vector(document.source.pk, second_model, after=None, limit=10)
    vectors = np.array([unit_vector(1, dimensions=768)] * 2)
    store.add_vectors(chunks, vectors, [document], model=second_model)
    write(store, document, ["otter", "lion"])
    (missing,) = store.chunks_without_vector(document.source.pk, second_model, after=None, limit=10)
    assert missing.text == "otter"


# --- Maintenance


def test_chunks_without_terms_are_indexed(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    rows = [
        Chunk(source=document.source, document=document, position=n, start=0, end=1, text=text, tokens=1)
        for n, text in enumerate(["zebra", "zebra lion", "otter"])
    ]
    chunk_ids = sorted(chunk.pk for chunk in Chunk.objects.bulk_create(rows))
    source_id = document.source.pk
    assert search(store, "zebra", None, scope(document.source)).chunks == ()
    missing = store.chunks_without_terms(source_id, after=FIRST, limit=2)
    assert missing == [(chunk_id, document.pk) for chunk_id in chunk_ids[:2]]
    store.add_missing_terms([document.pk], limit=2)
    assert store.chunks_without_terms(source_id, after=FIRST, limit=10) == [(chunk_ids[2], document.pk)]
    store.add_missing_terms([document.pk], limit=10)
    assert store.chunks_without_terms(source_id, after=FIRST, limit=10) == []
    assert len(search(store, "zebra", None, scope(document.source)).chunks) == 2
    assert store.count_wrong_statistics(source_id) == 0


def test_repairing_correct_statistics_changes_nothing(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    write(store, document, ["zebra lion", "lion"])
    before = search(store, "zebra lion", unit_vector(1), scope(document.source))
    store.repair_statistics(document.source.pk)
    assert store.count_wrong_statistics(document.source.pk) == 0
    assert search(store, "zebra lion", unit_vector(1), scope(document.source)) == before


def test_a_vector_index_is_built_and_dropped(store: ChunkStore, live_world: World) -> None:
    def is_built() -> bool:
        return next(index.is_built for index in store.vector_indexes() if index.dimensions == 768)

    assert {index.dimensions for index in store.vector_indexes()} == set(store.dimensions)
    try:
        assert store.build_vector_index(768)
        assert is_built()
    finally:
        store.drop_vector_index(768)
    assert not is_built()
