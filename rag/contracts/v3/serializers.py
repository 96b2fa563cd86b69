"""The fields of ingestion and search (contract, sections 2.1 and 2.2)."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.types import Filters, IndexOutcome, Mode, Passage, Question, Submission
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields


class IngestIn(serializers.Serializer[None]):
    source = fields.Slug("source")  # type: ignore[assignment]  # DRF removes declared fields from the class
    path = fields.Path("path")
    title = fields.Text("title", max_length=1000)
    text = fields.Text("text")
    hash = fields.Text("hash", max_length=200, required=False)
    tags = fields.Tags("tags", required=False)
    metadata = fields.Metadata("metadata", required=False)


def build_submission(values: ValidatedFields) -> Submission:
    return Submission(
        path=values["path"],
        title=values["title"],
        text=values["text"],
        content_hash=values.get("hash", ""),
        tags=tuple(values.get("tags", ())),
        metadata=values.get("metadata", {}),
        uri=values["path"] if values["path"].startswith(("https://", "http://")) else "",
    )


class IngestOut(TypedDict):
    """Exactly these fields: additional ones would break clients (contract, 2.1)."""

    status: Annotated[str, {"enum": ["created", "updated", "unchanged"]}]
    documentId: Id
    chunkCount: Count


def ingest_out(outcome: IndexOutcome) -> IngestOut:
    return {"status": outcome.status, "documentId": str(outcome.document_id), "chunkCount": outcome.chunk_count}


class FiltersIn(serializers.Serializer[None]):
    source = fields.Reference("source", required=False)  # type: ignore[assignment]  # named as DRF's attribute
    tags = fields.Tags("tags", required=False)


class SearchIn(serializers.Serializer[None]):
    query = fields.Text("query", max_length=fields.MAX_QUESTION_CHARACTERS)
    topK = fields.Integer("topK", min_value=1, max_value=20, default=5)
    minScore = fields.Number("minScore", min_value=0.0, max_value=1.0, default=0.0)
    filters = FiltersIn(required=False)


def build_question(values: ValidatedFields) -> Question:
    filters = values.get("filters", {})
    return Question(
        text=values["query"],
        top_k=values["topK"],
        min_score=values["minScore"],
        mode=Mode.DENSE,
        filters=Filters(tags=tuple(filters.get("tags", ()))),
    )


class ResultMetadata(TypedDict):
    documentId: Id
    source: str
    path: str
    title: str
    chunkIndex: Count
    tags: list[str]


class Result(TypedDict):
    text: str
    score: Share
    metadata: ResultMetadata


class SearchOut(TypedDict):
    query: str
    resultCount: Count
    results: list[Result]


def search_out(passages: tuple[Passage, ...], *, query: str) -> SearchOut:
    return {"query": query, "resultCount": len(passages), "results": [_result(passage) for passage in passages]}


def _result(passage: Passage) -> Result:
    return {
        "text": passage.text,
        "score": passage.score,
        "metadata": {
            "documentId": str(passage.document_id),
            "source": passage.source_slug,
            "path": passage.path,
            "title": passage.title,
            "chunkIndex": passage.position,
            "tags": list(passage.tags),
        },
    }
