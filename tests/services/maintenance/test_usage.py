"""Quotas are exact: never exceeded, and what fits is stored. The usage counters can be checked and repaired."""

import threading
from collections.abc import Callable, Sequence
from functools import partial
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from orgs.access.caller import Caller
from rag.errors import IndexFull
from rag.models import Chunk, DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob, Original, Usage
from rag.pipeline.ingestion import quota
from rag.services.ingestion import build_submissions
from rag.services.jobs import close_and_cancel
from rag.services.jobs.create_job import create_job
from rag.services.maintenance import usage_counters
from rag.services.sources import documents
from rag.types import Submission
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

OPTIONS = build_submissions.default_chunking_options()


def set_quota(world: World, **limits: int | None) -> None:
    for name, value in limits.items():
        setattr(world.home, name, value)
    world.home.save()


def run_concurrently(tasks: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run each task in a thread with its own connection, and return the results, IndexFull included."""
    ready, results = threading.Barrier(len(tasks)), []

    def run(task: Callable[[], Any]) -> None:
        try:
            ready.wait(20)
            results.append(task())
        except IndexFull as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def count_refused(results: list[Any]) -> int:
    return sum(isinstance(result, IndexFull) for result in results)


def submit(world: World, source: DataSource, *texts: str, paths: str = "abcdefgh") -> IngestionJob:
    sent = [Submission(path=path, title=path, text=text) for path, text in zip(paths, texts, strict=False)]
    return create_job(source=source, submissions=sent, options=OPTIONS, actor=world.users["editor"])


def process_all() -> None:
    factories.process_documents(ids=list(IngestionDocument.objects.filter(state="queued").values_list("pk", flat=True)))


@pytest.mark.parametrize("limits", [{"max_chunks": 3}, {"max_bytes": 30}], ids=["chunks", "bytes"])
def test_of_concurrent_writers_as_many_succeed_as_fit(live_world: World, limits: dict[str, int]) -> None:
    """Each writes one chunk of ten bytes into an existing source, so that all of them reach the commit."""
    set_quota(live_world, **limits)
    sources = [live_world.source(f"source-{number}") for number in range(7)]
    results = run_concurrently([partial(ingest_text, source, "a", "0123456789") for source in sources])
    assert (count_refused(results), Chunk.objects.count(), Document.objects.count()) == (4, 3, 3)
    assert Usage.objects.values_list("chunks", "bytes").get() == (3, 30)
    assert usage_counters.find_differences() == []


def test_the_counter_is_right_after_concurrent_writes_and_deletions(live_world: World) -> None:
    source = live_world.source()
    for number in range(6):
        ingest_text(source, f"{number}", "Zebras.")

    def rewrite(path: str) -> None:
        for round_ in range(4):
            ingest_text(source, path, "Lions have manes. " * (round_ * 60 + 1))

    def delete(path: str) -> None:
        documents.delete_document(Document.objects.live().get(source=source, path=path))

    tasks = [partial(rewrite, path) for path in ("0", "1", "2", "new", "new")]
    tasks += [partial(delete, path) for path in ("3", "4", "5")]
    run_concurrently(tasks)
    assert usage_counters.find_differences() == []
    assert Usage.objects.get().chunks == Chunk.objects.filter(document__deleted_at=None).count()


def test_a_job_must_fit_together_with_all_open_documents(live_world: World) -> None:
    """In bytes, because the number of chunks is not known yet. Nothing of a refused job is stored."""
    set_quota(live_world, max_bytes=25)
    source = live_world.source()
    results = run_concurrently([partial(submit, live_world, source, "0123456789", paths=f"{n}") for n in range(6)])
    assert (count_refused(results), IngestionJob.objects.count(), IngestionDocument.objects.count()) == (4, 2, 2)
    process_all()
    assert set(IngestionDocument.objects.values_list("state", flat=True)) == {"done"}, "what was accepted fits"
    with pytest.raises(IndexFull) as error:
        submit(live_world, source, "0123456789", paths="9")
    assert error.value.data == {"maxBytes": 25}
    submit(live_world, source, "01234", paths="9")


def test_a_replacement_needs_room_for_the_difference_only(live_world: World) -> None:
    set_quota(live_world, max_bytes=20, max_chunks=20)
    source = live_world.source()
    submit(live_world, source, "0123456789", "0123456789")
    process_all()
    submit(live_world, source, "9876543210", "9876543210")  # replaces the whole content of a full source
    process_all()
    assert set(Document.objects.values_list("text", flat=True)) == {"9876543210"}
    with pytest.raises(IndexFull):
        submit(live_world, source, "9876543210!")
    assert ingest_text(source, "a", "short").status == "updated"
    assert Usage.objects.get().bytes == 15


def test_cancelled_and_failed_documents_need_no_room(live_world: World) -> None:
    set_quota(live_world, max_bytes=10)
    source = live_world.source()
    job = submit(live_world, source, "0123456789")
    close_and_cancel.cancel_job(Caller(live_world.users["editor"]), job.pk)
    submit(live_world, source, "0123456789")


def test_a_document_that_does_not_fit_is_not_embedded(live_world: World, model_provider: ProviderServer) -> None:
    """Only this document fails, and the other documents of its job are stored."""
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    source = live_world.source(embedding_model=model)
    set_quota(live_world, max_chunks=2)
    job = submit(live_world, source, "Zebras.", "Lions have manes. " * 400, "Bears.")
    process_all()
    job.refresh_from_db()
    rows = {row.path: (row.state, row.error_code) for row in job.documents.all()}
    assert rows == {"a": ("done", ""), "b": ("failed", "INDEX_FULL"), "c": ("done", "")}
    assert not any("manes" in str(request) for request in model_provider.requests)
    seen = len(model_provider.requests)
    with pytest.raises(IndexFull):
        ingest_text(source, "d", "Lions.")
    assert len(model_provider.requests) == seen


@pytest.fixture
def model_provider() -> Any:
    with ProviderServer(dimensions=384).running() as server:
        yield server


def test_a_file_counts_in_addition_to_its_text(world: World) -> None:
    original = Original.objects.create(source=world.source(), name="x.pdf", size=1000, sha256="x")
    assert quota.document_size("Grün", original.pk) == 1005
    assert quota.document_size("Grün") == 5
    Document.objects.create(
        source=original.source, path="old", title="x", text="old", content_type="text/plain", source_type="doc",
        content_hash="x", chunk_size=1, chunk_overlap=0, chunk_count=2, bytes=1003, original=original,
        revision="0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11",
    )  # fmt: skip
    ingest_text(original.source, "old", "new")
    assert Usage.objects.get().bytes == 3 - 1003, "what is replaced counts as it was counted"


def test_counters_are_checked_and_repaired(world: World) -> None:
    ingest_text(world.source(), "a", "Zebras.")
    ingest_text(world.source("abroad", organization=world.abroad), "a", "Lions.")
    call_command("check_usage", stdout=(out := StringIO()))
    assert out.getvalue() == "The counters of all organisations are correct.\n"
    Usage.objects.filter(organization=world.home).update(chunks=7)
    Usage.objects.filter(organization=world.abroad).delete()
    with pytest.raises(CommandError, match="wrong counter: 2"):
        call_command("check_usage", stdout=(out := StringIO()))
    assert (
        "home: the counters say 7 chunks and 7 bytes, the stored documents have 1 chunks and 7 bytes" in out.getvalue()
    )
    call_command("check_usage", "--repair", stdout=StringIO())
    assert usage_counters.find_differences() == []
    assert Usage.objects.get(organization=world.abroad).bytes == len("Lions.")
