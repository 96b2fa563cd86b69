"""The bits of chunks' pieces: who has them, that they go with their chunks, and what a search makes of them."""

import uuid
from typing import Any

import pytest
from django.core.cache import cache

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document, EmbeddingModel
from rag.models.content.index_tables import PieceBits
from rag.providers import registry
from rag.services.maintenance import token_signatures
from rag.services.search import queries
from rag.services.sources import deletion, documents
from rag.types import Passage, Question
from tests.support.factories import World, ingest_text
from tests.support.provider_server import ProviderServer

ANIMALS = ("zebra", "lion", "otter")


@pytest.fixture(autouse=True)
def first_pass() -> None:
    cache.clear()


def filled(world: World, **fields: Any) -> DataSource:
    source = world.source(**fields)
    for animal in ANIMALS:
        ingest_text(source, animal, f"Everything about the {animal} and where the {animal} lives.")
    return source


def remote(provider: ProviderServer) -> EmbeddingModel:
    return EmbeddingModel.objects.create(name="far", provider="openai", dimensions=384, base_url=provider.base_url)


def found(world: World, text: str, **fields: Any) -> list[Passage]:
    reader = queries.SourceSelection(Caller(world.users["member"]))
    return list(queries.retrieve(Question(text=text, top_k=3, rerank=True, **fields), reader).passages)


def stored() -> dict[uuid.UUID, bytes]:
    return {key: bytes(pieces) for key, pieces in PieceBits.objects.values_list("chunk", "pieces")}


def test_a_search_compares_the_pieces_of_its_candidates(world: World) -> None:
    filled(world)
    passages = found(world, "Where does the otter live?")
    assert passages[0].path == "otter"
    figures = [each.maxsim for each in passages if each.maxsim is not None]
    assert len(figures) == 3
    assert 0 < figures[0] < 1
    assert figures[0] == max(figures)
    assert [each.relevance for each in passages] == sorted((each.relevance for each in passages), reverse=True)
    assert passages == found(world, "Where does the otter live?")


def test_a_question_is_embedded_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(world)
    embedder: Any = registry.local_embedder()
    runs: list[int] = []
    run = embedder._run

    def counted(windows: Any, outputs: list[str]) -> Any:
        runs.append(len(windows))
        return run(windows, outputs)

    monkeypatch.setattr(embedder, "_run", counted)
    assert found(world, "Has nobody asked for the lion's den before?")[0].maxsim is not None
    assert runs == [1]


def test_bits_stay_and_go_with_their_chunks(live_world: World) -> None:
    source = live_world.source()
    sentences = ("Zebras are striped. ", "Lions roar at night. ", "Otters swim well. ", "Herons wade in water. ")
    paragraphs = [f"# Part {number}\n\n{each * 20}" for number, each in enumerate(sentences)]
    ingest_text(source, "animals.md", "\n\n".join(paragraphs[:3]))
    before = stored()
    assert len(before) == Chunk.objects.count() == 3
    ingest_text(source, "animals.md", "\n\n".join([paragraphs[2], paragraphs[0], paragraphs[3]]))
    after = stored()
    assert set(after) == set(Chunk.objects.values_list("pk", flat=True))
    assert len(after.items() & before.items()) == 2
    documents.delete_document(Document.objects.get())
    while deletion.purge_document_batch():
        pass
    assert stored() == {}


@pytest.mark.parametrize(("setting", "local", "other"), [("local", 3, 0), ("all", 3, 3), ("off", 0, 0)])
def test_the_setting_says_whose_chunks_have_bits(
    world: World, provider: ProviderServer, settings: Any, setting: str, local: int, other: int
) -> None:
    settings.RAG_TOKEN_SIGNATURES = setting
    near, far = filled(world), filled(world, slug="far", embedding_model=remote(provider))
    assert PieceBits.objects.filter(chunk__source=near).count() == local
    assert PieceBits.objects.filter(chunk__source=far).count() == other
    passages = found(world, "Where does the otter live?")
    assert [each.path for each in passages[:2]] == ["otter", "otter"]
    compared = {each.source_slug for each in passages if each.maxsim is not None}
    assert compared == {slug for slug, count in (("library", local), ("far", other)) if count}


def test_chunks_without_bits_are_supplied_where_the_last_slice_ended(
    world: World, provider: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(token_signatures, "_BATCH_SIZE", 1)
    settings.RAG_SWEEP_INTERVAL_SECONDS = 0
    filled(world)
    expected = stored()
    filled(world, slug="far", embedding_model=remote(provider))
    PieceBits.objects.all().delete()
    counts = []
    for _ in range(8):
        token_signatures.backfill_signatures()
        counts.append(PieceBits.objects.count())
    assert counts[:3] == [1, 2, 3], "a batch a slice"
    assert stored() == expected, "as ingestion gave them, and a remote model's source is left alone"
    PieceBits.objects.all().delete()
    token_signatures.backfill_signatures()
    assert stored() == {}, "a finished pass rests"
    settings.RAG_TOKEN_SIGNATURES = "all"
    cache.clear()
    for _ in range(8):
        token_signatures.backfill_signatures()
    assert PieceBits.objects.count() == Chunk.objects.count() == 6
