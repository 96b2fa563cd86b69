"""The OpenAI-compatible embedder against a server with the faults of real ones."""

import email.utils
import json
import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rag.errors import EmbeddingFailed
from rag.providers.http.openai_client import parse_retry_after
from tests.providers.test_embedders import remote
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=768).running() as server:
        yield server


def test_texts_are_sent_in_batches(model_provider: ProviderServer) -> None:
    embedder, texts = remote(model_provider), [f"text {number} zebra" for number in range(300)]
    vectors = embedder.embed(texts)
    assert sorted(len(request["input"]) for request in model_provider.requests) == [44, 128, 128]
    assert {request["model"] for request in model_provider.requests} == {"test-model"}
    np.testing.assert_array_equal(vectors[[0, 127, 128, 299]], embedder.embed([texts[0], *texts[127:129], texts[299]]))


@pytest.mark.parametrize(("has_failed", "at_once"), [(False, 3), (True, 1)])
def test_requests_are_sent_together_if_the_latest_answer_came_quickly(
    model_provider: ProviderServer, eventually: Callable[..., object], has_failed: bool, at_once: int
) -> None:
    """One that is overloaded or down is not asked several times at once."""
    embedder = remote(model_provider)
    embedder.embed(["quick"])
    if has_failed:
        model_provider.fail(400)
        with pytest.raises(EmbeddingFailed):
            embedder.embed(["refused"])
    model_provider.requests.clear()
    model_provider.stall.clear()
    with ThreadPoolExecutor(1) as executor:
        vectors = executor.submit(embedder.embed, ["text"] * 300)
        try:
            eventually(lambda: len(model_provider.requests) == at_once)
        finally:
            model_provider.stall.set()
        assert vectors.result().shape == (300, 768)
    assert len(model_provider.requests) == 3


def test_retry_after_is_respected(model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("rag.providers.embedders.openai.time.sleep", pauses.append)
    model_provider.fail(429, Retry_After="1")
    remote(model_provider).embed(["zebra"])
    assert len(model_provider.requests) == 2
    assert pauses == [1.0]


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_temporary_errors_are_retried(model_provider: ProviderServer, status: int) -> None:
    model_provider.fail(status, retry_after_ms="1")
    assert remote(model_provider).embed(["zebra"]).shape == (1, 768)
    assert len(model_provider.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_request_is_sent_three_times_at_most(model_provider: ProviderServer, status: int) -> None:
    for _ in range(3):
        model_provider.fail(status, retry_after_ms="1")
    with pytest.raises(EmbeddingFailed) as caught:
        remote(model_provider).embed(["zebra"])
    assert caught.value.is_retryable
    assert len(model_provider.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_permanent_errors_are_not_retried(model_provider: ProviderServer, status: int) -> None:
    model_provider.fail(status)
    with pytest.raises(EmbeddingFailed) as caught:
        remote(model_provider).embed(["a very secret text"])
    assert caught.value.is_retryable is False
    assert len(model_provider.requests) == 1
    assert "as the test asked" not in caught.value.message


@pytest.mark.parametrize(
    "body",
    [b"not json", b"{}", b'{"data": []}', b'{"data": [{"index": 0, "embedding": [1, 2]}]}',
     b'{"data": [{"index": 0, "embedding": "AAAA"}]}', b'{"data": [{"index": 0, "embedding": [null]}]}',
     b'{"data": [{"index": 0, "embedding": [1%s]}]}' % (b"0" * 400), b'{"data": ' + b"[" * 100_000],
    ids=lambda body: body[:45].decode(),
)  # fmt: skip
def test_responses_that_are_no_embeddings(model_provider: ProviderServer, body: bytes) -> None:
    model_provider.fail(200, body=body)
    with pytest.raises(EmbeddingFailed):
        remote(model_provider, max_retries=0).embed(["zebra"])


def test_vectors_that_are_not_finite_are_named_as_such(model_provider: ProviderServer) -> None:
    """The shape alone would be right: "shape (1, 768), not (1, 768)"."""
    model_provider.fail(200, body=json.dumps({"data": [{"index": 0, "embedding": [math.nan] * 768}]}).encode())
    with pytest.raises(EmbeddingFailed, match="of finite numbers is needed"):
        remote(model_provider, max_retries=0).embed(["zebra"])


def test_a_call_to_a_hanging_server_times_out(model_provider: ProviderServer) -> None:
    model_provider.stall.clear()
    with pytest.raises(EmbeddingFailed, match="in time"):
        remote(model_provider, timeout=0.2, max_retries=1).embed(["zebra"])
    assert model_provider.answered == 0, "the call ended before the endpoint answered"


def test_long_waits_are_left_to_the_caller(model_provider: ProviderServer) -> None:
    """A worker processes other documents meanwhile."""
    model_provider.fail(429, Retry_After="3600")
    with pytest.raises(EmbeddingFailed) as caught:
        remote(model_provider).embed(["zebra"])
    assert (caught.value.retry_after_seconds, caught.value.is_rate_limited) == (3600, True)
    model_provider.stall.clear()
    with pytest.raises(EmbeddingFailed, match="in time"):
        remote(model_provider, timeout=0.2).embed(["zebra"])
    assert (len(model_provider.requests), model_provider.answered) == (2, 1), (
        "the second call ended before the endpoint answered"
    )


def test_retry_after_in_every_format() -> None:
    http_date = email.utils.formatdate(time.time() + 60, usegmt=True)
    for headers, seconds in (
        ({}, None),
        ({"retry-after": "20"}, 20),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "20"}, 1.5),
        ({"retry-after": http_date}, 60),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0),
        ({"retry-after": "-5"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
    ):
        expected = None if seconds is None else pytest.approx(seconds, abs=2 if seconds == 60 else 0.001)
        assert parse_retry_after(headers) == expected, headers


def test_an_unreachable_endpoint() -> None:
    stopped = ProviderServer(dimensions=768)
    stopped._server.server_close()
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        remote(stopped, max_retries=0).embed(["zebra"])


def test_the_key_comes_from_the_named_variable(model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_EMBEDDING_API_KEY", "sk-test")
    remote(model_provider, api_key_variable="MY_EMBEDDING_API_KEY").embed(["zebra"])
    assert model_provider.requests[0]["key"] == "Bearer sk-test"
    monkeypatch.delenv("MY_EMBEDDING_API_KEY")
    with pytest.raises(EmbeddingFailed, match="Set MY_EMBEDDING_API_KEY"):
        remote(model_provider, api_key_variable="MY_EMBEDDING_API_KEY").embed(["zebra"])
