"""The search service's fields (contract, sections 1 and 2)."""

import datetime
from typing import Annotated, TypedDict
from urllib.parse import urlsplit

from rest_framework import serializers

from rag.contracts.common import fields
from rag.types import Filters, Mode, Passage, Question, SearchResult
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields

_EMPTY_QUERY = "Query must not be empty"


class FiltersIn(serializers.Serializer[None]):
    content_type = fields.Text("filters.content_type", required=False, max_length=200)
    tags = fields.Tags("filters.tags", required=False)

    schema_rules = {"additionalProperties": False}

    def to_internal_value(self, data: object) -> ValidatedFields:
        if isinstance(data, dict) and not set(data) <= set(self.fields):
            raise serializers.ValidationError("Unknown filter. Supported filters: content_type, tags")
        values: ValidatedFields = super().to_internal_value(data)
        return values


class SearchIn(serializers.Serializer[None]):
    query = fields.Text(
        "query",
        max_length=fields.MAX_QUESTION_CHARACTERS,
        messages={
            **dict.fromkeys(("required", "null", "blank"), _EMPTY_QUERY),
            "invalid": "query must be a string",
            "max_length": "query must have at most {max_length:,} characters",
        },
    )
    top_k = fields.Integer("top_k", min_value=1, max_value=10, default=5)
    filters = FiltersIn(required=False)


def build_question(values: ValidatedFields) -> Question:
    filters = values.get("filters", {})
    content_types = (filters["content_type"],) if "content_type" in filters else ()
    return Question(
        text=values["query"],
        top_k=values["top_k"],
        filters=Filters(content_types=content_types, tags=tuple(filters.get("tags", ()))),
        mode=Mode.DENSE,
    )


class ResultMetadata(TypedDict):
    title: str
    source_domain: str
    content_type: str
    tags: list[str]


class Result(TypedDict):
    """`source_url` and `metadata.source_domain`: empty if the document has no link."""

    id: Id
    content: str
    score: Share
    source_url: str
    source_file_path: str
    chunk_index: Count
    metadata: ResultMetadata


class SearchOut(TypedDict):
    """`search_time_ms`: milliseconds with one decimal."""

    query_id: Id
    results: list[Result]
    total_results: Count
    search_time_ms: Annotated[float, {"minimum": 0}]
    message: str


class SearchDetailsOut(TypedDict):
    """`results`: those that the caller may still read. `search_time_ms`: duration of the original search."""

    query_id: Id
    query_text: str
    results: list[Result]
    total_results: Count
    search_time_ms: Annotated[float, {"minimum": 0}]
    created_at: datetime.datetime


def search_out(searched: SearchResult) -> SearchOut:
    return {
        "query_id": str(searched.query_id),
        "results": [_result(passage) for passage in searched.passages],
        "total_results": len(searched.passages),
        "search_time_ms": searched.time_ms,
        "message": "Search completed successfully",
    }


def details_out(searched: SearchResult) -> SearchDetailsOut:
    return {
        "query_id": str(searched.query_id),
        "query_text": searched.text,
        "results": [_result(passage) for passage in searched.passages],
        "total_results": len(searched.passages),
        "search_time_ms": searched.time_ms,
        "created_at": searched.created_at,
    }


def _result(passage: Passage) -> Result:
    return {
        "id": str(passage.chunk_id),
        "content": passage.text,
        "score": passage.score,
        "source_url": passage.uri,
        "source_file_path": passage.path,
        "chunk_index": passage.position,
        "metadata": {
            "title": passage.title,
            "source_domain": _host(passage.uri),
            "content_type": passage.content_type,
            "tags": list(passage.tags),
        },
    }


def _host(link: str) -> str:
    """Return the host of a URL in lower case, without port and credentials; empty if the URL has no host."""
    try:
        return urlsplit(link).hostname or ""
    except ValueError:  # a document path may look like a malformed URL
        return ""
