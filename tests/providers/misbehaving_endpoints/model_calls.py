"""Calls of each kind of model behind an endpoint, and the responses that such an endpoint sends."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rag.errors import EmbeddingFailed, EntailmentFailed, GenerationFailed, RerankFailed
from rag.providers.embedders.openai import OpenAIEmbedder
from rag.providers.entailment.remote import SCORE, TEI, RemoteEntailmentModel
from rag.providers.language_models.agent_loop import AgentLoop
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.providers.rerankers.cohere import CohereReranker
from rag.services.queries.agent import selected_text_passage
from rag.types import Message
from tests.support.servers.broken_http_server import BrokenHttpServer

MESSAGES = [Message("user", "Where are the bicycles?")]
JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def model(upstream: BrokenHttpServer, timeout: float = 1.0) -> OpenAILanguageModel:
    return OpenAILanguageModel(name="test-model", base_url=upstream.address, api_key="secret", timeout=timeout)


def complete(upstream: BrokenHttpServer, timeout: float = 1.0) -> str:
    return model(upstream, timeout).complete(MESSAGES)


def stream(upstream: BrokenHttpServer, timeout: float = 1.0) -> str:
    return "".join(model(upstream, timeout).stream(MESSAGES))


def rank(upstream: BrokenHttpServer, timeout: float = 1.0) -> list[float]:
    reranker = CohereReranker(name="test-ranker", base_url=upstream.address, api_key="secret", timeout=timeout)
    return reranker.rank("bicycles", [selected_text_passage("Bicycles are parked in the yard.")])


def entail(upstream: BrokenHttpServer, timeout: float = 1.0, dialect: str = TEI) -> list[float]:
    base_url = upstream.address
    model = RemoteEntailmentModel(name="test-nli", base_url=base_url, api_key="", timeout=timeout, dialect=dialect)
    return model.entail([("Bicycles are parked in the yard.", "The yard has bicycles.")])


def score(upstream: BrokenHttpServer, timeout: float = 1.0) -> list[float]:
    return entail(upstream, timeout, SCORE)


def embed(upstream: BrokenHttpServer, timeout: float = 1.0) -> Any:
    options: dict[str, Any] = {"base_url": upstream.address, "api_key_variable": "", "max_retries": 0}
    return OpenAIEmbedder(model="test-embedder", dimensions=384, timeout=timeout, **options).embed(["bicycles"])


def run_agent(upstream: BrokenHttpServer, timeout: float = 1.0) -> str:
    loop = AgentLoop(name="test-model", base_url=upstream.address, api_key="secret", timeout=timeout)
    return loop.run(instructions="", text="Where are the bicycles?", tools=[])


def completion(content: Any, **message: Any) -> bytes:
    return json.dumps({"choices": [{"index": 0, "message": {"content": content, **message}}]}).encode()


def token(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


Call = Callable[[BrokenHttpServer, float], Any]
FAILURES = (GenerationFailed, RerankFailed, EntailmentFailed, EmbeddingFailed)
CALLS = pytest.mark.parametrize("call", [complete, stream, rank, entail, score, embed])
