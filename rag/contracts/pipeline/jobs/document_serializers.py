"""The documents of an ingestion job (sub-contract 1; docs/contracts/pipeline.md)."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import Condition, IngestionDocument
from ragsite.http.openapi_types import Count


class JobDocumentListIn(serializers.Serializer[None]):
    """The query parameters of the list of a job's documents."""

    status = fields.Choice("status", choices=IngestionDocument.State.values, required=False)


class WhatWentWrong(TypedDict):
    code: str
    message: str


class JobDocument(TypedDict):
    """`condition`: null once the document is done or failed. `stage`: null unless a worker is processing it. `error`:
    why it failed, or why it waits until `retryAt`. `timings`: milliseconds by stage."""

    index: Count
    path: str
    status: Annotated[str, {"enum": IngestionDocument.State.values}]
    condition: Annotated[str | None, {"enum": [*Condition.values, None]}]
    stage: Annotated[str | None, {"enum": [*IngestionDocument.Stage.values, None]}]
    attempts: Count
    error: WhatWentWrong | None
    chunks: Count
    documentId: Annotated[str | None, {"format": "uuid"}]
    timings: dict[str, float]
    retryAt: datetime.datetime | None


class JobDocumentsOut(TypedDict):
    documents: list[JobDocument]
    page: Count
    pageSize: Count
    total: Count


def job_document(row: IngestionDocument) -> JobDocument:
    """row: from a queryset with `with_condition()`."""
    is_running = row.state == IngestionDocument.State.RUNNING
    return {
        "index": row.index,
        "path": row.path,
        "status": row.state,
        "condition": row.condition or None,
        "stage": row.stage or None if is_running else None,
        "attempts": row.attempts,
        "error": {"code": row.error_code, "message": row.error_message} if row.error_code else None,
        "chunks": row.chunk_count,
        "documentId": str(row.document_id) if row.document_id else None,
        "timings": row.timings,
        "retryAt": row.retry_at if row.condition == Condition.WAITING else None,
    }
