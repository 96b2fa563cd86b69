"""The fields of search (contract, Endpoint 1); both endpoints have the same request."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import SourceType
from rag.types import Filters, Mode, Passage, Question
from ragsite.http.openapi import ErrorBody
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields


class FiltersIn(serializers.Serializer[None]):
    source_type = fields.Choice("filters.source_type", choices=SourceType.values, required=False)
    lang = fields.Text("filters.lang", max_length=20, required=False)
    org_id = fields.Id("filters.org_id", required=False)
    date_from = fields.Timestamp("filters.date_from", required=False)
    date_to = fields.Timestamp("filters.date_to", required=False)


class SearchIn(serializers.Serializer[None]):
    query_text = fields.Text("query_text", max_length=500)
    top_k = fields.Integer("top_k", min_value=1, max_value=50, default=8)
    filters = FiltersIn(required=False)


def build_question(values: ValidatedFields) -> Question:
    """Return the question with its filters. `filters.org_id` is not one of them: it selects the data sources."""
    filters = values.get("filters", {})
    return Question(
        text=values["query_text"],
        top_k=values["top_k"],
        filters=Filters(
            source_types=_as_tuple(filters.get("source_type")),
            langs=_as_tuple(filters.get("lang")),
            date_from=filters.get("date_from"),
            date_to=filters.get("date_to"),
        ),
        mode=Mode.DENSE,
    )


def _as_tuple(value: str | None) -> tuple[str, ...]:
    return () if value is None else (value,)


class RetrievalError(ErrorBody):
    """`status`: "error"."""

    status: Annotated[str, {"const": "error"}]


class Result(TypedDict):
    """`source_id`, `source_type`, `source_title`, `source_uri`: of the document. `rank`: from 1."""

    chunk_id: Id
    source_id: Id
    score: Share
    snippet: str
    source_type: Annotated[str, {"enum": SourceType.values}]
    source_title: str
    source_uri: str | None
    meta: dict[str, object]
    rank: Count


class SearchOut(TypedDict):
    status: Annotated[str, {"const": "success"}]
    query_text: str
    results: list[Result]
    total_found: Count
    processing_time_ms: Count


def search_out(passages: tuple[Passage, ...], *, query_text: str, time_ms: int) -> SearchOut:
    return {
        "status": "success",
        "query_text": query_text,
        "results": [_result(passage) for passage in passages],
        "total_found": len(passages),
        "processing_time_ms": time_ms,
    }


def _result(passage: Passage) -> Result:
    return {
        "chunk_id": str(passage.chunk_id),
        "source_id": str(passage.document_id),
        "score": passage.score,
        "snippet": passage.snippet,
        "source_type": passage.source_type,
        "source_title": passage.title,
        "source_uri": passage.uri or None,
        "meta": meta(passage),
        "rank": passage.rank,
    }


def meta(passage: Passage) -> dict[str, object]:
    """Return the document's metadata together with `org_id`, `date` and, if the document has pages, `page`.

    `date` is the document's own; without one it is the date in the metadata.
    """
    fixed = {"org_id": str(passage.organization_id)}
    return {"date": None, **passage.metadata_with_pages, **fixed, **({"date": passage.date} if passage.date else {})}
