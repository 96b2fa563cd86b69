"""The fields of a data source's documents, an addition to the pipeline contract (docs/contracts/pipeline.md)."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import Document, SourceType
from ragsite.http.openapi.field_types import Count, Id


class DocumentListIn(serializers.Serializer[None]):
    """The query parameters of the list."""

    q = fields.Text("q", max_length=200, required=False)
    lang = fields.Text("lang", max_length=20, required=False)
    tag = fields.Text("tag", max_length=200, required=False)
    type = fields.Choice("type", choices=SourceType.values, required=False)


class DocumentPathIn(serializers.Serializer[None]):
    """The query parameters of a deletion by path."""

    path = fields.Path("path")


class DocumentOut(TypedDict):
    """`bytes`: the size of its text in UTF-8 plus that of the original file. Unknown values are null."""

    id: Id
    path: str
    title: str
    uri: str | None
    contentType: str
    sourceType: Annotated[str, {"enum": SourceType.values}]
    lang: str | None
    tags: list[str]
    date: datetime.datetime | None
    metadata: dict[str, object]
    chunks: Count
    bytes: Count
    createdAt: datetime.datetime
    updatedAt: datetime.datetime


class DocumentListOut(TypedDict):
    documents: list[DocumentOut]
    page: Count
    pageSize: Count
    total: Count


def document_out(document: Document) -> DocumentOut:
    return {
        "id": str(document.pk),
        "path": document.path,
        "title": document.title,
        "uri": document.uri or None,
        "contentType": document.content_type,
        "sourceType": document.source_type,
        "lang": document.lang or None,
        "tags": document.tags,
        "date": document.date,
        "metadata": document.metadata,
        "chunks": document.chunk_count,
        "bytes": document.bytes,
        "createdAt": document.created_at,
        "updatedAt": document.updated_at,
    }
