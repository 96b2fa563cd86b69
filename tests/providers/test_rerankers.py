"""Rerankers: the built-in one, and Cohere-compatible endpoints that misbehave."""

import json
from typing import Any

import pytest

from rag.errors import InvalidRequest, RerankFailed
from rag.providers import provider_factory
from rag.providers.base import Reranker
from rag.providers.rerankers.cohere import CohereReranker
from rag.providers.rerankers.local import LocalReranker
from tests.support.passages import PASSAGE, passages
from tests.support.servers.provider_server import ProviderServer


def remote(model_provider: ProviderServer, timeout: float = 5, path: str = "v1") -> CohereReranker:
    base_url, is_tei = model_provider.base_url.replace("v1", path), path == "tei"
    return CohereReranker(name="test-rerank", base_url=base_url, api_key="secret", timeout=timeout, is_tei=is_tei)


@pytest.fixture(params=["local", "v1", "voyage", "tei"])
def reranker(request: pytest.FixtureRequest, model_provider: ProviderServer) -> Reranker:
    return LocalReranker() if request.param == "local" else remote(model_provider, path=request.param)


def test_each_passage_gets_a_relevance_in_the_order_of_passages(reranker: Reranker) -> None:
    candidates = passages("a grey horse", "a striped zebra", "one zebra", maxsims=(0.1, 0.6, 0.3))
    relevances = reranker.rank("striped zebra", candidates)
    assert len(relevances) == 3
    assert all(0 <= relevance <= 1 for relevance in relevances)
    assert relevances[1] > relevances[2] > relevances[0]


def order(*scores: tuple[float, float | None]) -> list[int]:
    """Indexes of passages with these (relevance, maxsim), in the order of the built-in reranker."""
    candidates = [PASSAGE.copy_with(relevance=relevance, maxsim=maxsim) for relevance, maxsim in scores]
    relevances = LocalReranker().rank("", candidates)
    assert all(0 <= relevance <= 1 for relevance in relevances)
    return sorted(range(len(candidates)), key=lambda index: (-relevances[index], index))


def test_the_built_in_reranker_combines_relevance_and_maxsim() -> None:
    assert order((0.5, 0.1), (0.5, 0.4), (0.5, 0.2)) == [1, 2, 0], "the maxsim decides if the relevances are equal"
    assert order((0.2, 0.3), (0.9, 0.3), (0.6, 0.3)) == [1, 2, 0], "the relevance decides if the maxsims are equal"
    assert order((1.0, 0.1), (0.9, 0.4), (0.1, 0.1), (0.0, 0.1)) == [1, 0, 2, 3]


def test_maxsim_weighs_as_much_as_a_cosine_and_less_than_a_fused_score() -> None:
    scores = ((0.9, 0.1), (0.1, 0.8))
    assert order(*scores) == [0, 1]
    assert order(*scores, (0.1, 0.8)) == [0, 1, 2]
    candidates = [PASSAGE.copy_with(score=cosine, relevance=cosine, maxsim=maxsim) for cosine, maxsim in scores]
    first, second = LocalReranker().rank("", candidates)
    assert first == pytest.approx(second)


def test_passages_without_maxsim_keep_their_place() -> None:
    assert order((0.2, None), (0.9, None), (0.6, None)) == [1, 2, 0]
    assert order((0.9, None), (0.8, 0.5), (0.2, 0.1), (0.1, None)) == [0, 1, 2, 3]


def test_single_equal_and_no_passages() -> None:
    assert order((0.7, 0.3)) == [0]
    assert order((0.7, None)) == [0]
    assert order((0.7, 0.3), (0.7, 0.3)) == [0, 1]
    assert LocalReranker().rank("", []) == []


@pytest.mark.parametrize("path", ["v1", "voyage", "tei"])
def test_every_dialect_ranks_fifty_texts(model_provider: ProviderServer, path: str) -> None:
    """Text Embeddings Inference accepts 32 texts at a time; Voyage rejects empty texts and unknown fields."""
    relevances = remote(model_provider, path=path).rank("zebra", passages(*[""] * 49, "zebra"))
    assert relevances == [0.0] * 49 + [1.0]


def test_scores_outside_0_to_1_are_scaled(model_provider: ProviderServer) -> None:
    rows = [{"index": index, "relevance_score": score} for index, score in enumerate((-900, 3.5, 0.2))]
    model_provider.fail(200, body=json.dumps({"results": rows}).encode())
    low, high, middle = remote(model_provider).rank("zebra", passages("a", "b", "c"))
    assert 0 <= low < middle < high <= 1
    model_provider.fail(200, body=b'{"results": [{"index": 0, "relevance_score": NaN}]}')
    with pytest.raises(RerankFailed):
        remote(model_provider).rank("zebra", passages("a"))


def test_the_registry_chooses_the_endpoint_by_its_name(model_provider: ProviderServer, settings: Any) -> None:
    base_url = model_provider.base_url
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "first", base_url
    settings.RAG_RERANK_OTHER_MODELS = {"second": {"base_url": base_url.replace("v1", "tei"), "dialect": "tei"}}
    for name, path in (("", "/v1/rerank"), ("first", "/v1/rerank"), ("second", "/tei/rerank")):
        assert provider_factory.reranker(name).rank("zebra", passages("a zebra")) == [1.0]
        assert model_provider.requests[-1]["path"] == path
    assert provider_factory.reranker("local").name == "local"
    with pytest.raises(InvalidRequest, match="local, first, second"):
        provider_factory.reranker("third")


def test_the_request_that_is_sent(model_provider: ProviderServer) -> None:
    remote(model_provider).rank("zebra", passages("a" * 20_000))
    (request,) = model_provider.requests
    assert (request["model"], request["query"], request["key"]) == ("test-rerank", "zebra", "Bearer secret")
    assert len(request["documents"][0]) <= 8_000


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_error_statuses(model_provider: ProviderServer, status: int) -> None:
    model_provider.fail(status)
    with pytest.raises(RerankFailed) as failure:
        remote(model_provider).rank("zebra", passages("a"))
    assert failure.value.is_rate_limited is (status == 429)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": [{"index": 7, "relevance_score": 1}]}'])
def test_responses_that_are_no_ranking(model_provider: ProviderServer, body: bytes) -> None:
    model_provider.fail(200, body=body)
    with pytest.raises(RerankFailed):
        remote(model_provider).rank("zebra", passages("a"))


def test_timeouts_and_unreachable_endpoints(model_provider: ProviderServer) -> None:
    model_provider.stall.clear()
    with pytest.raises(RerankFailed) as failure:
        remote(model_provider, timeout=0.2).rank("zebra", passages("a"))
    assert failure.value.is_timeout
    model_provider.stall.set()
    unreachable = CohereReranker(name="r", base_url="http://127.0.0.1:9", api_key="", timeout=1)
    with pytest.raises(RerankFailed, match="cannot be reached"):
        unreachable.rank("zebra", passages("a"))
