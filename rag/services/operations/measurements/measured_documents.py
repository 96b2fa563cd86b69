"""Measures the documents that workers process."""

import uuid
from collections.abc import Iterable, Mapping

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


def record_failed(document: IngestionDocument) -> None:
    """Record a document that has failed. How long it took is not known."""
    organization = document.job.source.organization_id
    measurement_buffer.record("operation", "document", 0.0, failed=True, organizations=(organization,))
