"""The condition of open documents: queued, starved, running, lost or waiting, derived from their rows."""

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rag.models import IngestionDocument, IngestionFairness, ModelOutage
from rag.services.ingestion import build_submissions, document_processing
from rag.services.ingestion.queue import claims, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.ragsite.observability.test_metrics import read
from tests.support.factories import World

AN_HOUR_AGO = datetime.timedelta(hours=-1)


@pytest.fixture
def row(world: World) -> IngestionDocument:
    job = create_job(
        source=world.source(),
        submissions=[Submission(path="a", title="A", text="Zebras.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )
    return job.documents.get()


def reload(row: IngestionDocument) -> Any:
    return IngestionDocument.objects.with_condition().get(pk=row.pk)


def test_queued_then_running_then_done(row: IngestionDocument) -> None:
    assert reload(row).condition == "queued"
    (running,) = claims.claim_next(1)
    assert reload(row).condition == "running"
    document_processing.process_documents([running])
    assert reload(row).condition == ""


def test_a_document_is_starved_while_no_worker_claims_anything(row: IngestionDocument) -> None:
    IngestionDocument.objects.update(queued_at=timezone.now() + AN_HOUR_AGO)
    assert reload(row).condition == "starved"
    fairness = IngestionFairness.objects.create(organization=row.source.organization, served_at=timezone.now())
    assert reload(row).condition == "queued", "workers are claiming documents of its organisation"
    fairness.served_at += AN_HOUR_AGO
    fairness.save()
    assert reload(row).condition == "starved"


def test_no_document_is_starved_while_a_worker_processes_a_long_one(world: World, row: IngestionDocument) -> None:
    (running,) = claims.claim_next(1)
    IngestionFairness.objects.update(served_at=timezone.now() + AN_HOUR_AGO)
    other = IngestionDocument.objects.create(
        job=running.job,
        source=running.source,
        index=1,
        path="b",
        title="B",
        text="B",
        queued_at=row.queued_at + AN_HOUR_AGO,
    )
    assert reload(other).condition == "queued"
    IngestionDocument.objects.filter(pk=running.pk).update(due_at=timezone.now() + AN_HOUR_AGO)
    assert (reload(running).condition, reload(other).condition) == ("lost", "starved")


def test_the_sweep_requeues_a_lost_document(row: IngestionDocument) -> None:
    claims.claim_next(1)
    IngestionDocument.objects.update(due_at=timezone.now() + AN_HOUR_AGO)
    assert reload(row).condition == "lost"
    recovery_sweep.sweep()
    assert reload(row).condition == "queued"


def test_a_waiting_document_has_the_time_of_its_next_try(row: IngestionDocument) -> None:
    soon, later = (timezone.now() + datetime.timedelta(minutes=minutes) for minutes in (1, 2))
    IngestionDocument.objects.update(due_at=soon)
    assert (reload(row).condition, reload(row).retry_at) == ("waiting", soon)
    outage = ModelOutage.objects.create(model=row.source.embedding_model, since=soon, until=later)
    assert (reload(row).condition, reload(row).retry_at) == ("waiting", later)
    IngestionDocument.objects.update(due_at=None)
    assert (reload(row).condition, reload(row).retry_at) == ("waiting", later)
    outage.delete()
    assert (reload(row).condition, reload(row).retry_at) == ("queued", None)


def test_metrics_count_documents_by_condition(row: IngestionDocument, client: Client) -> None:
    names = ("queued", "starved", "running", "lost", "waiting")
    before = read(client)
    assert [before["ragsite_document_condition", name] for name in names] == [1, 0, 0, 0, 0]
    IngestionDocument.objects.update(queued_at=timezone.now() + AN_HOUR_AGO)
    after = read(client)
    assert [after["ragsite_document_condition", name] for name in names] == [0, 1, 0, 0, 0]
