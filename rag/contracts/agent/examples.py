"""Bodies for the OpenAPI schema's examples: the contract's own."""

REQUEST: dict[str, object] = {
    "query": "What are the main differences between ROS and ROS2?",
    "top_k": 3,
    "min_score": 0.5,
}
RESPONSE: dict[str, object] = {
    "answer": "ROS2 was designed to address several limitations of ROS1 including improved security, better real-time "
    "support, and multi-platform compatibility...",
    "confidence_score": 0.85,
    "sources_used": ["https://example.com/ros2-introduction"],
    "processing_time": 4.2,
    "grounding_validation_passed": True,
    "retrieved_chunks": [
        {
            "text": "ROS2 introduces several improvements over ROS1 including enhanced security features, better "
            "real-time support, and improved multi-platform compatibility...",
            "source_url": "https://example.com/ros2-introduction",
            "position": 2,
            "score": 0.89,
            "chunk_id": "0198c5c0-5d41-7a10-8c55-7e2b9f4d6c08",
        }
    ],
}
HEALTHY: dict[str, object] = {
    "status": "healthy",
    "openai_connected": False,
    "qdrant_connected": True,
    "retrieval_tool_working": True,
    "timestamp": "2026-01-31T12:00:00Z",
}
