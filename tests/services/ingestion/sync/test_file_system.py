"""Syncing from a file system of fsspec, which the operator has set up."""

import stat
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import fsspec
import pytest

from rag.errors import InvalidRequest
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.providers.connectors.base import ItemGone, ListingFailed
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
