"""Original files in an S3 bucket, through boto3 and over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from rag.errors import DocumentTooLarge, StorageFailed
from rag.models import IngestionDocument, Original
from rag.models.content.originals import storage_path
from rag.providers import file_storage
from rag.services.ingestion.queue import embedding_outages
from rag.services.jobs.submit_documents import submit_documents
from rag.services.sources import original_files
from ragsite.settings.rag.files import bucket_storage
from tests.services.jobs.uploading import OPTIONS, purge_unused_files, store, upload
from tests.support import factories
from tests.support.factories import World
from tests.support.servers.bucket_server import BucketServer

pytestmark = pytest.mark.usefixtures("small_files_in_storage")

State = IngestionDocument.State


@pytest.fixture
def bucket(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[BucketServer]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "test-1")
    with BucketServer().running() as server:
        default = bucket_storage("documents", endpoint=server.address)
        settings.STORAGES = {**settings.STORAGES, "default": default}
        yield server


def test_a_bucket_stores_files_of_one_part_and_of_several(world: World, bucket: BucketServer, settings: Any) -> None:
    """Files are stored, read and deleted with boto3 over HTTP. 20 MB are sent in parts, one in memory at a time."""
    source = world.source()
    for size in (20, 20_000_000):
        content = bytes(range(256)) * (size // 256 + 1)
        original = store(source, content)
        assert bucket.objects == {f"/documents/{storage_path(original)}": content}
        with file_storage.local_copy(original) as copy:
            assert copy.read_bytes() == content
            assert copy.parent == settings.RAG_TEMP_FOLDER
        assert list(settings.RAG_TEMP_FOLDER.iterdir()) == []
        original_files.discard([original])
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
    monkeypatch.setattr(embedding_outages, "MAX_OUTAGES", 3)
    job = submit_documents(
        source=source, documents=[upload("a", b"Alpha.")], options=OPTIONS, actor=world.users["editor"]
    )
    bucket.down = True
    factories.process_documents(ids=[job.documents.get().pk])
    row = job.documents.get()
    assert (row.state, row.attempts) == (State.QUEUED, 0), "it is tried again"
    with pytest.raises(StorageFailed):
        store(source)
    purge_unused_files()
    assert Original.objects.count() == 3, "the rows stay as long as their files"
    bucket.down = False
    purge_unused_files()
    assert Original.objects.get() != original
    assert list(bucket.objects) == [f"/documents/{storage_path(Original.objects.get())}"]


def test_a_file_that_differs_from_what_was_stored_is_not_read(world: World, bucket: BucketServer) -> None:
    original = store(world.source())
    for damage in (b"Zebras have spots...", b"short", b"long" * 100):
        bucket.objects = dict.fromkeys(bucket.objects, damage)
        with pytest.raises(StorageFailed, match="missing or incomplete"), file_storage.local_copy(original):
            pass
    bucket.objects.clear()
    with pytest.raises(StorageFailed, match="missing or incomplete") as error, file_storage.local_copy(original):
        pass
    assert not error.value.is_retryable
