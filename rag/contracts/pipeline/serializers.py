"""The pipeline contract's fields (sub-contracts 1 and 2; docs/contracts.md)."""

import base64
import binascii
import hashlib
from typing import Any

from django.conf import settings
from rest_framework import serializers

from rag.contracts import fields
from rag.errors import ParseFailed
from rag.models import DataSource, IngestionJob
from rag.parsing import registry as parsers
from rag.types import ChunkingOptions, Submission

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


def job_out(job: IngestionJob, *, vector_ids: list[str], errors: list[dict[str, Any]]) -> dict[str, Any]:
    """job: with_progress(). vector_ids: up to one more than is shown, which says that there are more."""
    return {
        "jobId": str(job.pk),
        "status": job.status,
        "indexed": job.done,
        "chunks": job.chunks,
        "vectorIds": vector_ids[:MAX_VECTOR_IDS],
        "vectorIdsTruncated": len(vector_ids) > MAX_VECTOR_IDS,
        "progress": {"documents": job.total, "done": job.done, "failed": job.failed},
        "errors": errors,
        "createdAt": job.created_at,
        "startedAt": job.started_at,
        "finishedAt": job.finished_at,
    }


def source_out(source: DataSource) -> dict[str, Any]:
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
