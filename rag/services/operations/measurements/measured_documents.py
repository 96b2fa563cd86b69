"""Measures the documents that workers process."""

import uuid
from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.utils import timezone

from rag.models import IngestionDocument
from rag.types import Recognition
from ragsite.observability import measurement_buffer
from ragsite.observability.measurement_buffer import Slow


def record_done(documents: Iterable[IngestionDocument], timings: Mapping[uuid.UUID, Mapping[str, int]]) -> None:
    """Record documents that are indexed or unchanged, with the milliseconds of their stages."""
    for document in documents:
        stages = {stage: float(milliseconds) for stage, milliseconds in timings.get(document.pk, {}).items()}
        organization, total = document.job.source.organization_id, sum(stages.values())
        measurement_buffer.record("operation", "document", total, organizations=(organization,))
        for stage, milliseconds in stages.items():
            measurement_buffer.record("document_stage", stage, milliseconds)
        if stages:
            measurement_buffer.record_slow(
                Slow(timezone.now(), "document", total, stages, organization, document.pk, "")
            )


def record_recognitions(recognitions: Iterable[Recognition]) -> None:
    """Record how long text recognition took for each page."""
    for recognition in recognitions:
        measurement_buffer.record("ocr_page", recognition.engine, recognition.seconds * 1000)


def record_failed(document_ids: Sequence[uuid.UUID]) -> None:
    """Record on commit that documents have failed. How long they took is not known."""
    failed = IngestionDocument.objects.filter(pk__in=document_ids, state=IngestionDocument.State.FAILED)
    organizations = list(failed.values_list("source__organization_id", flat=True))

    def record() -> None:
        for organization in organizations:
            measurement_buffer.record("operation", "document", 0.0, failed=True, organizations=(organization,))

    transaction.on_commit(record)
