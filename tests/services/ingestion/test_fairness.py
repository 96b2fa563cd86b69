"""Fair claiming: which organisation's documents a worker claims next. No document is claimed twice."""

import datetime
import itertools
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any
from unittest.mock import ANY

import pytest
from django.db import connection
from django.utils import timezone

from rag import task_queue
from rag.models import DataSource, EmbeddingModel, IngestionDocument
from rag.providers import provider_factory
from rag.services.ingestion import batch_indexing, build_submissions, document_processing
from rag.services.ingestion.queue import claims, recovery_sweep
from rag.services.jobs.create_job import create_job
from rag.services.operations import workers
from rag.types import Submission
from tests.support.factories import World

State = IngestionDocument.State
LONG = " ".join(f"Zebra {number} eats grass in the yard of the zoo." for number in range(150))
SECOND = datetime.timedelta(seconds=1)


def queue(world: World, source: DataSource, count: int, *, name: str = "doc", text: str = "Zebras.") -> None:
    submissions = [
        Submission(path=f"{name}-{number}", title="Zebras", text=f"{number} {text}") for number in range(count)
    ]
    create_job(
        source=source,
        submissions=submissions,
        options=build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def two_tenants(world: World) -> tuple[DataSource, DataSource]:
    return world.source("large"), world.source("small", organization=world.abroad)


def mark_done(rows: list[IngestionDocument]) -> None:
    IngestionDocument.objects.filter(pk__in=[row.pk for row in rows]).update(state=State.DONE, due_at=None)


def test_a_large_job_does_not_delay_a_single_document_of_another_organisation(world: World) -> None:
    large, small = two_tenants(world)
    queue(world, large, 200)
    assert {row.source_id for row in claims.claim_next(8)} == {large.pk}
    queue(world, small, 1)
    (only,) = claims.claim_next(8)
    assert only.source_id == small.pk


def test_a_single_worker_alternates_between_organisations(world: World) -> None:
    """Nothing is running between two of its claims, so the organisation that was served longest ago is next."""
    large, small = two_tenants(world)
    queue(world, large, 40)
    queue(world, small, 40)
    served = []
    while rows := claims.claim_next(4):
        served.append(rows[0].source_id)
        mark_done(rows)
    assert len(served) == 20
    assert all(one != other for one, other in itertools.pairwise(served))


def test_the_organisation_with_fewer_running_documents_comes_first(world: World) -> None:
    large, small = two_tenants(world)
    queue(world, large, 100)
    claims.claim_next(8)
    queue(world, small, 100)
    share = Counter(claims.claim_next(4)[0].source_id for _ in range(6))
    assert share == {small.pk: 4, large.pk: 2}, "8 + 8 against 16"


def test_a_claim_is_of_one_source_in_the_order_of_submission(world: World) -> None:
    queue(world, world.source("a"), 3)
    queue(world, world.source("b"), 3)
    for _ in range(2):
        rows = claims.claim_next(8)
        assert [row.index for row in rows] == [0, 1, 2]
        assert len({row.job_id for row in rows}) == 1
        assert all(row.state == State.RUNNING and row.lease and row.attempts == 1 and row.claimed_at for row in rows)
    assert claims.claim_next(8) == []


@pytest.mark.parametrize(("provider", "count"), [("local", 6), ("openai", 24)])
def test_a_claim_of_long_documents_is_larger_if_a_remote_model_embeds_them(
    world: World, provider: str, count: int
) -> None:
    """A local model needs many times as long for them, and other organisations wait for the end of a claim."""
    model = EmbeddingModel.objects.create(name=provider, provider=provider, dimensions=384)
    queue(world, world.source(embedding_model=model), 30, text="Zebras sleep. " * 1_500)
    assert len(claims.claim_next(32)) == count


def test_claims_become_smaller_towards_the_end_so_that_workers_end_together(world: World) -> None:
    queue(world, world.source(), 120, text="Zebras sleep. " * 50)
    workers.Reporter(name="one@host", queues=["ingestion"], slots=2, list_running=list).beat()
    workers.Reporter(name="two@host", queues=["maintenance"], slots=8, list_running=list).beat()
    sizes = list(iter(lambda: len(claims.claim_next(64)), 0))
    assert sizes[:4] == [40, 27, 18, 12]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-2] == 3, "fewer than 2 KB are not worth a claim"


def test_one_worker_claims_as_many_as_it_may(world: World) -> None:
    queue(world, world.source(), 80, text="Zebras sleep. " * 50)
    workers.Reporter(name="one@host", queues=["ingestion"], slots=1, list_running=list).beat()
    assert len(claims.claim_next(64)) == 64


def test_many_workers_get_documents_of_a_small_job(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Sequence[object]] = []
    monkeypatch.setattr(task_queue, "send_all", lambda task, arguments: sent.extend(arguments))
    queue(world, world.source("small"), 5)
    assert sent == [[5]] * 5
    sent.clear()
    queue(world, world.source("large"), 700)
    assert sent == [[64]] * 22


def test_a_claim_of_the_few_that_remain_of_a_message_is_made_larger(world: World) -> None:
    queue(world, world.source(), 80, text="Zebras sleep. " * 600)  # 128 KB are 15 of them
    document_processing.process_next(count=16)
    assert IngestionDocument.objects.filter(state=State.DONE).count() == 15 + 8


def test_postponed_and_ended_documents_are_not_claimed(world: World) -> None:
    queue(world, world.source("a"), 4)
    postponed, cancelled, failed, free = IngestionDocument.objects.all()
    IngestionDocument.objects.filter(pk=postponed.pk).update(due_at=postponed.queued_at)
    IngestionDocument.objects.filter(pk=cancelled.pk).update(state=State.CANCELLED)
    IngestionDocument.objects.filter(pk=failed.pk).update(state=State.FAILED)
    assert [row.pk for row in claims.claim_next(8)] == [free.pk]
    recovery_sweep.sweep()
    assert [row.pk for row in claims.claim_next(8)] == [postponed.pk]


def test_no_document_is_claimed_twice(live_world: World) -> None:
    large, small = two_tenants(live_world)
    queue(live_world, large, 150)
    queue(live_world, small, 50)
    claimed: list[IngestionDocument] = []
    ready = threading.Barrier(6)

    def claim_all() -> None:
        try:
            ready.wait()
            while rows := claims.claim_next(3):
                claimed.extend(rows)
        finally:
            connection.close()

    threads = [threading.Thread(target=claim_all) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    claimed += claims.claim_next(200) + claims.claim_next(200)  # rows that other threads had locked at the last claim
    assert len(claimed) == 200
    assert len({row.pk for row in claimed}) == 200
    stored_leases = dict(IngestionDocument.objects.values_list("pk", "lease"))
    assert {row.pk: row.lease for row in claimed} == stored_leases


def test_a_document_that_kills_its_worker_fails_no_other(world: World, settings: Any) -> None:
    """Documents that lost their worker are claimed alone, so only the cause uses up its attempts."""
    source = world.source()
    queue(world, source, 200)
    poison = IngestionDocument.objects.order_by("pk")[3]
    for _ in range(40):
        rows = claims.claim_next(8)
        if not rows:
            break
        if poison.pk in [row.pk for row in rows]:  # its worker dies
            IngestionDocument.objects.filter(state=State.RUNNING).update(due_at=timezone.now() - SECOND)
            recovery_sweep.sweep()
        else:
            mark_done(rows)
    lost = IngestionDocument.objects.filter(state=State.FAILED)
    assert [(row.pk, row.error_code) for row in lost] == [(poison.pk, "WORKER_LOST")]


def test_slow_documents_of_one_claim_do_not_keep_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A claim of eight scanned files took an hour, and the workers of all organisations with it."""
    large, small = two_tenants(world)
    queue(world, large, 3)
    monkeypatch.setattr(document_processing, "_MAX_SECONDS_PER_CLAIM", -1.0)
    assert document_processing.process_documents(claims.claim_next(3)) == 1
    rows = IngestionDocument.objects.filter(source=large).order_by("state", "pk")
    assert list(rows.values_list("state", "attempts", "lease", "stage")) == [
        (State.DONE, 1, ANY, ""),
        (State.QUEUED, 0, None, ""),
        (State.QUEUED, 0, None, ""),
    ]
    queue(world, small, 1)
    assert [row.source_id for row in claims.claim_next(1)] == [small.pk]
    document_processing.process_next(count=2)
    assert Counter(rows.values_list("state", flat=True)) == {State.DONE: 3}, "those that were given back do not count"


def test_a_long_document_does_not_keep_others_waiting(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty megabytes took a worker half an hour, and a document for each worker kept all other organisations out."""
    large, small = two_tenants(world)
    queue(world, large, 1, text=LONG)
    (long_document,) = claims.claim_next(1)
    monkeypatch.setattr(document_processing, "_PAUSE_SECONDS", -1.0)
    monkeypatch.setattr(claims, "_MAX_BYTES_PER_CLAIM", 1_000)
    monkeypatch.setattr(type(provider_factory.local_embedder()), "batch_size", 1)
    finished: list[str] = []
    write_batch = batch_indexing.write_batch

    def write_and_note(works: Any, prepared: Any) -> None:
        write_batch(works, prepared)
        finished.extend(work.document.path for work in works)

    monkeypatch.setattr(batch_indexing, "write_batch", write_and_note)
    queue(world, large, 1, name="own")
    queue(world, small, 1, name="other long", text=LONG)
    queue(world, small, 1, name="other")
    document_processing.process_documents([long_document])
    assert finished == ["other-0", "doc-0"], "those of its own organisation and other long ones wait for a worker"


def test_no_document_goes_before_a_long_one_if_its_organisation_is_served(world: World) -> None:
    large, small = two_tenants(world)
    queue(world, large, 1)
    queue(world, small, 2)
    assert {row.source_id for _ in range(2) for row in claims.claim_next(1)} == {large.pk, small.pk}
    assert claims.claim_next(1, only_overlooked=True) == []
    assert len(claims.claim_next(1)) == 1
