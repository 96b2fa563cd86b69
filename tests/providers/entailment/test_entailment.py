"""Entailment models behind Text Embeddings Inference and vLLM's score API."""

import json
from typing import Any

import pytest

from rag.errors import EntailmentFailed
from rag.providers import provider_factory
from rag.providers.entailment.remote import SCORE, TEI, RemoteEntailmentModel
from tests.support.servers.provider_server import ProviderServer

PATHS = {TEI: "tei", SCORE: "v1"}
PAIR = ("Guests give keys to the porter.", "The porter gives keys to guests.")


def remote(model_provider: ProviderServer, dialect: str = TEI, timeout: float = 5) -> RemoteEntailmentModel:
    base_url = model_provider.base_url.replace("v1", PATHS[dialect])
    return RemoteEntailmentModel(name="test-nli", base_url=base_url, api_key="secret", timeout=timeout, dialect=dialect)


@pytest.fixture(params=[TEI, SCORE])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_each_pair_gets_its_probability(model_provider: ProviderServer, dialect: str) -> None:
    """At most 32 pairs are sent at a time, which is the limit of Text Embeddings Inference."""
    model_provider.probabilities = {str(number): number / 100 for number in range(70)}
    probabilities = remote(model_provider, dialect).entail([("All.", str(number)) for number in range(70)])
    assert probabilities == [number / 100 for number in range(70)]
    key = "inputs" if dialect == TEI else "text_2"
    assert [len(request[key]) for request in model_provider.requests] == [32, 32, 6]


def test_the_requests_that_are_sent(model_provider: ProviderServer) -> None:
    for dialect in (TEI, SCORE):
        remote(model_provider, dialect).entail([PAIR, ("a" * 20_000, " ")])
    to_tei, to_vllm = model_provider.requests
    cut = "a" * 8_000
    inputs = [list(PAIR), [cut, "-"]]
    assert to_tei == {"path": "/tei/predict", "key": "Bearer secret", "inputs": inputs, "truncate": True}
    assert to_vllm == {
        "path": "/v1/score",
        "key": "Bearer secret",
        "model": "test-nli",
        "text_1": [PAIR[0], cut],
        "text_2": [PAIR[1], "-"],
    }


def test_nothing_is_sent_for_no_pairs(model_provider: ProviderServer, dialect: str) -> None:
    assert remote(model_provider, dialect).entail([]) == []
    assert model_provider.requests == []


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"CONTRADICTION": 0.1, "Neutral": 0.2, "Entailment": 0.7}, 0.7),
        ({"not_entailment": 0.4, "entailment": 0.6}, 0.6),
        ({"hallucinated": 0.2, "consistent": 0.8}, 0.8),
        ({"unsupported": 0.7, "supported": 0.3}, 0.3),
    ],
)
def test_labels_that_mean_entailment(model_provider: ProviderServer, labels: dict[str, float], expected: float) -> None:
    rows = [{"label": label, "score": probability} for label, probability in labels.items()]
    model_provider.fail(200, body=json.dumps([rows]).encode())
    assert remote(model_provider).entail([PAIR]) == [expected]


def test_scores_outside_0_to_1_are_scaled(model_provider: ProviderServer) -> None:
    rows = [{"index": index, "score": score} for index, score in enumerate((-900, 3.5, 0.0))]
    model_provider.fail(200, body=json.dumps({"data": rows}).encode())
    low, high, middle = remote(model_provider, SCORE).entail([PAIR] * 3)
    assert 0 <= low < middle == 0.5 < high <= 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b"[[]]",
        b'[[{"label": "LABEL_2", "score": 0.9}]]',
        b'[[{"label": "entailment", "score": NaN}]]',
        b'[[{"label": "entailment", "score": null}]]',
        b'[{"label": "entailment", "score": 0.9}]',
        b'[[{"label": "entailment", "score": 0.9}], [{"label": "entailment", "score": 0.9}]]',
        b'{"data": [{"index": 7, "score": 0.9}]}',
        b'{"data": [{"index": 0, "score": Infinity}]}',
    ],
)
def test_replies_that_cannot_be_read(model_provider: ProviderServer, dialect: str, body: bytes) -> None:
    """A model whose labels are only numbered is not guessed: its order differs between models."""
    model_provider.fail(200, body=body)
    with pytest.raises(EntailmentFailed, match="cannot be read"):
        remote(model_provider, dialect).entail([PAIR])


@pytest.mark.parametrize("status", [400, 401, 413, 424, 429, 500])
def test_error_statuses(model_provider: ProviderServer, dialect: str, status: int) -> None:
    model_provider.fail(status)
    with pytest.raises(EntailmentFailed, match=str(status)) as failure:
        remote(model_provider, dialect).entail([PAIR])
    assert failure.value.is_rate_limited is (status == 429)


def test_timeouts_and_unreachable_endpoints(model_provider: ProviderServer, dialect: str) -> None:
    model_provider.stall.clear()
    with pytest.raises(EntailmentFailed) as failure:
        remote(model_provider, dialect, timeout=0.2).entail([PAIR] * 70)
    assert failure.value.is_timeout
    assert len(model_provider.requests) == 1, "the deadline is for all requests together"
    model_provider.stall.set()
    unreachable = RemoteEntailmentModel(name="r", base_url="http://127.0.0.1:9", api_key="", timeout=1)
    with pytest.raises(EntailmentFailed, match="cannot be reached"):
        unreachable.entail([PAIR])


def test_the_model_of_the_settings(model_provider: ProviderServer, settings: Any) -> None:
    assert provider_factory.entailment_model() is None
    settings.RAG_ENTAILMENT_MODEL, settings.RAG_ENTAILMENT_API_KEY = "nli", "secret"
    for dialect, path in (("tei", "/tei/predict"), ("score", "/v1/score")):
        settings.RAG_ENTAILMENT_DIALECT = dialect
        settings.RAG_ENTAILMENT_BASE_URL = model_provider.base_url.replace("v1", PATHS[dialect]) + "/"
        model = provider_factory.entailment_model()
        assert model is not None
        assert (model.name, model.entail([PAIR])) == ("nli", [0.9])
        assert (model_provider.requests[-1]["path"], model_provider.requests[-1]["key"]) == (path, "Bearer secret")
