"""Open documents: queued, starved, running, lost or waiting, as their rows say."""

import datetime
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from rag.models import IngestionDocument, IngestionTurn, ModelOutage
from rag.services.ingestion import inputs, leases, processing, sweep
from rag.services.jobs import submit
from rag.types import Submission
from tests.ragsite.test_metrics import read
from tests.support.factories import World

AN_HOUR_AGO = datetime.timedelta(hours=-1)


@pytest.fixture
def row(world: World) -> IngestionDocument:
    job = submit.submit_job(
        source=world.source(),
        submissions=[Submission(path="a", title="A", text="Zebras.")],
        options=inputs.default_chunking_options(),
        actor=world.users["editor"],
    )
    return job.documents.get()


def found(row: IngestionDocument) -> Any:
    return IngestionDocument.objects.with_condition().get(pk=row.pk)


def test_queued_then_running_then_done(row: IngestionDocument) -> None:
    assert found(row).condition == "queued"
    (held,) = leases.claim_next(1)
    assert found(row).condition == "running"
    processing.process_documents([held])
    assert found(row).condition == ""


def test_starved_is_what_waits_while_no_worker_takes_anything(row: IngestionDocument) -> None:
    IngestionDocument.objects.update(queued_at=timezone.now() + AN_HOUR_AGO)
    assert found(row).condition == "starved"
    turn = IngestionTurn.objects.create(organization=row.source.organization, served_at=timezone.now())
    assert found(row).condition == "queued", "somebody is taking documents: its turn comes"
    turn.served_at += AN_HOUR_AGO
    turn.save()
    assert found(row).condition == "starved"


def test_nothing_is_starved_while_a_worker_is_at_a_long_document(world: World, row: IngestionDocument) -> None:
    (held,) = leases.claim_next(1)
    IngestionTurn.objects.update(served_at=timezone.now() + AN_HOUR_AGO)
    other = IngestionDocument.objects.create(
        job=held.job, source=held.source, index=1, path="b", title="B", text="B", queued_at=row.queued_at + AN_HOUR_AGO
    )
    assert found(other).condition == "queued"
    IngestionDocument.objects.filter(pk=held.pk).update(due_at=timezone.now() + AN_HOUR_AGO)
    assert (found(held).condition, found(other).condition) == ("lost", "starved")


def test_lost_is_brought_back_by_the_sweep(row: IngestionDocument) -> None:
    leases.claim_next(1)
    IngestionDocument.objects.update(due_at=timezone.now() + AN_HOUR_AGO)
    assert found(row).condition == "lost"
    sweep.sweep()
    assert found(row).condition == "queued"


def test_waiting_says_until_when(row: IngestionDocument) -> None:
    soon, later = (timezone.now() + datetime.timedelta(minutes=each) for each in (1, 2))
    IngestionDocument.objects.update(due_at=soon)
    assert (found(row).condition, found(row).retry_at) == ("waiting", soon)
    outage = ModelOutage.objects.create(model=row.source.embedding_model, since=soon, until=later)
    assert (found(row).condition, found(row).retry_at) == ("waiting", later)
    IngestionDocument.objects.update(due_at=None)
    assert (found(row).condition, found(row).retry_at) == ("waiting", later)
    outage.delete()
    assert (found(row).condition, found(row).retry_at) == ("queued", None)


def test_operators_see_how_many_are_in_each(row: IngestionDocument, client: Client) -> None:
    names = ("queued", "starved", "running", "lost", "waiting")
    before = read(client)
    assert [before["ragsite_document_condition", name] for name in names] == [1, 0, 0, 0, 0]
    IngestionDocument.objects.update(queued_at=timezone.now() + AN_HOUR_AGO)
    after = read(client)
    assert [after["ragsite_document_condition", name] for name in names] == [0, 1, 0, 0, 0]
