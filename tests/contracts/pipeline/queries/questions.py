"""A question about bicycles, and what the reply to it contains."""

from collections.abc import Callable
from typing import Any

from tests.support.http import Client

Api = Callable[..., Client]
OUTPUTS = {
    *("documents", "scores", "totalFound", "dataSources"),  # sub-contract 2
    *("prompt", "includedDocs", "tokenCount", "citations"),  # 3
    *("isGroundable", "groundingScore", "relevantDocs", "gaps"),  # 4
    *("answer", "citationsUsed", "confidence"),  # 5
    *("warnings", "model", "citationsDropped", "unsupportedSentences"),
}
QUESTION = "Where are the bicycles parked?"


def ask(client: Client, **fields: Any) -> Any:
    return client.post("/api/rag/query", {"query": QUESTION, **fields})
