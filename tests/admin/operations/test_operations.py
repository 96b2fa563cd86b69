"""The page "Operations": who may open it, what it says in good times and in bad ones."""

import datetime
import json
import shutil
import socket
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import redis
from django.test import Client
from django.utils import timezone

from rag.models import (
    EmbeddingModel,
    IngestionDocument,
    ModelOutage,
    RecordedError,
    ScheduledTaskRun,
    SlowOperation,
    WorkerHeartbeat,
)
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.services.operations import workers
from rag.types import Submission
from tests.support.factories import World

PAGE = "/admin/operations"
GB = 10**9


@pytest.fixture
def operator(world: World, client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A superuser. The queues are empty: other tests leave messages in theirs. The disk has space."""
    give_disk(monkeypatch, used=50 * GB, free=40 * GB)
    settings.CELERY_BROKER_TRANSPORT_OPTIONS = {
        **settings.CELERY_BROKER_TRANSPORT_OPTIONS,
        "global_keyprefix": f"{world.home.pk}:",
    }
    owner = world.users["owner"]
    owner.is_staff = owner.is_superuser = True
    owner.save()
    client.force_login(owner)
    return client


def give_disk(monkeypatch: pytest.MonkeyPatch, *, used: int, free: int) -> None:
    """Let the disk have so many bytes, and 100 GB that are reserved for root."""
    usage = SimpleNamespace(total=used + free + 100 * GB, used=used, free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)


def start_worker(*queues: str, running: list[tuple[str, float]] | None = None) -> None:
    workers.Reporter(name=f"{queues[0]}@host", queues=queues, slots=2, list_running=lambda: list(running or [])).beat()


def start_all_workers() -> None:
    for queue in ("ingestion", "maintenance", "background"):
        start_worker(queue)


def read(client: Client) -> str:
    response = client.get(PAGE, {"part": ""})
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def submit_document(world: World) -> IngestionDocument:
    options = build_submissions.default_chunking_options()
    submission = Submission(path="plan.txt", title="Plan", text="Confidential zebras.")
    create_job(source=world.source(), submissions=[submission], options=options, actor=world.users["editor"])
    return IngestionDocument.objects.get()


def test_only_superusers_open_it(world: World, client: Client) -> None:
    assert client.get(PAGE).status_code == 302, "to the sign-in"
    owner = world.users["owner"]
    owner.is_staff = True
    owner.save()
    client.force_login(owner)
    for parameters in ({}, {"part": ""}):
        assert client.get(PAGE, parameters).status_code == 403, "it shows what other organisations do"
    assert client.post(PAGE).status_code == 403


def test_a_healthy_system_needs_nothing(operator: Client) -> None:
    start_all_workers()
    page = read(operator)
    assert "Everything works. There is nothing to do." in page
    assert "ingestion@host" in page
    whole = operator.get(PAGE).content.decode()
    assert "<h1>Operations</h1>" in whole
    assert "style=" not in whole, "the content security policy forbids inline styles"


def test_a_disk_that_is_nearly_full_is_a_warning(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    start_all_workers()
    give_disk(monkeypatch, used=82 * GB, free=8 * GB)
    page = read(operator)
    assert "Less than 10 % of the disk with the original files is free." in page
    assert "7.5 GB of 83.8 GB free." in page, "without what is reserved for root"


def test_a_missing_worker_is_named_with_what_to_do(operator: Client) -> None:
    start_worker("ingestion", running=[("rag.ingest_documents", timezone.now().timestamp() - 5_410)])
    page = read(operator)
    assert "Something is down." in page
    assert "No worker serves: maintenance, background. </strong>" in page.replace(".</strong>", ". </strong>")
    assert "1 of 2" in page
    assert "rag.ingest_documents for 1 h 30 min" in page


def test_a_worker_that_died_is_lost(operator: Client) -> None:
    start_all_workers()
    long_ago = timezone.now() - datetime.timedelta(hours=5, seconds=10)
    WorkerHeartbeat.objects.filter(name="ingestion@host").update(beat_at=long_ago)
    page = read(operator)
    assert "No worker serves: ingestion." in page
    assert "Workers died or lost the database: ingestion@host." in page
    assert "5 h 0 min ago" in page
    assert "<td>They wait until everything above works again.</td>" in page
    assert "workers take documents in turn" not in page


def test_redis_that_does_not_answer(operator: Client, settings: Any) -> None:
    """Both a server that refuses connections and one that accepts them and says nothing."""
    start_all_workers()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        for listens in (False, True):
            if listens:
                silent.listen()
            settings.REDIS_URL = f"redis://127.0.0.1:{port}/0"
            page = read(operator)
            assert "Redis does not answer, so no documents are ingested." in page
            assert "Questions are still answered" in page
            assert "ingestion@host" in page, "everything else is still shown"


def test_a_queue_that_nobody_serves_is_late(operator: Client, settings: Any) -> None:
    start_all_workers()
    prefix = settings.CELERY_BROKER_TRANSPORT_OPTIONS["global_keyprefix"]
    message = {"headers": {"published_at": timezone.now().timestamp() - 3_670}, "body": "Confidential"}
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.lpush(f"{prefix}background", json.dumps(message))
        page = read(operator)
        client.delete(f"{prefix}background")
    assert "Messages have waited for more than five minutes in: background." in page
    assert '<th scope="row">background</th><td>1</td><td>1 h 1 min</td>' in page
    assert "Confidential" not in page


def test_documents_are_shown_by_condition_and_waiting_ones_can_be_retried(
    operator: Client, world: World, django_capture_on_commit_callbacks: Callable[..., Any]
) -> None:
    start_all_workers()
    document = submit_document(world)
    now = timezone.now()
    ModelOutage.objects.create(
        model=EmbeddingModel.objects.default(), since=now, until=now + datetime.timedelta(hours=1)
    )
    page = read(operator)
    assert 'condition=waiting">waiting</a></th><td>1</td>' in page
    assert "does not answer; its documents wait." in page
    assert "Confidential" not in page
    assert operator.post(PAGE).status_code == 302
    documents: Any = IngestionDocument.objects.with_condition()  # annotated
    assert not documents.filter(pk=document.pk, retry_at__gt=timezone.now()).exists()


def test_errors_slow_work_and_the_schedule_are_listed(operator: Client) -> None:
    start_all_workers()
    now = timezone.now()
    RecordedError.objects.create(at=now, event="ingestion_crashed", exception="ValueError", request_id="req-1")
    SlowOperation.objects.create(
        at=now, kind="query", milliseconds=2500, stages={"generate": 2300.0}, request_id="req-2"
    )
    late = now - datetime.timedelta(hours=1)
    ScheduledTaskRun.objects.create(name="rag.sweep_ingestion", started_at=late, finished_at=late)
    page = read(operator)
    for text in ("ingestion_crashed", "ValueError", "req-1", "req-2", "generate 2 s"):
        assert text in page
    assert "Scheduled tasks are late: rag.sweep_ingestion." in page
    assert "needs your attention" in page
