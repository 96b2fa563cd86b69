"""A hanging model does not block every thread: RAG_MAX_MODEL_CALLS requests wait, the others fail immediately."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.errors import EmbeddingFailed, GenerationFailed, ProviderFailed
from rag.providers.embedders.openai import OpenAIEmbedder
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.types import Message
from tests.support.servers.provider_server import ProviderServer

MESSAGES = [Message("user", "Where are the keys?")]


@pytest.fixture
def calls(model_provider: ProviderServer, settings: Any) -> Iterator[dict[str, Callable[[], Any]]]:
    """The kinds of model calls, with a limit of one call at a time."""
    settings.RAG_MAX_MODEL_CALLS = 1
    model = OpenAILanguageModel(name="m", base_url=model_provider.base_url, api_key="", timeout=10)
    embedder = OpenAIEmbedder(
        model="e", dimensions=384, base_url=model_provider.base_url, api_key_variable="", timeout=10, max_retries=0
    )
    yield {
        "complete": lambda: model.complete(MESSAGES),
        "stream": lambda: [*model.stream(MESSAGES)],
        "embed": lambda: embedder.embed(["keys"]),
    }
    model_provider.stall.set()


@pytest.mark.parametrize(
    ("first", "second", "failure"),
    [
        ("complete", "stream", GenerationFailed),
        ("stream", "complete", GenerationFailed),
        ("embed", "embed", EmbeddingFailed),
    ],
)
def test_a_call_beyond_the_limit_fails_at_once(
    calls: dict[str, Callable[[], Any]], model_provider: ProviderServer, eventually: Callable[..., object],
    first: str, second: str, failure: type[ProviderFailed],
) -> None:  # fmt: skip
    model_provider.stall.clear()
    waiting = threading.Thread(target=calls[first])
    waiting.start()
    try:
        eventually(lambda: model_provider.requests, seconds=10)
        with pytest.raises(failure, match="Too many requests wait") as caught:
            calls[second]()
        assert caught.value.is_rate_limited
        assert caught.value.is_retryable
        assert len(model_provider.requests) == 1
    finally:
        model_provider.stall.set()
        waiting.join()
    assert len(calls[second]()) > 0


def test_closing_a_stream_allows_the_next_call(model_provider: ProviderServer, settings: Any) -> None:
    settings.RAG_MAX_MODEL_CALLS = 1
    model = OpenAILanguageModel(name="m", base_url=model_provider.base_url, api_key="", timeout=10)
    stream: Any = model.stream(MESSAGES)
    next(stream)
    with pytest.raises(GenerationFailed):
        model.complete(MESSAGES)
    stream.close()
    assert model.complete(MESSAGES)
