"""Rerankers: the built-in one, and a Cohere-compatible endpoint that misbehaves."""

import dataclasses
import uuid

import pytest

from rag.errors import RerankFailed
from rag.providers.base import Reranker
from rag.providers.rerankers.cohere import CohereReranker
from rag.providers.rerankers.local import LocalReranker
from rag.types import Passage
from tests.provider_server import ProviderServer

ID = uuid.UUID(int=1)
PASSAGE = Passage(
    chunk_id=ID, document_id=ID, source_id=ID, organization_id=ID, source_slug="s", rank=1, score=0.5, relevance=0.5,
    text="", position=0, start=0, end=0, headings=(), title="", path="", uri="", content_type="", source_type="doc",
    lang="", tags=(), metadata={}, date=None,
)  # fmt: skip


def passages(*texts: str, scores: tuple[float, ...] = ()) -> list[Passage]:
    given = scores or (0.5,) * len(texts)
    return [dataclasses.replace(PASSAGE, text=text, score=score) for text, score in zip(texts, given, strict=True)]


def remote(provider: ProviderServer, timeout: float = 5) -> CohereReranker:
    return CohereReranker(name="test-rerank", base_url=provider.base_url, api_key="secret", timeout=timeout)


@pytest.fixture(params=["local", "remote"])
def reranker(request: pytest.FixtureRequest, provider: ProviderServer) -> Reranker:
    return LocalReranker() if request.param == "local" else remote(provider)


def test_each_passage_gets_a_relevance_in_its_place(reranker: Reranker) -> None:
    found = reranker.rank("striped zebra", passages("a grey horse", "a striped zebra", "one zebra"))
    assert len(found) == 3
    assert all(0 <= relevance <= 1 for relevance in found)
    assert found[1] > found[2] > found[0]


def test_the_built_in_one_weighs_nearness_and_words() -> None:
    rank = LocalReranker().rank
    *common, rare = rank("pump QX-7000", passages("a pump", "a pump", "a QX-7000"))
    assert rare > max(common), "the rarer word decides where nothing is nearer"
    far, near = rank("pump", passages("a pump", "a pump", scores=(0.2, 0.6)))
    assert near > far, "the nearness where no word does"
    assert rank("zebra", passages("lions", "tigers", scores=(0.7, 0.2))) == [0.7, 0.2], "no word in common: the cosine"
    assert rank("zebra", []) == []


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
    assert failure.value.busy is (status == 429)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"results": [{"index": 7, "relevance_score": 1}]}'])
def test_what_is_no_ranking(provider: ProviderServer, body: bytes) -> None:
    provider.fail(200, body=body)
    with pytest.raises(RerankFailed):
        remote(provider).rank("zebra", passages("a"))


def test_time_out_and_nobody_listening(provider: ProviderServer) -> None:
    provider.stall.clear()
    with pytest.raises(RerankFailed) as failure:
        remote(provider, timeout=0.2).rank("zebra", passages("a"))
    assert failure.value.timed_out
    provider.stall.set()
    nowhere = CohereReranker(name="r", base_url="http://127.0.0.1:9", api_key="", timeout=1)
    with pytest.raises(RerankFailed, match="cannot be reached"):
        nowhere.rank("zebra", passages("a"))
