"""The deletion of the inputs of jobs after their retention period."""

import datetime

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import NothingToRetry
from rag.models import IngestionDocument
from rag.services.jobs import manual_retries
from rag.services.maintenance.retention import delete_old_inputs
from tests.services.jobs.test_retries import failed_job
from tests.support.factories import World


def test_expired_inputs_are_deleted_and_the_rows_stay(world: World) -> None:
    old, young = failed_job(world), failed_job(world)
    past = timezone.now() - datetime.timedelta(days=31)
    IngestionDocument.objects.filter(job=old).update(finished_at=past)
    delete_old_inputs.delete_expired_inputs()
    assert (old.documents.count(), old.documents.exclude(text="").count()) == (2, 0)
    assert young.documents.exclude(text="").count() == 1
    with pytest.raises(NothingToRetry, match="no longer stored"):
        manual_retries.retry_job(Caller(world.users["editor"]), old.pk)
    manual_retries.retry_job(Caller(world.users["editor"]), young.pk)


def test_expired_inputs_are_deleted_in_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_old_inputs, "_BATCH_SIZE", 2)
    past = timezone.now() - datetime.timedelta(days=31)
    for _ in range(5):
        failed_job(world, count=1)
    IngestionDocument.objects.update(finished_at=past)
    delete_old_inputs.delete_expired_inputs()
    assert not IngestionDocument.objects.exclude(text="").exists()
