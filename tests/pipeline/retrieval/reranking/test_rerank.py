"""The reranking step: the reranker's order for the best candidates, with the other passages after them."""

import dataclasses
import json
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from rag.errors import RerankFailed
from rag.pipeline.retrieval.reranking.rerank import MAX_RERANKED, WARNING, rerank
from rag.types import Passage, Question
from tests.support.servers.provider_server import ProviderServer

ID = uuid.UUID(int=1)
PASSAGE = Passage(
    chunk_id=ID, document_id=ID, source_id=ID, organization_id=ID, source_slug="s", rank=1, score=0.5, relevance=0.5,
    text="", position=0, start=0, end=0, headings=(), title="", path="", uri="", content_type="", source_type="doc",
    lang="", tags=(), metadata={}, date=None,
)  # fmt: skip
QUESTION = Question("zebra", top_k=10, rerank=True)


@pytest.fixture
def endpoint(model_provider: ProviderServer, settings: Any) -> ProviderServer:
    """A rerank endpoint that is configured as the default reranker."""
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "test-rerank", model_provider.base_url
    return model_provider


def passages(*relevances: float) -> list[Passage]:
    """Passages with these relevances, whose texts are their numbers."""
    return [PASSAGE.copy_with(text=str(number), relevance=relevance) for number, relevance in enumerate(relevances)]


def answer_with(endpoint: ProviderServer, relevances: Sequence[float]) -> None:
    results = [{"index": index, "relevance_score": relevance} for index, relevance in enumerate(relevances)]
    endpoint.fail(200, body=json.dumps({"results": results}).encode())


def texts(ranked: Sequence[Passage]) -> list[str]:
    return [passage.text for passage in ranked]


def test_passages_are_ordered_by_the_relevance_of_the_reranker(endpoint: ProviderServer) -> None:
    answer_with(endpoint, [0.2, 0.9, 0.6])
    ranked, warnings = rerank(QUESTION, passages(0.8, 0.7, 0.1))
    assert texts(ranked) == ["1", "2", "0"]
    assert [passage.relevance for passage in ranked] == [0.9, 0.6, 0.2]
    assert warnings == ()


def test_equally_relevant_passages_keep_their_order(endpoint: ProviderServer) -> None:
    answer_with(endpoint, [0.5, 0.9, 0.5, 0.5])
    ranked, _ = rerank(QUESTION, passages(0.9, 0.8, 0.7, 0.6))
    assert texts(ranked) == ["1", "0", "2", "3"]


@pytest.mark.parametrize("lowest", [0.4, 0.0, 0.95, 0.409])  # 0.409 / 0.8 * 0.8 is more than 0.409
def test_passages_that_are_not_reranked_follow_with_lower_relevances(endpoint: ProviderServer, lowest: float) -> None:
    answer_with(endpoint, [lowest, *[0.95] * (MAX_RERANKED - 1)])
    ranked, _ = rerank(QUESTION, passages(*[0.9] * MAX_RERANKED, 0.8, 0.4))
    assert len(endpoint.requests[-1]["documents"]) == MAX_RERANKED
    assert texts(ranked)[-2:] == [str(MAX_RERANKED), str(MAX_RERANKED + 1)]
    relevances = [passage.relevance for passage in ranked]
    assert relevances == sorted(relevances, reverse=True)
    # They are scaled down together to the lowest reranked relevance, and never up.
    factor = min(1.0, lowest / 0.8)
    assert relevances[-2:] == pytest.approx([0.8 * factor, 0.4 * factor])


def test_a_failure_of_the_default_reranker_is_a_warning(endpoint: ProviderServer) -> None:
    endpoint.fail(500)
    candidates = passages(*[0.9] * MAX_RERANKED, 0.4)
    ranked, warnings = rerank(QUESTION, candidates)
    assert (ranked, warnings) == (candidates, (WARNING,))


def test_a_failure_of_the_named_reranker_is_an_error(endpoint: ProviderServer) -> None:
    endpoint.fail(500)
    with pytest.raises(RerankFailed):
        rerank(dataclasses.replace(QUESTION, rerank_model="test-rerank"), passages(0.9))
