"""Original files: stored in a folder or a bucket, and deleted with their rows when nothing needs them."""

import datetime
import io
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db.models import ProtectedError
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import DocumentTooLarge, IndexFull, StorageFailed, UnknownSource, UnsupportedFormat
from rag.models import Document, IngestionDocument, IngestionJob, Original
from rag.models.content.originals import place
from rag.providers import file_storage
from rag.services.ingestion import inputs, outages, synchronous
from rag.services.jobs import originals, queries, reparsing, retries, submit, uploads
from rag.services.sources import deletion
from rag.services.sources import documents as documents_service
from rag.types import Submission
from ragsite.settings.files import in_bucket
from tests.support import factories
from tests.support.bucket_server import BucketServer, digest
from tests.support.factories import World

OPTIONS = inputs.default_chunking_options()
State = IngestionDocument.State


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def store(source: Any, content: bytes = b"Zebras have stripes.", name: str = "../../etc/zebras.txt") -> Original:
    return store_content(source, io.BytesIO(content), name)


def store_content(source: Any, content: io.BytesIO, name: str = "a") -> Original:
    file = originals.IncomingFile(lambda: uploads.rewind(content), name, "text/plain")
    (original,) = originals.store_files(source=source, files=[file])
    return original


def upload(path: str, content: bytes, **about: Any) -> uploads.Upload:
    submission = Submission(path=path, title=path, text="", **about)
    return uploads.Upload(submission, lambda: io.BytesIO(content), path)


def send(world: World, source: Any, *documents: Any) -> IngestionJob:
    job = uploads.submit_documents(source=source, documents=documents, options=OPTIONS, actor=world.users["editor"])
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    return job


def purge() -> None:
    """Purge as if every file were due for its check."""
    Original.objects.update(check_at=timezone.now())
    originals.purge_unused(deadline=time.monotonic() + 60)


@pytest.fixture
def bucket(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "test-1")
    with BucketServer().running() as server:
        default = in_bucket("documents", endpoint=server.address)
        settings.STORAGES = {**settings.STORAGES, "default": default}
        yield server


def test_a_file_is_measured_hashed_and_stored_privately(world: World, stored_files: Path) -> None:
    content = b"Zebras have stripes.\n" * 100_000
    original = store(world.source(), content)
    assert (original.size, original.sha256) == (len(content), digest(content))
    assert original.name == "../../etc/zebras.txt"
    (file,) = files_in(stored_files)
    assert file == stored_files / place(original)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (file.parent, file.parent.parent)} == {0o700}
    with file_storage.local_copy(original) as path:
        assert path.read_bytes() == content


def test_nothing_is_left_of_a_file_that_is_too_large(world: World, stored_files: Path, settings: Any) -> None:
    settings.RAG_MAX_FILE_BYTES = 1000
    with pytest.raises(DocumentTooLarge, match=r"1,000 bytes \(RAG_MAX_FILE_BYTES\)"):
        store(world.source(), b"x" * 1001)
    assert (files_in(stored_files), Original.objects.count()) == ([], 0)
    assert store(world.source("other"), b"x" * 1000).size == 1000


def test_many_files_need_few_statements(world: World, stored_files: Path, django_assert_max_num_queries: Any) -> None:
    """A request with ten thousand documents is answered before the client's timeout."""
    source = world.source()
    contents = [f"File {number}".encode() for number in range(120)]
    files = [originals.IncomingFile(partial(io.BytesIO, content), "file.txt", "text/plain") for content in contents]
    with django_assert_max_num_queries(30):
        stored = originals.store_files(source=source, files=files)
    assert [original.sha256 for original in stored] == [digest(content) for content in contents]
    assert [(stored_files / place(original)).read_bytes() for original in stored] == contents
    rows = Original.objects.in_bulk()
    assert [(rows[one.pk].size, rows[one.pk].sha256) for one in stored] == [(one.size, one.sha256) for one in stored]
    with django_assert_max_num_queries(15):
        originals.discard(stored)
    assert (files_in(stored_files), Original.objects.count()) == ([], 0)


def test_a_bucket_stores_files_of_one_part_and_of_several(world: World, bucket: BucketServer, settings: Any) -> None:
    """Through boto3, over HTTP: stored, read, deleted. 20 MB go in parts, of which one is in memory at a time."""
    source = world.source()
    for size in (20, 20_000_000):
        content = bytes(range(256)) * (size // 256 + 1)
        original = store(source, content)
        assert bucket.objects == {f"/documents/{place(original)}": content}
        with file_storage.local_copy(original) as copy:
            assert copy.read_bytes() == content
            assert copy.parent == settings.RAG_TEMP_FOLDER
        assert list(settings.RAG_TEMP_FOLDER.iterdir()) == []
        originals.discard([original])
        assert (bucket.objects, Original.objects.count()) == ({}, 0)
    assert bucket.longest <= 8 * 1024 * 1024
    settings.RAG_MAX_FILE_BYTES = 10_000_000
    with pytest.raises(DocumentTooLarge):
        store(source, b"x" * 12_000_000)
    assert (bucket.objects, bucket.parts, Original.objects.count()) == ({}, {}, 0)


def test_no_file_is_lost_while_the_bucket_does_not_answer(
    world: World, bucket: BucketServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = world.source()
    original = store(source)
    monkeypatch.setattr(outages, "MAX_OUTAGES", 3)
    job = uploads.submit_documents(
        source=source, documents=[upload("a", b"Alpha.")], options=OPTIONS, actor=world.users["editor"]
    )
    bucket.down = True
    factories.process_documents(ids=[job.documents.get().pk])
    row = job.documents.get()
    assert (row.state, row.attempts) == (State.QUEUED, 0), "it is tried again"
    with pytest.raises(StorageFailed):
        store(source)
    purge()
    assert Original.objects.count() == 3, "the rows stay as long as their files"
    bucket.down = False
    purge()
    assert Original.objects.get() != original
    assert list(bucket.objects) == [f"/documents/{place(Original.objects.get())}"]


def test_a_file_that_differs_from_what_was_stored_is_not_read(world: World, bucket: BucketServer) -> None:
    original = store(world.source())
    for damage in (b"Zebras have spots...", b"short", b"long" * 100):
        bucket.objects = dict.fromkeys(bucket.objects, damage)
        with pytest.raises(StorageFailed, match="not whole"), file_storage.local_copy(original):
            pass
    bucket.objects.clear()
    with pytest.raises(StorageFailed, match="not there any more") as error, file_storage.local_copy(original):
        pass
    assert not error.value.is_retryable


def test_the_row_is_committed_before_the_file_is_written(
    world: World, stored_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a process was killed while it wrote a file, the file can be found by its row."""
    rows: list[int] = []

    class KillingFile(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            rows.append(Original.objects.count())
            raise SystemExit("killed")

    monkeypatch.setattr(originals, "discard", lambda originals: None)
    source = world.source()
    with pytest.raises(SystemExit):
        store_content(source, KillingFile())
    assert rows == [1]
    originals.purge_unused(deadline=time.monotonic() + 60)
    assert Original.objects.exists(), "the upload may still be in progress"
    purge()
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def _deleting(source: Any) -> io.BytesIO:
    if Original.objects.exists():
        deletion.delete_source(source)
    return io.BytesIO(b"Beta.")


def test_a_refused_submission_leaves_nothing(world: World, stored_files: Path) -> None:
    source = world.source()
    picture = upload("a.png", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", content_type="image/png")
    with pytest.raises(UnsupportedFormat):
        send(world, source, picture)
    world.home.max_chunks = 0
    world.home.save()
    with pytest.raises(IndexFull):
        send(world, source, upload("a", b"Alpha."))
    world.home.max_chunks = None
    world.home.save()
    with pytest.raises(UnknownSource):  # deleted while its second file is read
        send(
            world,
            source,
            upload("a", b"Alpha."),
            uploads.Upload(Submission(path="b", title="b", text=""), lambda: _deleting(source), "b"),
        )
    assert (Original.objects.count(), files_in(stored_files), IngestionJob.objects.count()) == (0, [], 0)


def test_no_file_is_left_of_a_source_that_is_deleted_during_the_upload(world: World, stored_files: Path) -> None:
    source = world.source()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if not self.tell():
                deletion.delete_source(source)
                deletion.purge_deleted()
            return super().read(size)

    with pytest.raises(UnknownSource):
        store_content(source, Slow(b"Zebras."))
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def test_a_document_keeps_its_file_until_it_is_replaced(world: World, stored_files: Path) -> None:
    source = world.source()
    send(world, source, upload("a.md", b"# Zebras\n\nStripes."))
    document = Document.objects.get()
    first = document.original
    assert first is not None
    assert (document.text, document.content_hash) == ("# Zebras\n\nStripes.", first.sha256)
    send(world, source, upload("a.md", b"# Zebras\n\nStripes."))
    assert Document.objects.get().original == first, "unchanged"
    purge()
    assert files_in(stored_files) == [stored_files / place(first)]
    send(world, source, upload("a.md", b"# Lions\n\nManes."))
    originals.purge_unused(deadline=time.monotonic() + 60)  # due at once, because the document was replaced
    second = Document.objects.get().original
    assert second is not None
    assert second != first
    assert files_in(stored_files) == [stored_files / place(second)]
    Document.objects.update(deleted_at=timezone.now())
    Original.objects.release()
    originals.purge_unused(deadline=time.monotonic() + 60)
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def test_a_job_keeps_the_files_of_open_and_of_recently_failed_documents(
    world: World, stored_files: Path, settings: Any
) -> None:
    source = world.source()
    documents = [upload("bad", b"%PDF-1.7 and no more"), upload("waiting", b"Alpha."), upload("given-up", b"Beta.")]
    job = uploads.submit_documents(source=source, documents=documents, options=OPTIONS, actor=world.users["editor"])
    factories.process_documents(ids=[job.documents.get(path="bad").pk])
    purge()
    assert Original.objects.count() == 3
    queries.cancel_job(Caller(world.users["editor"]), job.pk)
    purge()
    assert [original.name for original in Original.objects.all()] == ["bad"]
    late = timezone.now() - datetime.timedelta(days=settings.RAG_JOB_RETENTION_DAYS, minutes=1)
    IngestionDocument.objects.filter(path="bad").update(finished_at=late)
    retries.delete_expired_inputs()
    purge()
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def test_files_in_use_are_checked_ever_less_often(world: World) -> None:
    send(world, world.source(), upload("a", b"Alpha."))
    now = timezone.now()
    for age, pause in ((0, 10), (60, 60), (10_000, 1440)):
        created = now - datetime.timedelta(minutes=age)
        Original.objects.update(check_at=now, created_at=created)
        originals.purge_unused(deadline=time.monotonic() + 60)
        wait = Original.objects.get().check_at - now
        assert abs(wait - datetime.timedelta(minutes=pause)) < datetime.timedelta(minutes=1)


def test_the_files_of_a_deleted_source_are_deleted(world: World, stored_files: Path) -> None:
    source, other = world.source(), world.source("other")
    for number in range(3):
        send(world, source, upload(f"{number}", f"Zebra {number}.".encode()))
    send(world, other, upload("a", b"Alpha."))
    with pytest.raises(ProtectedError):
        source.delete()
    deletion.delete_source(source)
    deletion.purge_deleted()
    assert not type(source).objects.filter(pk=source.pk).exists()
    assert files_in(stored_files) == [stored_files / place(Original.objects.get())]
    assert Original.objects.get().source == other


def test_temporary_copies_of_killed_processes_are_deleted(world: World, settings: Any) -> None:
    import os

    old, new = settings.RAG_TEMP_FOLDER / "copy-old", settings.RAG_TEMP_FOLDER / "copy-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    originals.purge_unused(deadline=time.monotonic() + 60)
    assert list(settings.RAG_TEMP_FOLDER.iterdir()) == [new]


def test_documents_are_reparsed_from_what_is_stored(world: World, settings: Any) -> None:
    source = world.source()
    send(world, source, upload("a.md", b"Zebras. " * 200, tags=("x",), source_type="faq"))
    synchronous.ingest_now(source=source, submission=Submission(path="b", title="B", text="Lions."))
    before = {document.path: document for document in Document.objects.all()}
    settings.RAG_CHUNK_TOKENS = 64
    assert reparsing.reparse_documents(Caller(world.users["member"]), Document.objects.all()) == []
    (job,) = reparsing.reparse_documents(Caller(world.users["editor"]), Document.objects.all())
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    assert set(job.documents.values_list("outcome", flat=True)) == {"updated"}, "although nothing has changed"
    after = {document.path: document for document in Document.objects.all()}
    assert after["a.md"].chunk_count > before["a.md"].chunk_count
    for path, document in before.items():
        for field in ("pk", "text", "original", "content_hash", "source_type", "tags", "content_type", "title"):
            assert getattr(after[path], field) == getattr(document, field), field
    purge()
    assert Original.objects.count() == 1


def test_reparsing_does_not_replace_a_newer_version_in_the_queue(world: World) -> None:
    source = world.source()
    send(world, source, upload("a", b"Alpha."))
    documents = Document.objects.all()
    editor = world.users["editor"]
    submit.submit_job(
        source=source, submissions=[Submission(path="a", title="", text="Beta.")], options=OPTIONS, actor=editor
    )
    assert reparsing.reparse_documents(Caller(editor), documents) == []
    factories.process_queue()
    assert documents.get().text == "Beta."
    (job,) = reparsing.reparse_documents(Caller(editor), documents)
    documents_service.delete_document(documents.get())
    factories.process_queue()
    assert not Document.objects.live().exists(), "nor does it restore a document that was deleted since"
    assert job.documents.get().outcome == "unchanged"
