"""A model that hangs does not take every thread with it: RAG_MAX_MODEL_CALLS requests wait, the others are told."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rag.errors import EmbeddingFailed, GenerationFailed, ProviderFailed
from rag.providers.embedders.openai import OpenAIEmbedder
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.types import Message
from tests.support.provider_server import ProviderServer

SAID = [Message("user", "Where are the keys?")]


@pytest.fixture
def calls(provider: ProviderServer, settings: Any) -> Iterator[dict[str, Callable[[], Any]]]:
    """The ways to ask a model, of which one may wait."""
    settings.RAG_MAX_MODEL_CALLS = 1
    model = OpenAILanguageModel(name="m", base_url=provider.base_url, api_key="", timeout=10)
    embedder = OpenAIEmbedder(
        model="e", dimensions=384, base_url=provider.base_url, api_key_variable="", timeout=10, max_retries=0
    )
    yield {
        "complete": lambda: model.complete(SAID),
        "stream": lambda: [*model.stream(SAID)],
        "embed": lambda: embedder.embed(["keys"]),
    }
    provider.stall.set()


@pytest.mark.parametrize(
    ("first", "second", "failure"),
    [
        ("complete", "stream", GenerationFailed),
        ("stream", "complete", GenerationFailed),
        ("embed",) * 2 + (EmbeddingFailed,),
    ],
)
def test_who_would_be_one_too_many_is_told_at_once(
    calls: dict[str, Callable[[], Any]], provider: ProviderServer, eventually: Callable[..., object],
    first: str, second: str, failure: type[ProviderFailed],
) -> None:  # fmt: skip
    provider.stall.clear()
    waiting = threading.Thread(target=calls[first])
    waiting.start()
    try:
        eventually(lambda: provider.requests, seconds=10)
        with pytest.raises(failure, match="Too many requests wait") as told:
            calls[second]()
        assert told.value.is_rate_limited
        assert told.value.is_retryable
        assert len(provider.requests) == 1
    finally:
        provider.stall.set()
        waiting.join()
    assert len(calls[second]()) > 0


def test_a_stream_that_is_left_gives_its_turn_back(provider: ProviderServer, settings: Any) -> None:
    settings.RAG_MAX_MODEL_CALLS = 1
    model = OpenAILanguageModel(name="m", base_url=provider.base_url, api_key="", timeout=10)
    stream: Any = model.stream(SAID)
    next(stream)
    with pytest.raises(GenerationFailed):
        model.complete(SAID)
    stream.close()
    assert model.complete(SAID)
