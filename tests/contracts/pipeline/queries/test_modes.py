"""The retrieval modes, over HTTP (docs/contracts/queries.md)."""

from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from rag.models import DataSource, EmbeddingModel
from tests.support.factories import World, ingest_text
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
MODES = ("dense", "lexical", "hybrid")
QUESTION = "What does error ZX-9041 of the pump mean?"


@pytest.fixture
def manuals(live_world: World) -> DataSource:
    source = live_world.source("manuals")
    ingest_text(
        source, "/pump", "What the errors of the pump mean, and what to do when the pump reports an error.", lang="en"
    )
    ingest_text(source, "/list", "ZX-9041: low voltage.", lang="en")
    ingest_text(source, "/tea", "How to brew green tea.", lang="en")
    return source


def retrieve(client: Client, mode: str, question: str = QUESTION, **fields: Any) -> dict[str, Any]:
    reply = client.post("/api/rag/retrieve", {"query": question, "mode": mode, "rerank": False, **fields})
    assert reply.status == 200, reply.body
    body: dict[str, Any] = reply.body
    return body


def paths(body: dict[str, Any]) -> list[str]:
    return [document["path"] for document in body["documents"]]


def scaled(values: list[float]) -> list[float]:
    return [(value - min(values)) / (max(values) - min(values)) for value in values]


def test_each_mode_orders_by_its_own_score(api: Api, manuals: DataSource) -> None:
    member = api("member")
    dense, lexical, hybrid = (retrieve(member, mode, "ZX-9041 pump") for mode in MODES)
    assert dense["scores"] == [document["score"] for document in dense["documents"]]
    assert sorted(paths(dense)) == ["/list", "/pump", "/tea"]
    assert paths(lexical)[0] == "/list", "it has most of the query's terms"
    assert sorted(paths(lexical)) == ["/list", "/pump"], "passages without a term are not found"
    assert lexical["scores"][0] == 1
    assert lexical["totalFound"] == 2
    cosines = {document["path"]: document["score"] for document in dense["documents"]}
    lexical_scores = {**dict.fromkeys(cosines, 0.0), **dict(zip(paths(lexical), lexical["scores"], strict=True))}
    expected = [
        (a + b) / 2
        for a, b in zip(scaled([*cosines.values()]), scaled([lexical_scores[key] for key in cosines]), strict=True)
    ]
    assert dict(zip(paths(hybrid), hybrid["scores"], strict=True)) == pytest.approx(
        dict(zip(cosines, expected, strict=True)), abs=1e-6
    )
    for body in (lexical, hybrid):
        assert {document["path"]: document["score"] for document in body["documents"]}.items() <= cosines.items()
        assert body["scores"] == sorted(body["scores"], reverse=True)


def test_results_are_deterministic(api: Api, manuals: DataSource) -> None:
    member = api("member")
    for mode in MODES:
        assert retrieve(member, mode, topK=2) == retrieve(member, mode, topK=2)


def test_hybrid_is_the_default_mode(api: Api, manuals: DataSource, settings: Any) -> None:
    member = api("member")
    request = {"query": QUESTION, "rerank": False}
    assert member.post("/api/rag/retrieve", request).body == retrieve(member, "hybrid")
    settings.RAG_RETRIEVAL_MODE = "lexical"
    assert member.post("/api/rag/retrieve", request).body == retrieve(member, "lexical")


def test_unknown_modes_are_rejected(api: Api, manuals: DataSource) -> None:
    for path in ("retrieve", "query"):
        for mode in ("bm25", "", 1, None):
            reply = api("member").post(f"/api/rag/{path}", {"query": QUESTION, "mode": mode})
            assert reply.status == 400, mode
    assert api("member").post("/api/rag/query", {"query": QUESTION, "mode": "lexical"}).status == 200


def test_filters_apply_in_every_mode(api: Api, manuals: DataSource) -> None:
    ingest_text(manuals, "/liste", "ZX-9041: Unterspannung der Pumpe.", lang="de", tags=["x"])
    for mode in MODES:
        for field, value in (("lang", "de"), ("tags", "x")):
            assert paths(retrieve(api("member"), mode, filters=[{"field": field, "value": value}])) == ["/liste"]


def test_invisible_sources_do_not_affect_results_or_scores(api: Api, live_world: World, manuals: DataSource) -> None:
    """Neither the results nor their scores: term statistics come from the sources that the caller may query."""
    member = api("member")
    before = [retrieve(member, mode) for mode in MODES] + [member.post("/api/rag/query", {"query": QUESTION}).body]
    secret = live_world.source("secret", visibility=Visibility.PERSONAL)
    ingest_text(secret, "/secret", "ZX-9041 is an error of the pump. " * 3)
    ingest_text(live_world.source("abroad", organization=live_world.abroad), "/abroad", "Error ZX-9041 means nothing.")
    after = [retrieve(member, mode) for mode in MODES] + [member.post("/api/rag/query", {"query": QUESTION}).body]
    assert after == before
    assert paths(retrieve(api("owner"), "lexical"))[0] == "/secret"


def test_copies_of_a_passage_are_deduplicated(api: Api, manuals: DataSource) -> None:
    """In lexical and hybrid mode. A passage with a different number is not a copy."""
    text = " ".join(f"The pump has part {word} at its side." for word in ("alpha", "beta", "gamma", "delta", "epsilon"))
    ingest_text(manuals, "/one", f"{text} It weighs 12 kg.", title="One", lang="en")
    ingest_text(manuals, "/copy", f"{text}  It weighs  12 kg!", title="Copy", lang="en")
    ingest_text(manuals, "/other", f"{text} It weighs 13 kg.", title="Other", lang="en")
    question = "What is the weight of the pump with part alpha?"
    for mode in ("lexical", "hybrid"):
        results = paths(retrieve(api("member"), mode, question, topK=3))
        assert len({"/one", "/copy"} & set(results)) == 1
        assert "/other" in results
        assert len(results) == 3
    assert {"/one", "/copy", "/other"} <= set(paths(retrieve(api("member"), "dense", question)))


def test_a_source_whose_embedding_model_is_down_is_searched_lexically(
    api: Api, live_world: World, manuals: DataSource, model_provider: ProviderServer, settings: Any
) -> None:
    """With a warning. If the models of all sources are down, only lexical mode returns results."""
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    model = EmbeddingModel.objects.create(
        name="far", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    ingest_text(live_world.source("remote", embedding_model=model), "/remote", "Error ZX-9041 is explained on page 3.")
    member = api("member")
    before = retrieve(member, "hybrid")
    assert (set(paths(before)), before["warnings"]) == ({"/pump", "/list", "/tea", "/remote"}, [])
    assert before == retrieve(member, "hybrid")
    EmbeddingModel.objects.filter(pk=model.pk).update(base_url="http://127.0.0.1:9/v1")
    hybrid, dense = retrieve(member, "hybrid"), retrieve(member, "dense")
    assert (set(paths(hybrid)), hybrid["warnings"]) == (set(paths(before)), ["EMBEDDING_FAILED"])
    assert (set(paths(dense)), dense["warnings"]) == ({"/pump", "/list", "/tea"}, ["EMBEDDING_FAILED"])
    request = {"query": QUESTION, "dataSources": ["remote"], "rerank": False}
    for mode in ("dense", "hybrid"):
        reply = member.post("/api/rag/retrieve", {**request, "mode": mode})
        assert (reply.status, reply.body["error"]) == (503, "EMBEDDING_FAILED")
    lexical = retrieve(member, "lexical", dataSources=["remote"])
    assert (paths(lexical), lexical["scores"], lexical["warnings"]) == (["/remote"], [1.0], ["EMBEDDING_FAILED"])
    assert lexical["documents"][0]["score"] == 0
