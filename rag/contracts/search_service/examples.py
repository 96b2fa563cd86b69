"""Bodies for the OpenAPI schema's examples: the contract's own."""

SEARCH: dict[str, object] = {
    "query": "What is a node?",
    "top_k": 5,
    "filters": {"content_type": "documentation", "tags": ["tutorial", "beginner"]},
}
_QUERY_ID = "0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20"
_RESULT = {
    "id": "0198c5c0-5d41-7a10-8c55-7e2b9f4d6c08",
    "content": "A node in robotics is a computational unit that performs specific functions...",
    "score": 0.87,
    "source_url": "https://example.com/docs/nodes",
    "source_file_path": "/docs/nodes.md",
    "chunk_index": 2,
    "metadata": {
        "title": "Understanding Nodes in Robotics",
        "source_domain": "example.com",
        "content_type": "documentation",
        "tags": ["robotics", "architecture", "components"],
    },
}
RESULTS: dict[str, object] = {
    "query_id": _QUERY_ID,
    "results": [_RESULT],
    "total_results": 1,
    "search_time_ms": 120.5,
    "message": "Search completed successfully",
}
DETAILS: dict[str, object] = {
    "query_id": _QUERY_ID,
    "query_text": "What is a node?",
    "results": [_RESULT],
    "total_results": 1,
    "search_time_ms": 120.5,
    "created_at": "2025-12-24T10:30:00Z",
}
