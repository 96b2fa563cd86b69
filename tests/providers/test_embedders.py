"""The conformance suite of embedders: each implementation must keep the promises of rag.providers.base.Embedder."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from django.conf import settings

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.providers import provider_factory
from rag.providers.base import Embedder
from rag.providers.embedders.fallback_endpoint import FallbackEmbedder
from rag.providers.embedders.local import LocalEmbedder
from rag.providers.embedders.openai import OpenAIEmbedder
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture(scope="module")
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=768).running() as server:
        yield server


def remote(model_provider: ProviderServer, **changes: Any) -> OpenAIEmbedder:
    values = {
        "model": "test-model",
        "dimensions": 768,
        "base_url": model_provider.base_url,
        "api_key_variable": "",
        "timeout": 5.0,
        "max_retries": 2,
    }
    return OpenAIEmbedder(**{**values, **changes})


@pytest.fixture(scope="module", params=["local", "openai", "fallback"])
def embedder(request: pytest.FixtureRequest, model_provider: ProviderServer) -> Embedder:
    if request.param == "local":
        return LocalEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)
    if request.param == "fallback":
        return FallbackEmbedder(
            remote(model_provider, base_url="http://127.0.0.1:9/v1", max_retries=0), remote(model_provider)
        )
    return remote(model_provider)


def test_a_second_endpoint_of_the_same_model(model_provider: ProviderServer) -> None:
    """The v3 contract, section 4, "Fallback": only called if the first one fails; configured in the row."""
    with ProviderServer(dimensions=768).running() as second:
        row = EmbeddingModel(
            name="test-model", provider="openai", dimensions=768, base_url=model_provider.base_url,
            fallback_base_url=second.base_url,
        )  # fmt: skip
        first = provider_factory.embedder(row).embed(["zebra"])
        assert second.requests == []
        model_provider.fail(401)
        assert np.allclose(provider_factory.embedder(row).embed(["zebra"]), first)
        assert [request["model"] for request in second.requests] == ["test-model"]
        model_provider.fail(401)
        second.fail(401)
        with pytest.raises(EmbeddingFailed):
            provider_factory.embedder(row).embed(["zebra"])


ODD_TEXTS = ["", " ", "\n", "a", "zebra " * 3000, "日本語", "🦓🦓", "x" * 5000, "\u0301", "[CLS] [SEP]"]


def test_shape_type_and_length(embedder: Embedder) -> None:
    vectors = embedder.embed(["one", "two", "three"])
    assert vectors.shape == (3, embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_odd_texts_have_finite_unit_vectors(embedder: Embedder) -> None:
    vectors = embedder.embed(ODD_TEXTS)
    assert np.isfinite(vectors).all()
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_vector_does_not_depend_on_batch_or_order(embedder: Embedder) -> None:
    texts = [f"text number {number} " + "zebra " * number for number in range(embedder.batch_size + 5)]
    together = embedder.embed(texts)
    assert np.allclose(embedder.embed(texts[::-1])[::-1], together, atol=1e-5)
    alone = np.concatenate([embedder.embed([text]) for text in texts[::7]])
    assert np.allclose(alone, together[::7], atol=1e-5)


def test_similar_texts_have_similar_vectors(embedder: Embedder) -> None:
    zebra, similar, other = embedder.embed(["zebras have stripes", "stripes of zebras", "quarterly revenue report"])
    assert zebra @ similar > zebra @ other + 0.2


def test_threads_may_share_an_embedder(embedder: Embedder) -> None:
    texts = [f"thread {number} of the zebra" for number in range(32)]
    expected = embedder.embed(texts)
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(lambda text: embedder.embed([text])[0], texts))
    assert np.allclose(np.stack(vectors), expected, atol=1e-5)


def test_long_texts_are_embedded_completely(embedder: Embedder) -> None:
    """The last words change the vector of a text that is far longer than the model's window."""
    filler = "the quick brown fox jumps over the lazy dog. " * 200
    plain, ending = embedder.embed([filler, filler + "Zebras are striped African equines. " * 40])
    assert plain @ ending < 0.995
    assert embedder.embed(["zebras"])[0] @ ending > embedder.embed(["zebras"])[0] @ plain + 0.05
