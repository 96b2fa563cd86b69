"""Bodies for the OpenAPI schema's examples: of the contract's own commands, where it has some."""

from rag.pipeline.answering.declined.no_answer_sentences import LOW_CONFIDENCE

SEARCH: dict[str, object] = {
    "query_text": "What did the customer say about pricing?",
    "top_k": 5,
    "filters": {"source_type": "transcript", "date_from": "2025-01-01T00:00:00Z"},
}
ANSWER: dict[str, object] = {
    "query_text": "Summarize customer feedback on our new feature",
    "top_k": 10,
    "filters": {"source_type": "email"},
}
_META = {"org_id": "0198c5bf-90aa-7e21-b6a3-51d7f00c9a3b", "date": "2025-03-01T09:00:00Z", "call_sid": "CA123"}
_SNIPPET = "The price is fine, but we would rather pay by the year."
CHUNKS: dict[str, object] = {
    "status": "success",
    "query_text": SEARCH["query_text"],
    "results": [
        {
            "chunk_id": "0198c5c0-5d41-7a10-8c55-7e2b9f4d6c08",
            "source_id": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
            "score": 0.87,
            "snippet": _SNIPPET,
            "source_type": "transcript",
            "source_title": "Call of 1 March",
            "source_uri": None,
            "meta": _META,
            "rank": 1,
        }
    ],
    "total_found": 1,
    "processing_time_ms": 42,
}
_CITATION = {
    "source_id": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
    "source_type": "email",
    "source_title": "About the new feature",
    "source_uri": "https://example.com/mails/1",
    "snippet": "We use it every day; only the export is slow.",
    "relevance_score": 0.81,
    "meta": _META,
}
ANSWERED: dict[str, object] = {
    "status": "success",
    "query_text": ANSWER["query_text"],
    "answer": {
        "text": "We use it every day; only the export is slow. (About the new feature)",
        "confidence": "high",
        "model": "extractive",
        "generated_at": "2026-01-31T12:00:00Z",
    },
    "citations": [_CITATION],
    "context_used": {"chunks_retrieved": 1, "unique_sources": 1, "avg_relevance": 0.81},
    "processing_time_ms": 97,
}
INSUFFICIENT: dict[str, object] = {
    **ANSWERED,
    "status": "insufficient_context",
    "answer": {
        "text": LOW_CONFIDENCE,
        "confidence": "low",
        "model": None,
        "generated_at": "2026-01-31T12:00:00Z",
    },
    "citations": [{**_CITATION, "relevance_score": 0.42}],
    "context_used": {"chunks_retrieved": 1, "unique_sources": 1, "avg_relevance": 0.42},
}
