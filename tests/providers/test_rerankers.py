"""Rerankers: the built-in one, and a Cohere-compatible endpoint that misbehaves."""

import dataclasses
import json
import uuid
from typing import Any

import pytest

from rag.errors import InvalidRequest, RerankFailed
from rag.providers import registry
from rag.providers.base import Reranker
from rag.providers.rerankers.cohere import CohereReranker
from rag.providers.rerankers.local import LocalReranker
from rag.types import Passage
from tests.support.provider_server import ProviderServer

ID = uuid.UUID(int=1)
PASSAGE = Passage(
    chunk_id=ID, document_id=ID, source_id=ID, organization_id=ID, source_slug="s", rank=1, score=0.5, relevance=0.5,
    text="", position=0, start=0, end=0, headings=(), title="", path="", uri="", content_type="", source_type="doc",
    lang="", tags=(), metadata={}, date=None,
)  # fmt: skip


def passages(*texts: str, near: tuple[float | None, ...] = ()) -> list[Passage]:
    given = near or (0.5,) * len(texts)
    return [dataclasses.replace(PASSAGE, text=text, maxsim=one) for text, one in zip(texts, given, strict=True)]


def remote(provider: ProviderServer, timeout: float = 5, path: str = "v1") -> CohereReranker:
    base_url, is_tei = provider.base_url.replace("v1", path), path == "tei"
    return CohereReranker(name="test-rerank", base_url=base_url, api_key="secret", timeout=timeout, is_tei=is_tei)


@pytest.fixture(params=["local", "v1", "voyage", "tei"])
def reranker(request: pytest.FixtureRequest, provider: ProviderServer) -> Reranker:
    return LocalReranker() if request.param == "local" else remote(provider, path=request.param)


def test_each_passage_gets_a_relevance_in_its_place(reranker: Reranker) -> None:
    given = passages("a grey horse", "a striped zebra", "one zebra", near=(0.1, 0.6, 0.3))
    found = reranker.rank("striped zebra", given)
    assert len(found) == 3
    assert all(0 <= relevance <= 1 for relevance in found)
    assert found[1] > found[2] > found[0]


def order(*figures: tuple[float, float | None]) -> list[int]:
    """Indexes of passages of these relevances and maxsims, as the built-in one ranks them."""
    given = [dataclasses.replace(PASSAGE, relevance=one, maxsim=other) for one, other in figures]
    found = LocalReranker().rank("", given)
    assert all(0 <= each <= 1 for each in found)
    return sorted(range(len(given)), key=lambda index: (-found[index], index))


def test_the_built_in_one_weighs_the_order_that_came_and_the_pieces() -> None:
    assert order((0.5, 0.1), (0.5, 0.4), (0.5, 0.2)) == [1, 2, 0], "the pieces decide where nothing else differs"
    assert order((0.2, 0.3), (0.9, 0.3), (0.6, 0.3)) == [1, 2, 0], "the order that came where the pieces do not"
    assert order((1.0, 0.1), (0.9, 0.4), (0.1, 0.1), (0.0, 0.1)) == [1, 0, 2, 3]


def test_pieces_count_as_much_as_the_cosine_alone_and_less_than_a_mix() -> None:
    figures = ((0.9, 0.1), (0.1, 0.8))
    assert order(*figures) == [0, 1]
    assert order(*figures, (0.1, 0.8)) == [0, 1, 2]
    given = [dataclasses.replace(PASSAGE, score=one, relevance=one, maxsim=other) for one, other in figures]
    one, other = LocalReranker().rank("", given)
    assert one == pytest.approx(other)


def test_passages_without_pieces_keep_their_place() -> None:
    assert order((0.2, None), (0.9, None), (0.6, None)) == [1, 2, 0]
    assert order((0.9, None), (0.8, 0.5), (0.2, 0.1), (0.1, None)) == [0, 1, 2, 3]


def test_one_passage_and_equal_ones() -> None:
    assert order((0.7, 0.3)) == [0]
    assert order((0.7, None)) == [0]
    assert order((0.7, 0.3), (0.7, 0.3)) == [0, 1]
    assert LocalReranker().rank("", []) == []


@pytest.mark.parametrize("path", ["v1", "voyage", "tei"])
def test_every_dialect_judges_all_of_fifty_texts(provider: ProviderServer, path: str) -> None:
    """Text Embeddings Inference takes 32 at a time; Voyage refuses an empty text, and fields that it does not know."""
    found = remote(provider, path=path).rank("zebra", passages(*[""] * 49, "zebra"))
    assert found == [0.0] * 49 + [1.0]


def test_scores_that_are_no_shares_become_some(provider: ProviderServer) -> None:
    rows = [{"index": index, "relevance_score": score} for index, score in enumerate((-900, 3.5, 0.2))]
    provider.fail(200, body=json.dumps({"results": rows}).encode())
    low, high, middle = remote(provider).rank("zebra", passages("a", "b", "c"))
    assert 0 <= low < middle < high <= 1
    provider.fail(200, body=b'{"results": [{"index": 0, "relevance_score": NaN}]}')
    with pytest.raises(RerankFailed):
        remote(provider).rank("zebra", passages("a"))


def test_several_endpoints_are_told_apart_by_name(provider: ProviderServer, settings: Any) -> None:
    base_url = provider.base_url
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "first", base_url
    settings.RAG_RERANK_OTHER_MODELS = {"second": {"base_url": base_url.replace("v1", "tei"), "dialect": "tei"}}
    for name, path in (("", "/v1/rerank"), ("first", "/v1/rerank"), ("second", "/tei/rerank")):
        assert registry.reranker(name).rank("zebra", passages("a zebra")) == [1.0]
        assert provider.requests[-1]["path"] == path
    assert registry.reranker("local").name == "local"
    with pytest.raises(InvalidRequest, match="local, first, second"):
        registry.reranker("third")


def test_what_is_sent(provider: ProviderServer) -> None:
    remote(provider).rank("zebra", passages("a" * 20_000))
    (request,) = provider.requests
    assert (request["model"], request["query"], request["key"]) == ("test-rerank", "zebra", "Bearer secret")
    assert len(request["documents"][0]) <= 8_000


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_errors(provider: ProviderServer, status: int) -> None:
    provider.fail(status)
    with pytest.raises(RerankFailed) as failure:
        remote(provider).rank("zebra", passages("a"))
    assert failure.value.is_rate_limited is (status == 429)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": [{"index": 7, "relevance_score": 1}]}'])
def test_what_is_no_ranking(provider: ProviderServer, body: bytes) -> None:
    provider.fail(200, body=body)
    with pytest.raises(RerankFailed):
        remote(provider).rank("zebra", passages("a"))


def test_time_out_and_nobody_listening(provider: ProviderServer) -> None:
    provider.stall.clear()
    with pytest.raises(RerankFailed) as failure:
        remote(provider, timeout=0.2).rank("zebra", passages("a"))
    assert failure.value.is_timeout
    provider.stall.set()
    nowhere = CohereReranker(name="r", base_url="http://127.0.0.1:9", api_key="", timeout=1)
    with pytest.raises(RerankFailed, match="cannot be reached"):
        nowhere.rank("zebra", passages("a"))
