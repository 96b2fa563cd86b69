"""The content of small files is in their rows, and none of them is in the storage."""

import io
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from orgs.access.caller import Caller
from rag.errors import DocumentTooLarge, IndexFull
from rag.models import Action, Document, IngestionDocument, IngestionJob, Original
from rag.providers import file_storage
from rag.services.jobs.submit_documents import submit_documents
from rag.services.sources import deletion, original_files, purge
from ragsite.postgres import identity
from ragsite.settings.rag.files import bucket_storage
from tests.services.jobs.uploading import OPTIONS, files_in, purge_unused_files, send, store, upload
from tests.support.factories import World
from tests.support.servers.bucket_server import BucketServer, digest

LIMIT = original_files.MAX_BYTES_IN_ROW


def test_files_up_to_the_limit_are_in_their_rows(world: World, stored_files: Path, settings: Any) -> None:
    source = world.source()
    for size in (0, 1, LIMIT):
        content = (bytes(range(256)) * (size // 256 + 1))[:size]
        new = store(source, content)
        original_files.add_to_job(source, [new])
        original = Original.objects.get(pk=new.pk)
        assert (original.size, original.sha256, original.content) == (size, digest(content), content)
        with file_storage.open_original(original) as file:
            assert file.read() == content
        with file_storage.local_copy(original) as path:
            assert path.read_bytes() == content
            assert path.parent == settings.RAG_TEMP_FOLDER
        assert list(settings.RAG_TEMP_FOLDER.iterdir()) == []
    assert files_in(stored_files) == []
    larger = Original.objects.get(pk=store(source, b"x" * (LIMIT + 1)).pk)
    assert (larger.size, larger.content, len(files_in(stored_files))) == (LIMIT + 1, None, 1)


def test_a_request_may_have_small_and_large_files(world: World, stored_files: Path) -> None:
    texts = {
        "small.md": "# Zebras\n\nStripes.",
        "large.md": "# Lions\n\n" + "Manes are long.\n" * 1000,
        "last.md": "Emus.",
    }
    send(world, world.source(), *(upload(path, text.encode()) for path, text in texts.items()))
    stored = dict(Document.objects.values_list("path", "text"))
    assert {path: text.split() for path, text in stored.items()} == {path: text.split() for path, text in texts.items()}
    assert {original.name for original in Original.objects.filter(content=None)} == {"large.md"}
    assert len(files_in(stored_files)) == 1


def test_a_small_file_may_be_too_large(world: World, settings: Any) -> None:
    settings.RAG_MAX_FILE_BYTES = 1000
    with pytest.raises(DocumentTooLarge):
        store(world.source(), b"x" * 1001)
    assert not Original.objects.exists()


def test_bytes_of_small_files_count_before_they_are_read(world: World) -> None:
    source = world.source()
    world.home.max_bytes = 1000
    world.home.save()
    documents = [upload("a.txt", b"a" * 600), upload("b.txt", b"b" * 600)]
    with pytest.raises(IndexFull):
        submit_documents(source=source, documents=documents, options=OPTIONS, actor=world.users["editor"])
    assert (Original.objects.count(), IngestionJob.objects.count()) == (0, 0)
    submit_documents(source=source, documents=documents[:1], options=OPTIONS, actor=world.users["editor"])
    assert (Original.objects.count(), IngestionJob.objects.count()) == (1, 1)


def test_many_small_files_need_few_statements(
    world: World, stored_files: Path, django_assert_max_num_queries: Any
) -> None:
    """A request with ten thousand documents is answered before the client's timeout."""
    source = world.source()
    files = [
        original_files.IncomingFile(partial(io.BytesIO, f"File {number}".encode()), "file.txt", "text/plain")
        for number in range(1200)
    ]
    with django_assert_max_num_queries(10):
        stored = original_files.store_files(source=source, files=files)
        original_files.add_to_job(source, stored)
    rows = Original.objects.in_bulk()
    assert [bytes(rows[one.pk].content or b"") for one in stored] == [
        f"File {number}".encode() for number in range(1200)
    ]
    assert files_in(stored_files) == []


def test_a_bucket_is_not_needed_for_small_files(world: World, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "test"), ("SECRET_ACCESS_KEY", "test"), ("DEFAULT_REGION", "test-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    with BucketServer().running() as bucket:
        default = bucket_storage("documents", endpoint=bucket.address)
        settings.STORAGES = {**settings.STORAGES, "default": default}
        bucket.down = True
        source = world.source()
        job = send(world, source, upload("a.txt", b"Alpha."), upload("b.txt", b"Beta."))
        assert set(job.documents.values_list("state", flat=True)) == {IngestionDocument.State.DONE}
        send(world, source, upload("a.txt", b"Gamma."))
        purge_unused_files()
        assert sorted(original.name for original in Original.objects.all()) == ["a.txt", "b.txt"]
        deletion.delete_source(source)
        purge.purge_deleted()
        assert not Original.objects.exists()
        assert bucket.requests == []


def test_those_who_may_query_read_files_of_documents_only(world: World) -> None:
    """Not those of a version that was replaced, or of a document that is still in the queue."""
    source = world.source()
    send(world, source, upload("a.txt", b"First."))
    send(world, source, upload("a.txt", b"Second."))
    queued = [upload("b.txt", b"Queued.")]
    submit_documents(source=source, documents=queued, options=OPTIONS, actor=world.users["editor"])
    assert Original.objects.count() == 3
    with identity.run_as(identity.of_user(world.users["member"].pk)):
        caller = Caller(world.users["member"])
        readable = Original.objects.visible_to(caller, Action.QUERY)
        assert [bytes(original.content or b"") for original in readable] == [b"Second."]
