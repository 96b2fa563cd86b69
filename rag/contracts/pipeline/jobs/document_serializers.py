"""The documents of an ingestion job (sub-contract 1; docs/contracts/pipeline.md)."""

import datetime
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.models import Condition, IngestionDocument
from ragsite.http.openapi.field_types import Count

State = IngestionDocument.State


class JobDocumentListIn(serializers.Serializer[None]):
    """The query parameters of the list of a job's documents."""

    status = fields.Choice("status", choices=IngestionDocument.State.values, required=False)


class WhatWentWrong(TypedDict):
    code: str
    message: str


class JobDocument(TypedDict):
    """`condition`: null once the document is done or failed. `stage`: null unless a worker is processing it. `error`:
    why it failed, or why it waits until `retryAt`. `warning`: what of a finished document was not read. `timings`:
    milliseconds by stage."""

    index: Count
    path: str
    status: Annotated[str, {"enum": IngestionDocument.State.values}]
    condition: Annotated[str | None, {"enum": [*Condition.values, None]}]
    stage: Annotated[str | None, {"enum": [*IngestionDocument.Stage.values, None]}]
    attempts: Count
    error: WhatWentWrong | None
    warning: WhatWentWrong | None
    chunks: Count
    documentId: Annotated[str | None, {"format": "uuid"}]
    timings: dict[str, float]
    retryAt: datetime.datetime | None


class JobDocumentsOut(TypedDict):
    documents: list[JobDocument]
    page: Count
    pageSize: Count
    total: Count


def job_document_out(document: IngestionDocument) -> JobDocument:
    """Render a job document, which must come from a queryset with `with_condition()`."""
    is_running, is_done = (document.state == state for state in (State.RUNNING, State.DONE))
    problem: WhatWentWrong | None = None
    if document.error_code:
        problem = {"code": document.error_code, "message": document.error_message}
    return {
        "index": document.index,
        "path": document.path,
        "status": document.state,
        "condition": document.condition or None,
        "stage": document.stage or None if is_running else None,
        "attempts": document.attempts,
        "error": None if is_done else problem,
        "warning": problem if is_done else None,
        "chunks": document.chunk_count,
        "documentId": str(document.document_id) if document.document_id else None,
        "timings": document.timings,
        "retryAt": document.retry_at if document.condition == Condition.WAITING else None,
    }
