"""The fields of retrieval (pipeline contract, sub-contract 2)."""

import datetime
import itertools
from typing import Annotated, TypedDict, cast

from rest_framework import serializers

from rag.contracts.common import fields
from rag.contracts.common.field_schemas import NON_BLANK_PATTERN
from rag.models import SourceType
from rag.types import Filters, Mode, Passage, Question, Retrieval
from ragsite.http import request_warnings
from ragsite.http.bodies.json_renderer import EncodedJson
from ragsite.http.openapi.field_types import Count, Id, Share
from ragsite.http.strict_fields import ValidatedFields


def _filter(names: list[str], value: dict[str, object]) -> dict[str, object]:
    return {"properties": {"field": {"enum": names}, "value": value}}


def _one_or_many(item: dict[str, object]) -> dict[str, object]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1, "maxItems": fields.MAX_TAGS}]}


class FilterIn(serializers.Serializer[None]):
    """A filter on `field`. `tags`, `lang` and `sourceType` take one value or a list; `dateFrom` and `dateTo` a time."""

    field = fields.Choice("field", choices=["tags", "sourceType", "lang", "dateFrom", "dateTo"])
    value = fields.Anything()

    schema_variants = {
        "TagFilter": _filter(
            ["tags"], _one_or_many({"type": "string", "pattern": NON_BLANK_PATTERN, "maxLength": 200})
        ),
        "LangFilter": _filter(
            ["lang"], _one_or_many({"type": "string", "pattern": NON_BLANK_PATTERN, "maxLength": 20})
        ),
        "SourceTypeFilter": _filter(["sourceType"], _one_or_many({"type": "string", "enum": SourceType.values})),
        "TimeFilter": _filter(["dateFrom", "dateTo"], {"type": "string", "format": "date-time"}),
    }

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
        item_fields = {
            "tags": fields.Text("value", max_length=200),
            "lang": fields.Text("value", max_length=20),
            "sourceType": fields.Choice("value", choices=SourceType.values),
        }
        name, value = attrs["field"], attrs["value"]
        field: fields.Timestamp | fields.BoundedList = fields.Timestamp("value")
        if name in item_fields:
            field = fields.BoundedList("value", child=item_fields[name], min_entries=1, max_entries=fields.MAX_TAGS)
            value = value if isinstance(value, list) else [value]
        try:
            return {"field": name, "value": field.run_validation(value)}
        except serializers.ValidationError as error:
            raise serializers.ValidationError({"value": error.detail}) from None


class RetrieveIn(serializers.Serializer[None]):
    query = fields.Text("query", max_length=fields.MAX_QUESTION_CHARACTERS)
    dataSources = fields.BoundedList(
        "dataSources",
        child=fields.Reference("each of dataSources"),
        min_entries=1,
        max_entries=200,
        required=False,
    )
    topK = fields.Integer("topK", min_value=1, max_value=100, default=10)
    filters = fields.BoundedList("filters", child=FilterIn(), max_entries=20, required=False)
    rerank = fields.Boolean("rerank", default=True)
    rerankModel = fields.Text("rerankModel", required=False, max_length=100)
    mode = fields.Choice("mode", choices=[*Mode], required=False)


def build_question(values: ValidatedFields) -> Question:
    filter_values = {entry["field"]: entry["value"] for entry in values.get("filters", [])}
    filters = Filters(
        tags=tuple(filter_values.get("tags", ())),
        source_types=tuple(filter_values.get("sourceType", ())),
        langs=tuple(filter_values.get("lang", ())),
        date_from=filter_values.get("dateFrom"),
        date_to=filter_values.get("dateTo"),
    )
    return Question(
        text=values["query"],
        top_k=values["topK"],
        filters=filters,
        rerank=values["rerank"],
        names_sources=True,
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
    metadata: dict[str, object]


class RetrieveOut(TypedDict):
    """`scores`: the relevance of each document, 0 to 1, descending. `totalFound`: candidates before `topK`."""

    documents: list[PassageOut]
    scores: list[Share]
    totalFound: Count
    dataSources: list[Id]
    warnings: list[str]


def retrieval_out(retrieval: Retrieval) -> RetrieveOut:
    relevances = (passage.relevance for passage in retrieval.passages)
    return {
        "documents": [passage_out(passage) for passage in retrieval.passages],
        # The passages of two questions in one alternate: each is at most as relevant as the one before.
        "scores": list(itertools.accumulate(relevances, min)),
        "totalFound": retrieval.total_found,
        "dataSources": cast(list[Id], EncodedJson(retrieval.source_ids.json)),
        "warnings": [*retrieval.warnings, *request_warnings.collected()],
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
