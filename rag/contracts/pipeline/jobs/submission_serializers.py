"""What clients submit to be ingested: JSON or a form, and what becomes of it (sub-contract 1; docs/contracts/pipeline.md)."""

import base64
import binascii
import hashlib
import io
import json
from collections import Counter
from functools import partial
from typing import Any

from django.conf import settings
from rest_framework import serializers
from rest_framework.request import Request

from rag.contracts.common import fields
from rag.models import SourceType
from rag.services.jobs.uploads import Upload, rewind
from rag.types import ChunkingOptions, Submission

_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class AboutIn(serializers.Serializer[Any]):
    """What a client says of a document beside its content."""

    path = fields.Path("path", required=False)
    title = fields.Text("title", required=False, max_length=1000)
    uri = fields.Link("uri", required=False, max_length=2000)
    lang = fields.Text("lang", required=False, max_length=20)
    sourceType = fields.Choice("sourceType", among=SourceType.values, required=False)
    tags = fields.Tags("tags", required=False)
    date = fields.Timestamp("date", required=False)
    metadata = fields.Metadata("metadata", required=False)


class DocumentIn(AboutIn):
    text = fields.Text("text", required=False)
    contentBase64 = fields.Text("contentBase64", required=False)
    contentType = fields.Text("contentType", required=False, max_length=200)

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
                data = base64.b64decode(attrs["contentBase64"], validate=True)
            except (binascii.Error, ValueError):
                raise serializers.ValidationError({"contentBase64": "contentBase64 is not valid base64"}) from None
            if not data.strip():
                raise serializers.ValidationError({"contentBase64": "contentBase64 must not be empty"})
            attrs["file"] = io.BytesIO(data)
        return attrs


class JobIn(serializers.Serializer[Any]):
    dataSourceId = fields.Text("dataSourceId", max_length=100)
    chunkSize = fields.Integer("chunkSize", min_value=32, max_value=2048, required=False)
    chunkOverlap = fields.Integer("chunkOverlap", min_value=0, max_value=1024, required=False)
    embeddingModel = fields.Text("embeddingModel", required=False, max_length=100)

    schema_rules: dict[str, Any] = {
        "description": "`chunkOverlap` is at most half of `chunkSize`; `embeddingModel` must be the source's own."
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        chosen = options(attrs)
        if chosen.overlap > chosen.size // 2:
            raise serializers.ValidationError({"chunkOverlap": "chunkOverlap must be at most half of chunkSize"})
        return attrs


class IngestIn(JobIn):
    documents = fields.BoundedList("documents", child=DocumentIn(), at_least=1)


class FileIn(serializers.FileField):
    """A part of a form → a document. Its name is its path, without folders; its type is the part's."""

    def to_internal_value(self, data: Any) -> Any:
        path = fields.Path("the name of the file").run_validation(data.name)
        content_type = fields.Text("Content-Type", max_length=200, allow_blank=True).run_validation(data.content_type)
        if not any(piece.strip() for piece in data.chunks()):
            raise serializers.ValidationError(f"{path} is empty")
        return {"path": path, "contentType": content_type, "file": data}


class AboutFiles(fields.Text):
    """JSON in a field of a form: a list of what is said of the files, in their order."""

    schema_rules = {
        "contentMediaType": "application/json",
        "description": "A JSON list with an object for each file, in their order. Each may have `path`, `title`, "
        "`uri`, `lang`, `sourceType`, `tags`, `date` and `metadata`, as a document of a JSON body has them.",
    }

    def to_internal_value(self, data: Any) -> Any:
        try:
            found = json.loads(super().to_internal_value(data))
        except (ValueError, RecursionError):
            raise serializers.ValidationError("documents is not valid JSON") from None
        return fields.BoundedList("documents", child=AboutIn(), at_least=1).run_validation(found)


class UploadIn(JobIn):
    files = fields.BoundedList("files", child=FileIn(), at_least=1)
    documents = AboutFiles("documents", required=False)

    # The form's parser counts them first.
    schema_rules = {
        **JobIn.schema_rules,
        "properties": {
            "files": {"maxItems": settings.DATA_UPLOAD_MAX_NUMBER_FILES},
            "documents": AboutFiles.schema_rules,
        },
    }

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        files = attrs.pop("files")
        about = attrs.get("documents") or [{}] * len(files)
        if len(about) != len(files):
            wrong = f"documents must have an entry for each of the {len(files)} files, in their order"
            raise serializers.ValidationError({"documents": wrong})
        attrs["documents"] = [{**file, **said} for file, said in zip(files, about, strict=True)]
        found = Counter(document["path"] for document in attrs["documents"])
        path, times = found.most_common(1)[0]
        if times > 1:
            message = f"two files have the path {path}: give each one of its own, in documents"
            raise serializers.ValidationError({"files": message})
        return super().validate(attrs)


def upload(request: Request) -> dict[str, Any]:
    """A multipart form as a body: its files under `files`, whatever their parts are called, and numbers as numbers."""
    form: dict[str, Any] = request.POST.dict()
    for name in ("chunkSize", "chunkOverlap"):
        value = form.get(name, "")
        if value.isascii() and value.isdigit() and len(value) < 10:
            form[name] = int(value)
    form["files"] = [file for _, files in request.FILES.lists() for file in files]
    return form


def options(values: dict[str, Any]) -> ChunkingOptions:
    size = values.get("chunkSize", settings.RAG_JOB_CHUNK_TOKENS)
    overlap = values.get("chunkOverlap", min(settings.RAG_JOB_CHUNK_OVERLAP_TOKENS, size // 2))
    return ChunkingOptions(size=size, overlap=overlap)


def _bytes(document: dict[str, Any]) -> bytes:
    file = document.get("file")
    return bytes(file.getvalue()) if file else document["text"].encode()


def documents(values: dict[str, Any]) -> list[Submission | Upload]:
    return [_document(document) for document in values["documents"]]


def _document(document: dict[str, Any]) -> Submission | Upload:
    """Without a path the link is one, else the content's own hash: sending it again makes no second document."""
    text, file, uri = document.get("text", ""), document.get("file"), document.get("uri", "")
    path = document.get("path") or uri or f"sha256:{hashlib.sha256(_bytes(document)).hexdigest()}"
    submission = Submission(
        path=path,
        title=document.get("title", ""),
        text=text,
        content_type=document.get("contentType", ""),
        uri=uri or (path if path.startswith(("https://", "http://")) else ""),
        lang=document.get("lang", ""),
        source_type=document.get("sourceType", ""),
        tags=tuple(document.get("tags", ())),
        date=document.get("date"),
        metadata=document.get("metadata", {}),
    )
    if file is None:
        return submission
    return Upload(submission, partial(rewind, file), name=getattr(file, "name", None) or path)
