"""Retrieval's fields (pipeline contract, sub-contract 2)."""

import datetime
from typing import Annotated, Any, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.contracts.common.openapi import SOMETHING
from rag.models import SourceType
from rag.types import Filters, Mode, Passage, Question, Retrieval
from ragsite.http.openapi_types import Count, Id, Share


def _filter(names: list[str], value: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"field": {"enum": names}, "value": value}}


def _words(word: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [word, {"type": "array", "items": word, "minItems": 1, "maxItems": fields.MAX_TAGS}]}


class FilterIn(serializers.Serializer[Any]):
    """`Filter` is not spelled out by the contract: {"field", "value"}, as docs/contracts/pipeline.md says."""

    field = fields.Choice("field", among=["tags", "sourceType", "lang", "dateFrom", "dateTo"])
    value = fields.Anything()

    schema_rules = {
        "anyOf": [
            _filter(["tags"], _words({"type": "string", "pattern": SOMETHING, "maxLength": 200})),
            _filter(["lang"], _words({"type": "string", "pattern": SOMETHING, "maxLength": 20})),
            _filter(["sourceType"], _words({"type": "string", "enum": SourceType.values})),
            _filter(["dateFrom", "dateTo"], {"type": "string", "format": "date-time"}),
        ]
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        words = {"tags": fields.Text("value", max_length=200), "lang": fields.Text("value", max_length=20)}
        words["sourceType"] = fields.Choice("value", among=SourceType.values)
        name, value = attrs["field"], attrs["value"]
        kind: Any = fields.Timestamp("value")
        if name in words:
            kind = fields.BoundedList("value", child=words[name], at_least=1, at_most=fields.MAX_TAGS)
            value = value if isinstance(value, list) else [value]
        try:
            return {"field": name, "value": kind.run_validation(value)}
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"value": error.detail}) from None


class RetrieveIn(serializers.Serializer[Any]):
    query = fields.Text("query", max_length=fields.MAX_QUESTION_CHARACTERS)
    dataSources = fields.BoundedList(
        "dataSources", child=fields.Text("dataSources", max_length=100), at_least=1, at_most=100, required=False
    )
    topK = fields.Integer("topK", min_value=1, max_value=100, default=10)
    filters = fields.BoundedList("filters", child=FilterIn(), at_most=20, required=False)
    rerank = fields.Boolean("rerank", default=True)
    rerankModel = fields.Text("rerankModel", required=False, max_length=100)
    mode = fields.Choice("mode", among=[*Mode], required=False)


def question(values: dict[str, Any]) -> Question:
    chosen = {each["field"]: each["value"] for each in values.get("filters", [])}
    filters = Filters(
        tags=tuple(chosen.get("tags", ())),
        source_types=tuple(chosen.get("sourceType", ())),
        langs=tuple(chosen.get("lang", ())),
        date_from=chosen.get("dateFrom"),
        date_to=chosen.get("dateTo"),
    )
    return Question(
        text=values["query"],
        top_k=values["topK"],
        filters=filters,
        rerank=values["rerank"],
        rerank_model=values.get("rerankModel", "") if values["rerank"] else "",
        mode=Mode(values["mode"]) if "mode" in values else None,
        deduplicate=True,
    )


class PassageOut(TypedDict):
    """A passage. `start` and `end` are character offsets into the document's text."""

    chunkId: Id
    documentId: Id
    dataSourceId: Id
    title: str
    path: str
    uri: str | None
    text: str
    score: Share
    chunkIndex: Count
    start: Count
    end: Count
    headings: list[str]
    sourceType: Annotated[str, {"enum": SourceType.values}]
    lang: str | None
    tags: list[str]
    date: datetime.datetime | None
    metadata: dict[str, Any]


class RetrieveOut(TypedDict):
    """scores: the ranking's relevance of each document, 0…1, descending. totalFound: candidates before topK."""

    documents: list[PassageOut]
    scores: list[Share]
    totalFound: Count
    dataSources: list[Id]
    warnings: list[str]


def retrieval_out(found: Retrieval) -> RetrieveOut:
    return {
        "documents": [passage_out(passage) for passage in found.passages],
        "scores": [passage.relevance for passage in found.passages],
        "totalFound": found.total_found,
        "dataSources": [str(source_id) for source_id in found.source_ids],
        "warnings": list(found.warnings),
    }


def passage_out(passage: Passage) -> PassageOut:
    return {
        "chunkId": str(passage.chunk_id),
        "documentId": str(passage.document_id),
        "dataSourceId": str(passage.source_id),
        "title": passage.title,
        "path": passage.path,
        "uri": passage.uri or None,
        "text": passage.text,
        "score": passage.score,
        "chunkIndex": passage.position,
        "start": passage.start,
        "end": passage.end,
        "headings": list(passage.headings),
        "sourceType": passage.source_type,
        "lang": passage.lang or None,
        "tags": list(passage.tags),
        "date": passage.date,
        "metadata": passage.metadata_with_pages,
    }
