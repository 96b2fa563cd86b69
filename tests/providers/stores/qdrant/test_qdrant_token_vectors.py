"""Token vectors in Qdrant: one request finds candidates by vector and by words, and compares their tokens."""

import io
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from rag.models.content.index_outbox import IndexChange
from rag.pipeline.retrieval.reranking.late_interaction import max_similarities
from rag.pipeline.retrieval.retrieve import find_passages
from rag.providers.stores.pgvector import token_signatures
from rag.providers.stores.qdrant import outbox, token_vectors
from rag.providers.stores.qdrant.store import QdrantStore
from rag.providers.stores.qdrant.token_vectors import MAX_TOKENS
from rag.providers.stores.search_types import Candidates, ScopeQuery
from rag.types import Mode, Question, SearchScope
from rag.types.token_vectors import TokenVectors
from tests.providers.stores.conformance import new_document, scope, signatures_of, unit_vector, write
from tests.support.factories import World, ingest_text
from tests.support.servers.qdrant_server import QdrantServer

_SEARCH = "POST /points/query/batch"
# Mostly zeros, so that requests are short.
_VECTORS = np.zeros((2_000, 384), np.float32)
_VECTORS[:, :20] = np.random.default_rng(7).normal(size=(2_000, 20))
_VECTORS /= np.linalg.norm(_VECTORS, axis=1, keepdims=True)


def question_tokens(count: int) -> TokenVectors:
    tokens = np.random.default_rng(8).normal(size=(count, 384)).astype(np.float32)
    lengths: TokenVectors = np.linalg.norm(tokens, axis=1, keepdims=True)
    return tokens / lengths


def search(store: QdrantStore, within: SearchScope, question: TokenVectors) -> Candidates:
    query = ScopeQuery(within, unit_vector(1), question)
    (candidates,) = store.search("zebra", [query], mode=Mode.HYBRID, limit=100)
    return candidates


def requests_of(
    qdrant: QdrantServer, store: QdrantStore, within: SearchScope, question: TokenVectors
) -> tuple[Candidates, list[str]]:
    qdrant.requests.clear()
    return search(store, within, question), list(qdrant.requests)


def assert_similar(candidates: Candidates, question: TokenVectors) -> None:
    """Each candidate has what PostgreSQL's signatures yield, within the eight bits of a query token."""
    ids = [candidate.chunk_id for candidate in candidates.chunks]
    stored = token_signatures.read(ids)
    expected = max_similarities(question, [stored[pk] for pk in ids])
    assert [candidate.chunk_id for candidate in candidates.chunks if not candidate.token_similarities] == []
    actual = np.array([candidate.token_similarities for candidate in candidates.chunks])
    assert np.abs(actual - expected).max() < 0.003


def test_a_search_in_thousands_of_points_is_one_request(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    document = new_document(world.source())
    # Texts with the word have different lengths, so that no scores are equal.
    texts = [f"zebra {'word ' * number}" if number < 150 else f"number {number}" for number in range(len(_VECTORS))]
    write(qdrant_store, document, texts, list(_VECTORS), [signatures_of(number, 1) for number in range(len(texts))])
    qdrant_store.apply_changes(limit=100)
    candidates, requests = requests_of(qdrant, qdrant_store, scope(document.source), question_tokens(2))
    assert requests == [_SEARCH]
    assert len(candidates.dense_ids) == len(candidates.lexical_ids) == 100
    assert len(candidates.chunks) > 100, "two lists that differ"
    assert_similar(candidates, question_tokens(2))


def test_a_question_is_reranked_without_reading_signatures(
    qdrant_store: QdrantStore, world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = world.source()
    for animal in ("zebra", "lion", "otter"):
        ingest_text(source, animal, f"Everything about the {animal} and where the {animal} lives.")
    qdrant_store.apply_changes(limit=100)
    question, scopes = Question("Where does the otter live?", top_k=3, rerank=True), [scope(source)]
    settings.VECTOR_STORE = "pgvector"
    expected = find_passages(question, scopes).passages
    settings.VECTOR_STORE = "qdrant"
    monkeypatch.setattr(token_signatures, "read", lambda ids: pytest.fail("PostgreSQL was asked for signatures"))
    passages = find_passages(question, scopes).passages
    assert [passage.path for passage in passages] == [passage.path for passage in expected]
    for name in ("maxsim", "weighted_maxsim", "relative_similarity"):
        actual, stored = ([getattr(passage, name) for passage in group] for group in (passages, expected))
        assert actual == pytest.approx(stored, abs=0.01)


def test_signatures_that_are_added_later_are_copied(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    document = new_document(world.source())
    (chunk_id,) = write(qdrant_store, document, ["zebra"])
    qdrant_store.apply_changes(limit=100)
    (candidate,) = search(qdrant_store, scope(document.source), question_tokens(2)).chunks
    assert candidate.token_similarities is None
    qdrant_store.add_signatures({chunk_id: signatures_of(1)})
    assert qdrant_store.apply_changes(limit=100)
    assert_similar(search(qdrant_store, scope(document.source), question_tokens(2)), question_tokens(2))


def test_long_questions_are_compared_in_postgresql(
    qdrant_store: QdrantStore, world: World, qdrant: QdrantServer
) -> None:
    document = new_document(world.source())
    write(qdrant_store, document, ["zebra"], signatures=[signatures_of(1)])
    qdrant_store.apply_changes(limit=100)
    for count, is_compared in ((MAX_TOKENS, True), (MAX_TOKENS + 1, False)):
        (candidate,) = search(qdrant_store, scope(document.source), question_tokens(count)).chunks
        assert (candidate.token_similarities is not None) == is_compared


def test_a_collection_without_token_vectors_works_until_it_is_recreated(
    configured_qdrant: QdrantStore,
    live_world: World,
    settings: Any,
    qdrant: QdrantServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, question = live_world.source(), question_tokens(2)
    outbox.switch_recording(on=True)
    try:
        settings.QDRANT_TOKEN_VECTORS = False
        ingest_text(source, "a", "A zebra.")
        settings.QDRANT_TOKEN_VECTORS = True
        ingest_text(source, "b", "Another zebra.")
        assert not IndexChange.objects.exists()
        for expected in ([_SEARCH, _SEARCH], [_SEARCH]):  # it is asked for token vectors once
            candidates, requests = requests_of(qdrant, configured_qdrant, scope(source), question)
            assert requests == expected
            assert [candidate.token_similarities for candidate in candidates.chunks] == [None, None]
        with pytest.raises(CommandError, match="move_vectors pgvector"):
            call_command("move_vectors", "qdrant", recreate=True, stdout=io.StringIO())
        settings.VECTOR_STORE, output = "pgvector", io.StringIO()
        call_command("move_vectors", "qdrant", stdout=output)
        assert "--recreate" in output.getvalue()
        output = io.StringIO()
        call_command("move_vectors", "qdrant", recreate=True, stdout=output)
        assert "--recreate" not in output.getvalue()
        monkeypatch.setattr(token_vectors, "_lacking", {})  # as after the restart of the processes
        candidates, requests = requests_of(qdrant, configured_qdrant, scope(source), question)
        assert requests == [_SEARCH]
        assert_similar(candidates, question)
    finally:
        outbox.switch_recording(on=False)
