"""Bodies for the OpenAPI schema's examples: of the contract's own commands and bodies."""

DOCUMENT: dict[str, object] = {"source": "github", "path": "/doc", "title": "Test", "text": "Content", "tags": ["docs"]}
INGESTED: dict[str, object] = {
    "status": "created",
    "documentId": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
    "chunkCount": 1,
}
_RESULT = {
    "text": "Content",
    "score": 0.71,
    "metadata": {
        "documentId": INGESTED["documentId"],
        "source": "github",
        "path": "/doc",
        "title": "Test",
        "chunkIndex": 0,
        "tags": ["docs"],
    },
}
SEARCH: dict[str, object] = {"query": "test query", "topK": 5}
PASSAGES: dict[str, object] = {"query": SEARCH["query"], "resultCount": 1, "results": [_RESULT]}
CHAT: dict[str, object] = {
    "model": "llama2",
    "messages": [{"role": "user", "content": "Where are the bicycles parked?"}],
    "useRag": True,
    "ragTopK": 5,
    "ragFilters": {"source": "github", "tags": ["docs"]},
}
_SOURCE = {"text": "Bicycles are parked in the yard.", "score": 0.71, "source": "github", "title": "Bicycles"}
CHAT_REPLY: dict[str, object] = {
    "status": "success",
    "data": {
        "message": "Bicycles are parked in the yard. (Bicycles)",
        "conversationId": "0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20",
    },
    "ragUsed": True,
    "ragSources": [_SOURCE],
}
