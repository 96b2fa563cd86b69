"""Syncing from a file system of fsspec, which the operator has set up."""

import stat
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile

from rag.errors import InvalidRequest
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.providers.connectors import bounded_calls, fsspec_file_system
from rag.providers.connectors.base import ItemFailed, ItemGone, ListingFailed
from rag.providers.connectors.fsspec_file_system import FileSystemConnector
from rag.services.ingestion.sync import connections
from tests.services.ingestion.sync.conftest import contents, run_to_end
from tests.support.factories import World

pytestmark = pytest.mark.django_db


@pytest.fixture
def files(settings: Any, world: World) -> Iterator[Any]:
    """A file system in memory, which only one organisation may use."""
    settings.RAG_SYNC_FILE_SYSTEMS = {"archive": {"url": "memory://export", "organizations": [world.home.slug]}}
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    files.pipe(
        {"/export/a.txt": b"The first text.", "/export/deep/b.txt": b"The second text.", "/other/c.txt": b"Not."}
    )
    yield files
    files.store.clear()


def test_a_file_system_is_synced(files: Any, world: World) -> None:
    connection = SyncConnection(source=world.source("synced"), kind=SyncKind.FILE_SYSTEM, location="archive")
    connections.check(connection)
    connections.save(connection, secret="", by=world.users["owner"])
    assert run_to_end(connection).added == 2
    assert contents(connection.source) == {"a.txt": "The first text.", "deep/b.txt": "The second text."}
    files.pipe("/export/a.txt", b"Another text.")
    files.rm("/export/deep/b.txt")
    run = run_to_end(connection)
    assert (run.state, run.changed, run.removed) == (SyncRun.State.FINISHED, 1, 1)
    SyncConnection.objects.update(location="archive/missing")
    run = run_to_end(SyncConnection.objects.get())
    assert (run.state, run.error) == ("failed", "The file system does not answer: FileNotFoundError.")
    assert set(contents(connection.source)) == {"a.txt"}


def test_file_systems_belong_to_organizations(files: Any, world: World) -> None:
    source, foreign = world.source("synced"), world.source("foreign", organization=world.abroad)
    for synced, location in (
        (foreign, "archive"),
        (source, "unknown"),
        (source, "archive/../other"),
        (source, "archive/a\\..\\..\\b"),
    ):
        with pytest.raises(InvalidRequest):
            connections.check(SyncConnection(source=synced, kind=SyncKind.FILE_SYSTEM, location=location))
    connection = SyncConnection(source=foreign, kind=SyncKind.FILE_SYSTEM, location="archive")
    connections.save(connection, secret="", by=world.users["foreigner"])
    SyncConnection.objects.update(acts_for=world.users["foreigner"])
    run = run_to_end(connection)
    assert (run.state, contents(foreign)) == ("failed", {})


@pytest.mark.parametrize(
    "url",
    ["file:///etc", "local:///etc", "github://a:b@c/", "simplecache::memory://x", "memory://::file:///etc", "/"],
)
def test_other_protocols_are_refused(url: str) -> None:
    with pytest.raises(ListingFailed, match="not allowed"):
        FileSystemConnector(url, options={}, folder="")


def test_nothing_above_the_address_is_read(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connector = FileSystemConnector("memory://export", options={}, folder="")
    for path in ("../other/c.txt", "deep/../../other/c.txt", "deep\\..\\..\\other\\c.txt"):
        with pytest.raises(ItemGone), connector.open(path, validators={}):
            pass
    monkeypatch.setattr(type(files), "info", lambda self, path: {"name": path, "type": "link"})
    with pytest.raises(ListingFailed, match="link"):
        FileSystemConnector("memory://export", options={}, folder="deep")


def test_a_link_on_a_server_of_sftp_is_refused(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `info` describes the folder that the link leads to."""

    def lstat(path: str) -> SimpleNamespace:
        return SimpleNamespace(st_mode=stat.S_IFLNK if path == "/export/deep" else stat.S_IFDIR)

    monkeypatch.setattr(type(files), "ftp", SimpleNamespace(lstat=lstat), raising=False)
    with pytest.raises(ListingFailed, match="link"):
        FileSystemConnector("memory://export", options={}, folder="deep")
    files.mkdir("/export/other")
    assert FileSystemConnector("memory://export", options={}, folder="other").list_pages(None)


def test_a_server_that_does_not_answer_keeps_no_sync_waiting(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its calls are abandoned; a few of them at most may wait."""
    monkeypatch.setattr(bounded_calls, "TIMEOUT_SECONDS", 0.05)
    monkeypatch.setattr(fsspec_file_system, "TIMEOUT_SECONDS", 0.05)
    is_over = threading.Event()

    def wait(self: object, *arguments: object, **options: object) -> None:
        is_over.wait()

    def list_all() -> None:
        list(FileSystemConnector("memory://export", options={}, folder="").list_pages(None))

    monkeypatch.setattr(type(files), "ls", wait)
    try:
        for _ in range(bounded_calls.MAX_ABANDONED):
            with pytest.raises(ListingFailed, match="did not answer in time"):
                list_all()
        with pytest.raises(ListingFailed, match="still does not answer"):
            list_all()
        monkeypatch.setattr(bounded_calls, "ABANDONED_SECONDS", 0)
        with pytest.raises(ListingFailed, match="did not answer in time"):  # it is tried again after an hour
            list_all()
    finally:
        is_over.set()


def test_a_file_that_is_sent_slowly_is_given_up(files: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fsspec_file_system, "TIMEOUT_SECONDS", 0.05)
    is_over = threading.Event()
    connector = FileSystemConnector("memory://export", options={}, folder="")

    def read(self: object, size: int) -> bytes:
        is_over.wait()
        return b"x"

    monkeypatch.setattr(MemoryFile, "read", read)
    try:
        with pytest.raises(ItemFailed, match="did not answer in time"), connector.open("a.txt", validators={}) as item:
            list(item.parts)
        # The abandoned call still uses the connection.
        with pytest.raises(ItemFailed, match="still does not answer"), connector.open("a.txt", validators={}):
            pass
    finally:
        is_over.set()


def test_a_version_that_cannot_be_stored_ends_no_sync(
    files: Any, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_folder = type(files).ls

    def list_with_etags(self: object, path: str, **options: object) -> list[dict[str, object]]:
        return [{**entry, "ETag": "a\0b"} for entry in list_folder(self, path, **options)]

    monkeypatch.setattr(type(files), "ls", list_with_etags)
    connection = SyncConnection(source=world.source("synced"), kind=SyncKind.FILE_SYSTEM, location="archive")
    connections.save(connection, secret="", by=world.users["owner"])
    run = run_to_end(connection)
    assert (run.state, run.added) == (SyncRun.State.FINISHED, 2)
