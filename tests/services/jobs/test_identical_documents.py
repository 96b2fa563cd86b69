"""Documents that are submitted exactly as they are stored are done at once, without a worker."""

import datetime
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from rag.models import Document, IngestionDocument, IngestionJob, Original
from rag.services.sources import original_files
from rag.types import ChunkingOptions
from tests.services.jobs.uploading import files_in, send, upload
from tests.support.factories import World, process_queue
from tests.support.submissions import TEXTS, outcomes, submit

State, Outcome = IngestionDocument.State, IngestionDocument.Outcome


def test_a_job_of_identical_documents_has_ended_when_it_is_submitted(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS, tags=("a",), metadata={"p": 1})
    process_queue()
    revisions = dict(Document.objects.values_list("path", "revision"))
    job = submit(world, source, TEXTS, tags=("a",), metadata={"p": 1})
    job.refresh_from_db()
    assert job.status == IngestionJob.Status.COMPLETED
    assert job.created_at <= (job.started_at or job.created_at) <= (job.finished_at or job.created_at)
    assert outcomes(job) == dict.fromkeys(TEXTS, Outcome.UNCHANGED)
    rows = job.documents.values_list("state", "text", "chunk_count", "document__path")
    assert sorted(rows) == [(State.DONE, "", 1, path) for path in TEXTS]
    assert process_queue() == 0
    assert dict(Document.objects.values_list("path", "revision")) == dict(job.documents.values_list("path", "pk"))
    assert all(job.documents.get(path=path).pk > revision for path, revision in revisions.items())


def test_the_file_of_an_identical_document_is_deleted_by_the_next_purge(world: World, stored_files: Path) -> None:
    """No quota counts it: the same large file, sent again and again, filled the disk for ten minutes."""
    source, content = world.source(), b"Zebras have stripes. " * 1_000
    send(world, source, upload("zebras.txt", content))
    kept = Document.objects.get().original
    for _ in range(2):
        send(world, source, upload("zebras.txt", content))
    send(world, source, upload("zebras.txt", content, tags=("a",)))  # a worker finds that its content is stored
    assert Original.objects.count() == 4
    original_files.purge_unused(deadline=time.monotonic() + 60)
    assert list(Original.objects.all()) == [kept]
    assert len(files_in(stored_files)) == 1


@pytest.mark.parametrize(
    "difference",
    [
        {"title": "New"}, {"tags": ("a",)}, {"metadata": {"p": 1}}, {"uri": "https://a"}, {"lang": "de"},
        {"source_type": "faq"}, {"date": datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)},
        {"content_type": "text/html"}, {"content_hash": "other"}, {"force_reparse": True},
        {"options": ChunkingOptions(64, 0)},
    ],
    ids=lambda difference: next(iter(difference)),
)  # fmt: skip
def test_a_document_with_any_difference_is_left_to_the_workers(world: World, difference: dict[str, Any]) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    texts = {"a": TEXTS["a"]}
    job = submit(world, source, texts, **difference)
    assert list(job.documents.values_list("state", "text")) == [(State.QUEUED, "Alpha.")]
    assert process_queue() == 1
    assert submit(world, source, texts, **difference).documents.get().state == (
        State.QUEUED if "force_reparse" in difference else State.DONE
    )


def test_only_changed_documents_of_a_job_are_left_to_the_workers(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    job = submit(world, source, {**TEXTS, "b": "Delta.", "d": "New."})
    job.refresh_from_db()
    assert job.status == IngestionJob.Status.PROCESSING
    assert process_queue() == 2
    job.refresh_from_db()
    assert job.status == IngestionJob.Status.COMPLETED
    expected = {"a": Outcome.UNCHANGED, "b": Outcome.UPDATED, "c": Outcome.UNCHANGED, "d": Outcome.CREATED}
    assert outcomes(job) == expected


def test_an_older_submission_does_not_replace_what_was_confirmed_later(world: World) -> None:
    source = world.source()
    submit(world, source, TEXTS)
    process_queue()
    older = submit(world, source, {"a": "Delta."})
    newer = submit(world, source, {"a": TEXTS["a"]})
    assert outcomes(newer) == {"a": Outcome.UNCHANGED}
    process_queue()
    assert Document.objects.get(path="a").text == TEXTS["a"]
    assert outcomes(older) == {"a": Outcome.UNCHANGED}


def test_a_job_does_not_wait_for_a_writer_of_its_source(live_world: World) -> None:
    """The writer may have read the document already, and replace it without knowing of the new revision."""
    source = live_world.source()
    submit(live_world, source, TEXTS)
    process_queue()
    is_locked, is_submitted = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                source.lock_for_write()
                is_locked.set()
                is_submitted.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        writer = executor.submit(write)
        assert is_locked.wait(30)
        job = submit(live_world, source, TEXTS)
        is_submitted.set()
        writer.result()
    assert set(job.documents.values_list("state", flat=True)) == {State.QUEUED}
    process_queue()
    assert outcomes(job) == dict.fromkeys(TEXTS, Outcome.UNCHANGED)


def test_a_writer_waits_for_a_job_that_keeps_documents(live_world: World) -> None:
    source = live_world.source()
    submit(live_world, source, TEXTS)
    process_queue()

    def write() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '100ms'")
                source.lock_for_write()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as executor:
        with transaction.atomic():
            assert set(outcomes(submit(live_world, source, TEXTS)).values()) == {Outcome.UNCHANGED}
            with pytest.raises(OperationalError):
                executor.submit(write).result()
        executor.submit(write).result()


@pytest.mark.parametrize("content_type", ["application/octet-stream", "documentation"])
def test_a_type_that_says_nothing_stays_the_detected_one_when_it_is_sent_again(world: World, content_type: str) -> None:
    source = world.source()
    submit(world, source, {"a.md": "# Alpha"}, content_type=content_type)
    process_queue()
    stored = "text/markdown" if content_type == "application/octet-stream" else content_type
    assert Document.objects.get().content_type == stored
    second_job = submit(world, source, {"a.md": "# Alpha"}, content_type=content_type)
    assert outcomes(second_job) == {"a.md": Outcome.UNCHANGED}
    assert Document.objects.get().content_type == stored
