"""The agent contract's bodies."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from rag.contracts.common import fields
from rag.services.queries.agent_tools import source_url
from rag.types import AgentReply, Passage
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields

MIN_QUERY_CHARACTERS = 3
MAX_SELECTED_TEXT_CHARACTERS = 20_000


class RespondIn(serializers.Serializer[None]):
    """`query`: 3 to 2,000 characters. `user_selected_text`: at most 20,000 characters. Other lengths are a 422."""

    query = fields.Text("query", allow_blank=True)
    user_selected_text = fields.Text("user_selected_text", required=False, allow_null=True, allow_blank=True)
    top_k = fields.Integer("top_k", min_value=1, max_value=50, default=5)
    min_score = fields.Number("min_score", min_value=0.0, max_value=1.0, default=0.3)


class Unprocessable(ValidationError):
    status_code = 422


def check_lengths(values: ValidatedFields) -> ValidatedFields:
    """Check the lengths of the texts.

    Returns:
        The same values.

    Raises:
        Unprocessable: If a text is empty, too short or too long (contract, 422).
    """
    query, selected = values["query"], values.get("user_selected_text") or ""
    if not query.strip():
        raise Unprocessable({"query": "query must not be empty"})
    if len(query.strip()) < MIN_QUERY_CHARACTERS:
        raise Unprocessable({"query": f"query must have at least {MIN_QUERY_CHARACTERS} characters"})
    if len(query) > fields.MAX_QUESTION_CHARACTERS:
        raise Unprocessable({"query": f"query must have at most {fields.MAX_QUESTION_CHARACTERS:,} characters"})
    if len(selected) > MAX_SELECTED_TEXT_CHARACTERS:
        message = f"user_selected_text must have at most {MAX_SELECTED_TEXT_CHARACTERS:,} characters"
        raise Unprocessable({"user_selected_text": message})
    return values


class Chunk(TypedDict):
    """`source_url`: the document's link, or its path. `position`: index of the chunk in its document, from 0."""

    text: str
    source_url: str
    position: Count
    score: Share
    chunk_id: Id


class RespondOut(TypedDict):
    """`confidence_score`: 0 to 1; 0 unless `grounding_validation_passed`. `processing_time`: in seconds."""

    answer: str
    confidence_score: Share
    sources_used: list[str]
    processing_time: Annotated[float, {"minimum": 0}]
    grounding_validation_passed: bool
    retrieved_chunks: list[Chunk]


class HealthOut(TypedDict):
    """`openai_connected`: false if no language model is configured."""

    status: Annotated[str, {"enum": ["healthy", "unhealthy"]}]
    openai_connected: bool
    qdrant_connected: bool
    retrieval_tool_working: bool
    timestamp: datetime.datetime


class Error(TypedDict):
    type: str
    message: str
    details: dict[str, object] | None
    timestamp: datetime.datetime


class ErrorBody(TypedDict):
    error: Error


def respond_out(reply: AgentReply) -> RespondOut:
    return {
        "answer": reply.text,
        "confidence_score": reply.confidence,
        "sources_used": list(reply.sources),
        "processing_time": reply.duration_seconds,
        "grounding_validation_passed": reply.is_grounded,
        "retrieved_chunks": [_chunk_out(passage) for passage in reply.passages],
    }


def _chunk_out(passage: Passage) -> Chunk:
    return {
        "text": passage.text,
        "source_url": source_url(passage),
        "position": passage.position,
        "score": passage.score,
        "chunk_id": str(passage.chunk_id),
    }


def health_out(checks: dict[str, bool | None], now: datetime.datetime) -> HealthOut:
    """Render the result of `readiness_checks.check_agent_components`; None means not configured."""
    return {
        "status": "healthy" if False not in checks.values() else "unhealthy",
        "openai_connected": bool(checks["language_model"]),
        "qdrant_connected": bool(checks["vector_store"]),
        "retrieval_tool_working": bool(checks["retrieval"]),
        "timestamp": now,
    }
