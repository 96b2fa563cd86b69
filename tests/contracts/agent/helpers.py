"""Requests to the agent, and what its language model received."""

import json
from collections.abc import Callable
from typing import Any

from tests.support.http import Client, Reply
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]
ZEBRAS = "Zebras have black and white stripes. A zebra sleeps standing up."
RETRIEVE, VALIDATE = "QdrantRetrievalTool", "GroundingValidatorTool"
KEYS = {
    "answer",
    "confidence_score",
    "sources_used",
    "processing_time",
    "grounding_validation_passed",
    "retrieved_chunks",
}
CHUNK_KEYS = {"text", "source_url", "position", "score", "chunk_id"}


def ask(client: Client, query: str = "What stripes do zebras have?", **fields: Any) -> Reply:
    return client.post("/agent/respond", {"query": query, **fields})


def tool_outputs(model_provider: ProviderServer) -> list[Any]:
    """The tool results in the last request to the model."""
    return [
        json.loads(message["content"])
        for message in model_provider.requests[-1]["messages"]
        if message["role"] == "tool"
    ]


def model_input(model_provider: ProviderServer, number: int = 0) -> Any:
    """The user message of a request to the model."""
    return json.loads(
        next(message["content"] for message in model_provider.requests[number]["messages"] if message["role"] == "user")
    )
