"""Token signatures: which chunks have them, that they are deleted with their chunks, and how a search uses them."""

import uuid
from typing import Any

import pytest
from django.core.cache import cache

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document, EmbeddingModel
from rag.models.content.pgvector_tables import ChunkTokenSignatures
from rag.providers import provider_factory
from rag.services.maintenance.indexes import token_signature_backfill
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.services.sources import documents, purge
from rag.types import Passage, Question
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

ANIMALS = ("zebra", "lion", "otter")


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    cache.clear()


def source_with_animals(world: World, **fields: Any) -> DataSource:
    source = world.source(**fields)
    for animal in ANIMALS:
        ingest_text(source, animal, f"Everything about the {animal} and where the {animal} lives.")
    return source


def remote_model(model_provider: ProviderServer) -> EmbeddingModel:
    return EmbeddingModel.objects.create(
        name="far", provider="openai", dimensions=384, base_url=model_provider.base_url
    )


def search(world: World, text: str, **fields: Any) -> list[Passage]:
    reader = SourceSelection(Caller(world.users["member"]))
    return list(permitted_queries.retrieve(Question(text=text, top_k=3, rerank=True, **fields), reader).passages)


def stored_signatures() -> dict[uuid.UUID, bytes]:
    rows = ChunkTokenSignatures.objects.values_list("chunk", "signatures")
    return {chunk_id: bytes(signatures) for chunk_id, signatures in rows}


def test_a_search_reranks_by_late_interaction(world: World) -> None:
    source_with_animals(world)
    passages = search(world, "Where does the otter live?")
    assert passages[0].path == "otter"
    scores = [passage.maxsim for passage in passages if passage.maxsim is not None]
    assert len(scores) == 3
    assert 0 < scores[0] < 1
    assert scores[0] == max(scores)
    relevances = [passage.relevance for passage in passages]
    assert relevances == sorted(relevances, reverse=True)
    assert passages == search(world, "Where does the otter live?")


def test_a_question_is_embedded_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    source_with_animals(world)
    embedder: Any = provider_factory.local_embedder()
    runs: list[int] = []
    run = embedder.run_model

    def counted_run(windows: Any, outputs: list[str]) -> Any:
        runs.append(len(windows))
        return run(windows, outputs)

    monkeypatch.setattr(embedder, "run_model", counted_run)
    assert search(world, "Has nobody asked for the lion's den before?")[0].maxsim is not None
    assert runs == [1]


def test_signatures_are_kept_and_deleted_with_their_chunks(live_world: World) -> None:
    source = live_world.source()
    sentences = ("Zebras are striped. ", "Lions roar at night. ", "Otters swim well. ", "Herons wade in water. ")
    paragraphs = [f"# Part {number}\n\n{sentence * 20}" for number, sentence in enumerate(sentences)]
    ingest_text(source, "animals.md", "\n\n".join(paragraphs[:3]))
    before = stored_signatures()
    assert len(before) == Chunk.objects.count() == 3
    ingest_text(source, "animals.md", "\n\n".join([paragraphs[2], paragraphs[0], paragraphs[3]]))
    after = stored_signatures()
    assert set(after) == set(Chunk.objects.values_list("pk", flat=True))
    assert len(after.items() & before.items()) == 2
    documents.delete_document(Document.objects.get())
    while purge.purge_document_batch():
        pass
    assert stored_signatures() == {}


@pytest.mark.parametrize(("setting", "local_count", "remote_count"), [("local", 3, 0), ("all", 3, 3), ("off", 0, 0)])
def test_the_setting_decides_which_chunks_have_signatures(
    world: World, model_provider: ProviderServer, settings: Any, setting: str, local_count: int, remote_count: int
) -> None:
    settings.RAG_TOKEN_SIGNATURES = setting
    local, remote = (
        source_with_animals(world),
        source_with_animals(world, slug="far", embedding_model=remote_model(model_provider)),
    )
    assert ChunkTokenSignatures.objects.filter(chunk__source=local).count() == local_count
    assert ChunkTokenSignatures.objects.filter(chunk__source=remote).count() == remote_count
    passages = search(world, "Where does the otter live?")
    assert [passage.path for passage in passages[:2]] == ["otter", "otter"]
    compared = {passage.source_slug for passage in passages if passage.maxsim is not None}
    assert compared == {slug for slug, count in (("library", local_count), ("far", remote_count)) if count}


def test_a_backfill_continues_where_the_last_call_ended(
    world: World, model_provider: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_signature_backfill, "_BATCH_SIZE", 1)
    settings.RAG_SWEEP_INTERVAL_SECONDS = 0
    source_with_animals(world)
    expected = stored_signatures()
    source_with_animals(world, slug="far", embedding_model=remote_model(model_provider))
    ChunkTokenSignatures.objects.all().delete()
    counts = []
    for _ in range(8):
        token_signature_backfill.backfill_signatures()
        counts.append(ChunkTokenSignatures.objects.count())
    assert counts[:3] == [1, 2, 3], "one batch per call"
    assert stored_signatures() == expected, "equal to those of ingestion, and none for the source of a remote model"
    ChunkTokenSignatures.objects.all().delete()
    token_signature_backfill.backfill_signatures()
    assert stored_signatures() == {}, "after a complete pass there is a pause"
    settings.RAG_TOKEN_SIGNATURES = "all"
    cache.clear()
    for _ in range(8):
        token_signature_backfill.backfill_signatures()
    assert ChunkTokenSignatures.objects.count() == Chunk.objects.count() == 6
