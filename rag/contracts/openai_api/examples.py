"""Bodies for the OpenAPI schema's examples."""

MODEL: dict[str, object] = {
    "id": "ragsite/office",
    "object": "model",
    "created": 1769860800,
    "owned_by": "acme",
    "name": "Office",
}
MODELS: dict[str, object] = {"object": "list", "data": [MODEL]}
CHAT: dict[str, object] = {
    "model": "ragsite/office",
    "messages": [{"role": "user", "content": "Where are the bikes?"}],
}
_ANSWER = "The bikes are in the yard. [1]"
_CITATION: dict[str, object] = {
    "start_index": 27,
    "end_index": 30,
    "url": "handbook/bikes.md",
    "title": "Bikes",
    "quote": "The bikes are in the yard.",
    "document_id": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
    "chunk_id": "0198c5c0-5d41-7a10-8c55-7e2b9f4d6c08",
    "score": 0.71,
}
COMPLETION: dict[str, object] = {
    "id": "chatcmpl-0b9e6f0e4f0c4f6b9d552f1f6f3f8a11",
    "object": "chat.completion",
    "created": 1769860800,
    "model": "ragsite/office",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": _ANSWER,
                "refusal": None,
                "annotations": [{"type": "url_citation", "url_citation": _CITATION}],
            },
            "finish_reason": "stop",
            "logprobs": None,
        }
    ],
    "usage": {"prompt_tokens": 120, "completion_tokens": 10, "total_tokens": 130},
}
CHUNKS = 'data: {…"choices":[{"index":0,"delta":{"content":"The bikes"},…}]}\n\ndata: [DONE]\n\n'
EMBEDDING: dict[str, object] = {"model": "all-MiniLM-L6-v2", "input": ["The bikes are in the yard."]}
EMBEDDED: dict[str, object] = {
    "object": "list",
    "data": [{"object": "embedding", "index": 0, "embedding": [0.0421, -0.0182]}],
    "model": "all-MiniLM-L6-v2",
    "usage": {"prompt_tokens": 9, "total_tokens": 9},
}
