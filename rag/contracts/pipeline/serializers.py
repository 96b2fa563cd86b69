"""The pipeline contract's fields (sub-contracts 1 and 2; docs/contracts.md)."""

import base64
import binascii
import datetime
import hashlib
from typing import Annotated, Any, TypedDict

from django.conf import settings
from rest_framework import serializers

from accounts.schema_types import Count, Id
from rag.contracts import fields
from rag.errors import ParseFailed
from rag.models import DataSource, IngestionJob, SourceType
from rag.parsing import registry as parsers
from rag.types import ChunkingOptions, Submission

_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"
MAX_VECTOR_IDS = 10_000
MAX_ERRORS = 1_000


class DocumentIn(serializers.Serializer[Any]):
    path = fields.Path("path", required=False)
    title = fields.Text("title", required=False, max_length=1000)
    text = fields.Text("text", required=False)
    contentBase64 = fields.Text("contentBase64", required=False)
    contentType = fields.Text("contentType", required=False, max_length=200)
    uri = fields.Link("uri", required=False, max_length=2000)
    lang = fields.Text("lang", required=False, max_length=20)
    tags = fields.Tags("tags", required=False)
    date = serializers.DateTimeField(required=False)
    metadata = fields.Metadata("metadata", required=False)

    schema_rules = {
        "oneOf": [{"required": ["text"]}, {"required": ["contentBase64"]}],
        "description": "Exactly one of `text` and `contentBase64`.",
        "properties": {"contentBase64": {"contentEncoding": "base64", "pattern": _BASE64}},
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("text" in attrs) == ("contentBase64" in attrs):
            raise serializers.ValidationError({"text": "send either text or contentBase64"})
        if "contentBase64" in attrs:
            try:
                attrs["text"] = _decoded(attrs)
            except ParseFailed as error:  # this document's own trouble: the others of the job go on
                attrs["text"], attrs["unreadable"] = "", error.message
        return attrs


def _decoded(attrs: dict[str, Any]) -> str:
    try:
        data = base64.b64decode(attrs["contentBase64"], validate=True)
    except (binascii.Error, ValueError):
        raise serializers.ValidationError({"contentBase64": "contentBase64 is not valid base64"}) from None
    text = parsers.decode(data, content_type=attrs.get("contentType", ""), path=attrs.get("path", ""))
    if not text.strip():
        raise serializers.ValidationError({"contentBase64": "contentBase64 must not be empty"})
    return text


class IngestIn(serializers.Serializer[Any]):
    dataSourceId = fields.Text("dataSourceId", max_length=100)
    documents = fields.BoundedList("documents", child=DocumentIn(), at_least=1)
    chunkSize = fields.Integer("chunkSize", min_value=32, max_value=2048, required=False)
    chunkOverlap = fields.Integer("chunkOverlap", min_value=0, max_value=1024, required=False)
    embeddingModel = fields.Text("embeddingModel", required=False, max_length=100)

    schema_rules = {
        "description": "`chunkOverlap` is at most half of `chunkSize`; `embeddingModel` must be the source's own."
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        chosen = options(attrs)
        if chosen.overlap > chosen.size // 2:
            raise serializers.ValidationError({"chunkOverlap": "chunkOverlap must be at most half of chunkSize"})
        return attrs


def options(values: dict[str, Any]) -> ChunkingOptions:
    size = values.get("chunkSize", settings.RAG_CHUNK_TOKENS)
    overlap = values.get("chunkOverlap", min(settings.RAG_CHUNK_OVERLAP, size // 2))
    return ChunkingOptions(size=size, overlap=overlap)


def submissions(values: dict[str, Any]) -> list[Submission]:
    return [_submission(document) for document in values["documents"]]


def _submission(document: dict[str, Any]) -> Submission:
    """Without a path the link is one, else the content's own hash: sending it again makes no second document."""
    text, uri = document["text"], document.get("uri", "")
    path = document.get("path") or uri or f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    return Submission(
        path=path,
        title=document.get("title") or path.rstrip("/").rsplit("/", 1)[-1],
        text=text,
        content_type=document.get("contentType", ""),
        uri=uri or (path if path.startswith(("https://", "http://")) else ""),
        lang=document.get("lang", ""),
        tags=tuple(document.get("tags", ())),
        date=document.get("date"),
        metadata=document.get("metadata", {}),
        unreadable=document.get("unreadable", ""),
    )


class Progress(TypedDict):
    documents: Count
    done: Count
    failed: Count


class DocumentError(TypedDict):
    """What became of the document at `index` of the submission."""

    index: Count
    path: str
    code: str
    message: str


class JobOut(TypedDict):
    jobId: Id
    status: Annotated[str, {"enum": ["queued", "processing", "completed", "failed", "cancelled"]}]
    indexed: Count
    chunks: Count
    vectorIds: list[Id]
    vectorIdsTruncated: bool
    progress: Progress
    errors: list[DocumentError]
    createdAt: datetime.datetime
    startedAt: datetime.datetime | None
    finishedAt: datetime.datetime | None


def job_out(job: IngestionJob, *, vector_ids: list[str], errors: list[dict[str, Any]]) -> JobOut:
    """job: with_progress(). vector_ids: up to one more than is shown, which says that there are more."""
    return {
        "jobId": str(job.pk),
        "status": job.status,
        "indexed": job.done,
        "chunks": job.chunks,
        "vectorIds": vector_ids[:MAX_VECTOR_IDS],
        "vectorIdsTruncated": len(vector_ids) > MAX_VECTOR_IDS,
        "progress": {"documents": job.total, "done": job.done, "failed": job.failed},
        "errors": [
            {"index": each["index"], "path": each["path"], "code": each["code"], "message": each["message"]}
            for each in errors
        ],
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }


class SourceOut(TypedDict):
    id: Id
    slug: str
    name: str
    description: str
    organization: str
    visibility: Annotated[str, {"enum": ["public", "role", "team", "private", "personal"]}]
    sourceType: Annotated[str, {"enum": SourceType.values}]
    embeddingModel: str
    createdAt: datetime.datetime
    updatedAt: datetime.datetime


class SourcesOut(TypedDict):
    sources: list[SourceOut]
    page: Count
    pageSize: Count
    total: Count


def source_out(source: DataSource) -> SourceOut:
    return {
        "id": str(source.pk),
        "slug": source.slug,
        "name": source.name,
        "description": source.description,
        "organization": source.organization.slug,
        "visibility": source.visibility,
        "sourceType": source.source_type,
        "embeddingModel": source.embedding_model.name,
        "createdAt": source.created_at,
        "updatedAt": source.updated_at,
    }
