"""What every chunk store must do when chunks are written and deleted, through the `ChunkStore` protocol alone."""

import datetime
import uuid

import numpy as np
import pytest
from django.db import transaction

from rag.models import Chunk, EmbeddingModel
from rag.providers.stores.base import ChunkStore
from rag.providers.stores.store_writes import MetadataUpdate
from rag.text.indexed_text import digest
from rag.types import Mode
from tests.support.factories import World

from .conformance import DIMENSIONS, ids, new_document, scope, search, signatures_of, unit_vector, write

FIRST = uuid.UUID(int=0)


def test_the_store_is_available(store: ChunkStore, world: World) -> None:
    assert store.is_available()
    assert DIMENSIONS in store.dimensions


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


def test_a_new_title_and_a_new_language_are_indexed(store: ChunkStore, world: World) -> None:
    document = new_document(world.source(), title="Alpha", lang="en")
    write(store, document, ["Die Häuser am Fluss"])
    document.title, document.lang = "Omega", "de"
    document.save()
    store.update_metadata([MetadataUpdate(document, has_new_title=True, has_new_lang=True)])
    are_found = [bool(search(store, text, None, scope(document.source)).chunks) for text in ("alpha", "omega", "Haus")]
    assert are_found == [False, True, True]
    assert store.count_wrong_statistics(document.source.pk) == 0


def test_chunks_are_compared_with_a_vector(store: ChunkStore, world: World) -> None:
    document = new_document(world.source())
    first, second = write(store, document, ["zebra", "lion"], [unit_vector(1), unit_vector(0.6, 0.8)])
    model_id, vector = document.source.embedding_model_id, unit_vector(1)
    cosines = store.cosines([first, second, uuid.uuid4()], vector, model_id=model_id)
    assert cosines == {first: pytest.approx(1.0, abs=0.001), second: pytest.approx(0.6, abs=0.001)}
    assert store.cosines([first], vector, model_id=uuid.uuid4()) == {}
    store.delete_source_chunks(document.source.pk, limit=100)
    assert store.cosines([first], vector, model_id=model_id) == {}


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


@pytest.fixture
def second_model(world: World) -> EmbeddingModel:
    return EmbeddingModel.objects.create(
        name="second", provider="openai", dimensions=768, base_url="http://127.0.0.1:9/v1"
    )


def test_vectors_of_a_second_model_are_added_searched_and_deleted(
    store: ChunkStore, world: World, second_model: EmbeddingModel
) -> None:
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


def test_a_new_version_is_written_with_its_vectors_of_a_second_model(
    store: ChunkStore, world: World, second_model: EmbeddingModel
) -> None:
    document = new_document(world.source())
    vectors = np.array([unit_vector(1, dimensions=768), unit_vector(0, 1, dimensions=768)], np.float16)
    zebra, lion = write(store, document, ["zebra", "lion"], second_model=second_model, second_vectors=vectors)
    within = scope(document.source, model=second_model)
    assert search(store, "", unit_vector(0, 1, dimensions=768), within, mode=Mode.DENSE).dense_ids == (lion, zebra)
    otter, _ = write(store, document, ["otter", "lion"], second_model=second_model, second_vectors=vectors[:1])
    assert store.has_all_vectors(document.source.pk, second_model)
    assert search(store, "", unit_vector(1, dimensions=768), within, mode=Mode.DENSE).dense_ids == (otter, lion)


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


def test_totals_of_an_organization_are_right_and_repairing_them_changes_nothing(
    store: ChunkStore, world: World
) -> None:
    first, second = new_document(world.source("first")), new_document(world.source("second"))
    write(store, first, ["zebra lion", "lion"])
    write(store, second, ["zebra", "otter"])
    assert store.count_wrong_totals(world.home.pk) == 0
    write(store, second, ["zebra"])
    store.delete_document_chunks([first.pk], limit=1)
    assert store.count_wrong_totals(world.home.pk) == 0
    within = scope(first.source, second.source)
    before = search(store, "zebra lion", unit_vector(1), within)
    with transaction.atomic():
        store.repair_totals(world.home.pk)
    assert store.count_wrong_totals(world.home.pk) == 0
    assert search(store, "zebra lion", unit_vector(1), within) == before


def test_changes_are_applied_once_and_up_to_a_limit(store: ChunkStore, world: World) -> None:
    source = world.source()
    documents = [new_document(source) for _ in range(3)]
    for document in documents:
        write(store, document, ["zebra"])
    counts = list(iter(lambda: store.apply_changes(limit=2), 0))
    assert (sum(counts) >= 3) == store.searches_outside_database
    assert max(counts, default=0) <= 2
    store.delete_document_chunks([documents[0].pk], limit=10)
    assert (store.apply_changes(limit=100) > 0) == store.searches_outside_database
    assert store.apply_changes(limit=100) == 0
    assert len(search(store, "zebra", unit_vector(1), scope(source)).chunks) == 2


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
