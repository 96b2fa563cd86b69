"""Original files: deleted with their rows when nothing needs them."""

import datetime
import io
import stat
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db.models import ProtectedError
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import DocumentTooLarge, IndexFull, StorageFailed, UnknownSource, UnsupportedFormat
from rag.models import Document, IngestionDocument, IngestionJob, Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage
from rag.services.jobs import close_and_cancel
from rag.services.jobs.submit_documents import Upload, submit_documents
from rag.services.maintenance.retention import delete_old_inputs
from rag.services.sources import deletion, original_files, purge
from rag.types import Submission
from tests.services.jobs.uploading import OPTIONS, files_in, purge_unused_files, send, store, store_content, upload
from tests.support import factories
from tests.support.factories import World
from tests.support.servers.bucket_server import digest

pytestmark = pytest.mark.usefixtures("small_files_in_storage")

State = IngestionDocument.State


def test_a_file_is_measured_hashed_and_stored_privately(world: World, stored_files: Path) -> None:
    content = b"Zebras have stripes.\n" * 100_000
    source = world.source()
    originals = [store(source, content), store(source, content)]  # the first one of a source creates its folder
    for original in originals:
        assert (original.size, original.sha256) == (len(content), digest(content))
        assert original.name == "../../etc/zebras.txt"
        file = stored_files / storage_path(original)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert {stat.S_IMODE(folder.stat().st_mode) for folder in (file.parent, file.parent.parent)} == {0o700}
        with file_storage.local_copy(original) as path:
            assert path.read_bytes() == content
    assert len(files_in(stored_files)) == 2


def test_no_file_replaces_another(world: World, stored_files: Path) -> None:
    original = store(world.source(), b"Zebras have stripes.")
    with pytest.raises(StorageFailed, match="already"):
        file_storage.write(storage_path(original), io.BytesIO(b"Lions roar."), max_bytes=100)
    with file_storage.local_copy(original) as path:
        assert path.read_bytes() == b"Zebras have stripes."


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
    files = [
        original_files.IncomingFile(partial(io.BytesIO, content), "file.txt", "text/plain") for content in contents
    ]
    with django_assert_max_num_queries(30):
        stored = original_files.store_files(source=source, files=files)
    assert [original.sha256 for original in stored] == [digest(content) for content in contents]
    assert [(stored_files / storage_path(original)).read_bytes() for original in stored] == contents
    rows = Original.objects.in_bulk()
    assert [(rows[one.pk].size, rows[one.pk].sha256) for one in stored] == [(one.size, one.sha256) for one in stored]
    with django_assert_max_num_queries(15):
        original_files.discard(stored)
    assert (files_in(stored_files), Original.objects.count()) == ([], 0)


def test_the_row_is_committed_before_the_file_is_written(
    world: World, stored_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a process was killed while it wrote a file, the file can be found by its row."""
    rows: list[int] = []

    class KillingFile(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            rows.append(Original.objects.count())
            if rows[-1]:
                raise SystemExit("killed")
            return b"Zebras."  # read to see whether the file is small

    monkeypatch.setattr(original_files, "discard", lambda originals: None)
    source = world.source()
    with pytest.raises(SystemExit):
        store_content(source, KillingFile())
    assert rows == [0, 1]
    original_files.purge_unused(deadline=time.monotonic() + 60)
    assert Original.objects.exists(), "the upload may still be in progress"
    purge_unused_files()
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def _deleting(source: Any) -> io.BytesIO:
    if Original.objects.exists():
        deletion.delete_source(source)
    return io.BytesIO(b"Beta.")


def test_a_refused_submission_leaves_nothing(world: World, stored_files: Path) -> None:
    source = world.source()
    picture = upload("a.gif", b"GIF89a\x01\x00\x01\x00", content_type="image/gif")
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
            Upload(Submission(path="b", title="b", text=""), lambda: _deleting(source), "b"),
        )
    assert (Original.objects.count(), files_in(stored_files), IngestionJob.objects.count()) == (0, [], 0)


def test_no_file_is_left_of_a_source_that_is_deleted_during_the_upload(world: World, stored_files: Path) -> None:
    source = world.source()

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if not self.tell():
                deletion.delete_source(source)
                purge.purge_deleted()
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
    purge_unused_files()
    assert files_in(stored_files) == [stored_files / storage_path(first)]
    send(world, source, upload("a.md", b"# Lions\n\nManes."))
    original_files.purge_unused(deadline=time.monotonic() + 60)  # due immediately, because the document was replaced
    second = Document.objects.get().original
    assert second is not None
    assert second != first
    assert files_in(stored_files) == [stored_files / storage_path(second)]
    Document.objects.update(deleted_at=timezone.now())
    Original.objects.schedule_purge_check()
    original_files.purge_unused(deadline=time.monotonic() + 60)
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def test_a_job_keeps_the_files_of_open_and_of_recently_failed_documents(
    world: World, stored_files: Path, settings: Any
) -> None:
    source = world.source()
    documents = [upload("bad", b"%PDF-1.7 and no more"), upload("waiting", b"Alpha."), upload("given-up", b"Beta.")]
    job = submit_documents(source=source, documents=documents, options=OPTIONS, actor=world.users["editor"])
    factories.process_documents(ids=[job.documents.get(path="bad").pk])
    purge_unused_files()
    assert Original.objects.count() == 3
    close_and_cancel.cancel_job(Caller(world.users["editor"]), job.pk)
    purge_unused_files()
    assert [original.name for original in Original.objects.all()] == ["bad"]
    late = timezone.now() - datetime.timedelta(days=settings.RAG_JOB_RETENTION_DAYS, minutes=1)
    IngestionDocument.objects.filter(path="bad").update(finished_at=late)
    delete_old_inputs.delete_expired_inputs()
    purge_unused_files()
    assert (Original.objects.count(), files_in(stored_files)) == (0, [])


def test_files_in_use_are_checked_ever_less_often(world: World) -> None:
    send(world, world.source(), upload("a", b"Alpha."))
    now = timezone.now()
    for age, pause in ((0, 10), (60, 60), (10_000, 1440)):
        created = now - datetime.timedelta(minutes=age)
        Original.objects.update(check_at=now, created_at=created)
        original_files.purge_unused(deadline=time.monotonic() + 60)
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
    purge.purge_deleted()
    assert not type(source).objects.filter(pk=source.pk).exists()
    assert files_in(stored_files) == [stored_files / storage_path(Original.objects.get())]
    assert Original.objects.get().source == other


def test_temporary_copies_of_killed_processes_are_deleted(world: World, settings: Any) -> None:
    import os

    old, new = settings.RAG_TEMP_FOLDER / "copy-old", settings.RAG_TEMP_FOLDER / "copy-new"
    for path in (old, new):
        path.touch()
    os.utime(old, (0, 0))
    original_files.purge_unused(deadline=time.monotonic() + 60)
    assert list(settings.RAG_TEMP_FOLDER.iterdir()) == [new]
