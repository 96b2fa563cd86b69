"""The fields of a submission, as JSON or as a form, and its documents (sub-contract 1; docs/contracts/pipeline.md)."""

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
from rag.pipeline.ingestion.chunk import MAX_CHUNK_TOKENS, MIN_CHUNK_TOKENS
from rag.services.jobs.submit_documents import Upload, rewind
from rag.types import ChunkingOptions, Submission
from ragsite.http import request_warnings
from ragsite.http.bodies.parsers import require_few_values
from ragsite.http.strict_fields import ValidatedFields

_BASE64 = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


class DocumentAttributesIn(serializers.Serializer[None]):
    """The attributes of a document, without its content."""

    path = fields.Path("path", required=False)
    title = fields.Text("title", required=False, max_length=1000)
    uri = fields.Link("uri", required=False, max_length=2000)
    lang = fields.Text("lang", required=False, max_length=20)
    sourceType = fields.Choice("sourceType", choices=SourceType.values, required=False)
    tags = fields.Tags("tags", required=False)
    date = fields.Timestamp("date", required=False)
    metadata = fields.Metadata("metadata", required=False)


class DocumentIn(DocumentAttributesIn):
    text = fields.Text("text", required=False)
    contentBase64 = fields.Text("contentBase64", required=False)
    contentType = fields.Text("contentType", required=False, max_length=200)

    schema_rules = {
        "description": "Exactly one of `text` and `contentBase64`.",
        "properties": {"contentBase64": {"contentEncoding": "base64", "pattern": _BASE64}},
    }
    schema_variants = {
        "TextDocument": {"properties": {"contentBase64": None}, "required": ["text"]},
        "FileDocument": {"properties": {"text": None}, "required": ["contentBase64"]},
    }

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
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


class JobIn(serializers.Serializer[None]):
    dataSourceId = fields.Reference("dataSourceId")
    chunkSize = fields.Integer("chunkSize", min_value=MIN_CHUNK_TOKENS, max_value=MAX_CHUNK_TOKENS, required=False)
    chunkOverlap = fields.Integer("chunkOverlap", min_value=0, max_value=MAX_CHUNK_TOKENS // 2, required=False)
    embeddingModel = fields.Text("embeddingModel", required=False, max_length=100)

    schema_rules: dict[str, object] = {
        "description": "`chunkOverlap` is at most half of `chunkSize`; `embeddingModel` must be the source's own."
    }

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
        options = build_chunking_options(attrs)
        if options.overlap > options.size // 2:
            raise serializers.ValidationError({"chunkOverlap": "chunkOverlap must be at most half of chunkSize"})
        return attrs


class IngestIn(JobIn):
    documents = fields.DocumentList("documents", child=DocumentIn())


class FileIn(serializers.FileField):
    """A file of a form as a document: its file name, without folders, is the path; its content type is the part's."""

    def to_internal_value(self, data: Any) -> Any:
        path = fields.Path("the name of the file").run_validation(data.name)
        content_type = fields.Text("Content-Type", max_length=200, allow_blank=True).run_validation(data.content_type)
        is_empty = not any(chunk.strip() for chunk in data.chunks())
        return {"path": path, "contentType": content_type, "file": data, "isEmpty": is_empty}


class FileAttributesField(fields.Text):
    """A form field with JSON: a list of the attributes of the files, in their order."""

    schema_rules = {
        "contentMediaType": "application/json",
        "description": "A JSON list with an object for each file, in their order. Each may have `path`, `title`, "
        "`uri`, `lang`, `sourceType`, `tags`, `date` and `metadata`, as in a JSON body.",
    }

    def to_internal_value(self, data: object) -> Any:
        try:
            text = super().to_internal_value(data)
            require_few_values(text.encode())
            entries = json.loads(text)
        except (ValueError, RecursionError):
            raise serializers.ValidationError("documents is not valid JSON") from None
        documents = fields.DocumentList("documents", child=DocumentAttributesIn())
        request_warnings.warn_of_unknown_fields(documents, entries, "documents.")
        return documents.run_validation(entries)


class FileList(fields.DocumentList):
    """The files of a form. Its parser rejects more than DATA_UPLOAD_MAX_NUMBER_FILES before they are validated."""

    @property
    def max_entries(self) -> int:
        return min(super().max_entries, settings.DATA_UPLOAD_MAX_NUMBER_FILES)


class UploadIn(JobIn):
    files = FileList("files", child=FileIn())
    documents = FileAttributesField("documents", required=False)

    schema_rules = {**JobIn.schema_rules, "properties": {"documents": FileAttributesField.schema_rules}}

    def validate(self, attrs: ValidatedFields) -> ValidatedFields:
        files = attrs.pop("files")
        if all(file["isEmpty"] for file in files):
            raise serializers.ValidationError({"files[0]": f"{files[0]['path']} is empty"})
        attributes = attrs.get("documents") or [{}] * len(files)
        if len(attributes) != len(files):
            message = f"documents must have an entry for each of the {len(files)} files, in their order"
            raise serializers.ValidationError({"documents": message})
        attrs["documents"] = [{**file, **given} for file, given in zip(files, attributes, strict=True)]
        counts = Counter(document["path"] for document in attrs["documents"])
        path, count = counts.most_common(1)[0]
        if count > 1:
            message = f"two files have the path {path}: give each file its own path in documents"
            raise serializers.ValidationError({"files": message})
        return super().validate(attrs)


def read_form(request: Request) -> dict[str, object]:
    """Return a multipart form as the data of `UploadIn`: all files as `files`, whatever the names of their parts."""
    form: dict[str, object] = {**request.POST.dict()}
    for name in ("chunkSize", "chunkOverlap"):
        value = request.POST.get(name, "")
        if value.isascii() and value.isdigit() and len(value) < 10:
            form[name] = int(value)
    form["files"] = [file for _, files in request.FILES.lists() for file in files]
    return form


def build_chunking_options(values: ValidatedFields) -> ChunkingOptions:
    size = values.get("chunkSize", settings.RAG_JOB_CHUNK_TOKENS)
    overlap = values.get("chunkOverlap", min(settings.RAG_JOB_CHUNK_OVERLAP_TOKENS, size // 2))
    return ChunkingOptions(size=size, overlap=overlap)


def _content(document: ValidatedFields) -> bytes:
    file = document.get("file")
    return bytes(file.getvalue()) if file else document["text"].encode()


def build_documents(values: ValidatedFields) -> list[Submission | Upload]:
    return [_build_document(document) for document in values["documents"]]


def _build_document(document: ValidatedFields) -> Submission | Upload:
    """Build the submission or upload of one document.

    The path defaults to the link, then to the content's hash: the same content replaces the same document.
    """
    text, file, uri = document.get("text", ""), document.get("file"), document.get("uri", "")
    path = document.get("path") or uri or f"sha256:{hashlib.sha256(_content(document)).hexdigest()}"
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
