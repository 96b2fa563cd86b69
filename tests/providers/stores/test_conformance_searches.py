"""What every chunk store must do when it is searched, through the `ChunkStore` protocol alone."""

import datetime
import uuid
from typing import Any

import numpy as np
import pytest

from rag.models import Document, EmbeddingModel
from rag.providers.stores.base import ChunkStore
from rag.providers.stores.search_types import ScopeQuery
from rag.providers.stores.store_writes import MetadataUpdate
from rag.types import Mode, SearchScope
from tests.support.factories import World

from .conformance import by_id, ids, new_document, scope, search, unit_vector, write

DATE = datetime.datetime(2024, 5, 1, tzinfo=datetime.UTC)


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


def test_a_filter_does_not_find_vectors_of_another_model(store: ChunkStore, world: World) -> None:
    """Two models may have vectors of the same length."""
    source = world.source()
    other = EmbeddingModel.objects.create(
        name="other", provider="openai", dimensions=384, base_url="http://127.0.0.1:9/v1"
    )
    document = new_document(source, tags=["zoo"])
    (chunk_id,) = write(store, document, ["zebra"], [unit_vector(1)])
    chunks = store.chunks_without_vector(source.pk, other, after=None, limit=10)
    assert store.add_vectors(chunks, np.array([unit_vector(0, 1)]), [document], model=other) == 1
    for model, cosine in ((source.embedding_model, 0.0), (other, 1.0)):
        candidates = search(store, "", unit_vector(0, 1), scope(source, model=model, tags=("zoo",)), mode=Mode.DENSE)
        assert candidates.dense_ids == (chunk_id,)
        assert by_id(candidates)[chunk_id].cosine == pytest.approx(cosine, abs=1e-3)


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


def test_words_are_counted_in_all_their_forms_within_the_scopes(store: ChunkStore, world: World) -> None:
    source, other = world.source(), world.source("other")
    write(store, new_document(source), ["Zebras run.", "A zebra runs with a lion.", "Tea."])
    write(store, new_document(other), ["The okapi sleeps."])
    counts = store.count_words(["zebra", "running", "lion", "okapi", "the"], [scope(source)])
    assert counts == {"zebra": 2, "running": 2, "lion": 1, "okapi": 0, "the": 0}
    assert store.count_words(["okapi"], [scope(source), scope(other)]) == {"okapi": 1}
    assert store.count_words(["okapi"], []) == {"okapi": 0}


def test_words_are_counted_in_one_language(store: ChunkStore, world: World) -> None:
    """The stem of "gradad" is "grad" in Spanish, and "gradad" in English. In no language a word has one form."""
    source = world.source()
    write(store, new_document(source, lang="de"), ["Ein Grad mehr."])
    write(store, new_document(source, lang="es"), ["Una cebra."])
    write(store, new_document(source, lang="en"), ["Zebras run."])
    write(store, new_document(source, lang="xx"), ["Zebra"])
    assert store.count_words(["gradad", "zebra"], [scope(source)]) == {"gradad": 1, "zebra": 2}
    assert store.count_words(["gradad", "zebra"], [scope(source)], lang="en") == {"gradad": 0, "zebra": 2}
