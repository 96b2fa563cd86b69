"""A sync: what it sends, renames and deletes, and what stops it from deleting."""

import contextlib
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from rag.models import Chunk, DataSource, Document, SyncConnection, SyncItem, SyncRun
from rag.providers.connectors.base import ItemGone, ListingFailed
from rag.providers.connectors.folder import FolderConnector
from rag.services.ingestion.sync import connections, control, listing, removal, retention, runs, worker
from rag.services.sources import deletion, documents, purge
from tests.services.sync.conftest import Sync, contents, run_to_end
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
State = SyncRun.State


def fill(folder: Path, number: int) -> None:
    for index in range(number):
        (folder / f"{index}.md").write_text(f"# Page {index}\n\nThe lamp number {index} is in room {index}.")


def counts(run: SyncRun) -> dict[str, int]:
    names = ("listed", "added", "changed", "renamed", "removed", "failed")
    return {name: getattr(run, name) for name in names if getattr(run, name)}


def test_a_sync_sends_changes_and_removes_what_disappeared(
    connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    fill(folder, 6)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "note.txt").write_text("The green door leads to the garden.")
    assert counts(sync()) == {"listed": 7, "added": 7}
    assert contents(connection.source)["deep/er/note.txt"] == "The green door leads to the garden."

    unchanged = Document.objects.get(path="1.md").revision
    (folder / "0.md").write_text("# Page 0\n\nThe lamp is gone.")
    (folder / "2.md").unlink()
    (folder / "new.md").write_text("Something new.")
    run = sync()
    assert (run.state, counts(run)) == (State.FINISHED, {"listed": 7, "added": 1, "changed": 1, "removed": 1})
    assert set(contents(connection.source)) == {"0.md", "1.md", "3.md", "4.md", "5.md", "deep/er/note.txt", "new.md"}
    assert "The lamp is gone." in contents(connection.source)["0.md"]
    assert Document.objects.get(path="1.md").revision == unchanged
    assert counts(sync()) == {"listed": 7}


def test_a_touched_file_is_not_submitted(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    jobs = connection.source.jobs.count()
    (folder / "0.md").write_text((folder / "0.md").read_text())
    assert counts(sync()) == {"listed": 1}
    assert connection.source.jobs.count() == jobs


def test_a_renamed_file_keeps_its_chunks(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 6)
    (folder / "plain.txt").write_text("No heading names this text.")
    sync()
    before = set(Chunk.objects.values_list("pk", flat=True))
    (folder / "moved").mkdir()
    (folder / "3.md").rename(folder / "moved" / "three.md")
    (folder / "plain.txt").rename(folder / "other.txt")
    run = sync()
    assert (run.state, counts(run)) == (State.FINISHED, {"listed": 7, "renamed": 2})
    assert set(Chunk.objects.values_list("pk", flat=True)) == before
    titles = dict(Document.objects.live().values_list("path", "title"))
    assert (titles["moved/three.md"], titles["other.txt"]) == ("three.md", "other.txt")
    assert "3.md" not in titles
    assert counts(sync()) == {"listed": 7}


def test_an_edit_after_a_renaming_embeds_the_changed_chunk_only(
    connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    sections = [f"# Part {index}\n\n" + f"The lamp number {index} is in room {index}. " * 40 for index in range(3)]
    (folder / "book.md").write_text("\n\n".join(sections))
    sync()
    first, *_, last = Chunk.objects.order_by("position").values_list("pk", flat=True)
    (folder / "book.md").rename(folder / "novel.md")
    assert counts(sync()) == {"listed": 1, "renamed": 1}
    (folder / "novel.md").write_text("\n\n".join([*sections[:2], "# Part 2\n\nNothing is left."]))
    sync()
    kept = set(Chunk.objects.values_list("pk", flat=True))
    assert first in kept
    assert last not in kept


def test_another_ending_is_parsed_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 6)
    sync()
    (folder / "3.md").rename(folder / "3.txt")
    assert counts(sync()) == {"listed": 6, "added": 1, "removed": 1}
    assert Document.objects.live().get(path="3.txt").content_type == "text/plain"


def test_many_removals_wait_for_a_confirmation(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 20)
    sync()
    for index in range(6):
        (folder / f"{index}.md").unlink()
    (folder / "new.md").write_text("It is not held up.")
    run = sync()
    assert (run.state, run.missing, run.removed, run.added) == (State.WAITING, 6, 0, 1)
    assert len(contents(connection.source)) == 21
    control.refuse_removal(run)
    assert (run_to_end(connection).state, len(contents(connection.source))) == (State.WAITING, 21)
    waiting = SyncRun.objects.get(state=State.WAITING)
    control.confirm_removal(waiting)
    assert sync(waiting).removed == 6
    assert len(contents(connection.source)) == 15
    with pytest.raises(control.SyncRefused):
        control.confirm_removal(waiting)


@pytest.mark.parametrize(
    ("missing", "total", "expected"),
    [(0, 0, False), (5, 10, False), (6, 30, False), (6, 29, True), (1, 1, True), (0, 3, False), (4, 5, False)],
)
def test_when_a_removal_needs_confirmation(missing: int, total: int, expected: bool) -> None:
    assert removal.needs_confirmation(missing=missing, total=total) is expected


def test_a_later_sync_replaces_one_that_waits(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    content = (folder / "0.md").read_text()
    (folder / "0.md").unlink()
    waiting = sync()
    assert waiting.state == State.WAITING
    (folder / "0.md").write_text(content)
    assert sync().state == State.FINISHED
    waiting.refresh_from_db()
    assert (waiting.state, waiting.error) == (State.FINISHED, control.SUPERSEDED)
    assert set(contents(connection.source)) == {"0.md"}


def test_a_failed_listing_removes_nothing(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 30)
    (folder / "locked").mkdir()
    sync()
    (folder / "1.md").unlink()
    read = os.scandir
    # Root may read every folder, so that permissions cannot cause it.
    inode = (folder / "locked").stat().st_ino

    def fail_for_one(descriptor: int) -> Any:
        if os.fstat(descriptor).st_ino == inode:
            raise PermissionError(13, "denied")
        return read(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", fail_for_one)
        run = sync()
    assert (run.state, run.error) == (State.FAILED, "locked cannot be read: Permission denied.")
    assert len(contents(connection.source)) == 30
    control.resume(run)
    assert sync(run).removed == 1


def test_a_listing_goes_on_after_its_last_page(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/b/c.txt", "a/b.txt", "a.txt", "b/a.txt", "c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    monkeypatch.setattr("rag.providers.connectors.tree.MAX_PAGE_ITEMS", 1)
    run = control.start(connection, by=None)
    while run.phase == SyncRun.Phase.LISTING:  # the time is over after each page
        listing.list_items(run, deadline=0)
        run.refresh_from_db()
    assert run.listed == 5
    assert sync(run).added == 5


def test_too_many_items_are_refused(connection: SyncConnection, sync: Sync, folder: Path, settings: Any) -> None:
    fill(folder, 3)
    settings.RAG_SYNC_MAX_ITEMS = 2
    assert sync().error == "There are more than 2 items (RAG_SYNC_MAX_ITEMS)."
    assert contents(connection.source) == {}


def test_failed_items_are_reported_and_tried_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 this is none")
    (folder / "what.bin").write_bytes(bytes(range(256)) * 10)
    run = sync()
    assert counts(run) == {"listed": 4, "added": 2, "failed": 2}
    assert {(error["path"], error["code"]) for error in run.errors} == {
        ("broken.pdf", "PARSE_ERROR"),
        ("what.bin", "UNSUPPORTED_FORMAT"),
    }
    assert counts(sync()) == {"listed": 4, "failed": 2}
    (folder / "what.bin").unlink()
    (folder / "broken.pdf").unlink()
    assert counts(sync()) == {"listed": 2}


def test_files_that_are_too_large_fail_alone(
    connection: SyncConnection, sync: Sync, folder: Path, settings: Any
) -> None:
    fill(folder, 1)
    (folder / "large.txt").write_text("a" * 1001)
    settings.RAG_MAX_FILE_BYTES = 1000
    run = sync()
    assert (counts(run), run.errors[0]["code"]) == ({"listed": 2, "added": 1, "failed": 1}, "DOCUMENT_TOO_LARGE")
    assert list(Path(settings.RAG_TEMP_FOLDER).iterdir()) == []


def test_what_others_deleted_or_replaced_is_sent_again(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    sync()
    before = contents(connection.source)
    documents.delete_document(Document.objects.live().get(path="0.md"))
    Document.objects.filter(path="1.md").update(text="replaced", content_hash="other")
    run = sync()
    assert (run.state, contents(connection.source)) == (State.FINISHED, before)


def test_documents_of_others_stay(world: World, connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    sync()
    ingest_text(connection.source, "uploaded.txt", "Somebody has sent this.")
    assert counts(sync()) == {"listed": 1}
    assert set(contents(connection.source)) == {"0.md", "uploaded.txt"}


def test_a_stopped_sync_is_resumed_where_it_was(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 3)
    run = control.start(connection, by=None)
    listing.list_items(run, deadline=0)
    control.stop(run)
    assert (sync(run).state, contents(connection.source)) == (State.STOPPED, {})
    control.resume(run)
    assert (sync(run).state, len(contents(connection.source))) == (State.FINISHED, 3)
    with pytest.raises(control.SyncRefused):
        control.stop(run)
    with pytest.raises(control.SyncRefused):
        control.resume(run)


def test_one_sync_of_a_connection_runs_at_a_time(connection: SyncConnection) -> None:
    control.start(connection, by=None)
    with pytest.raises(control.SyncRefused):
        control.start(connection, by=None)


def test_a_schedule_starts_syncs(connection: SyncConnection, folder: Path) -> None:
    fill(folder, 1)
    SyncConnection.objects.update(interval_minutes=60, due_at=timezone.now())
    worker.advance_due()
    worker.advance_due()
    assert SyncRun.objects.count() == 1
    connection.refresh_from_db()
    assert connection.due_at
    assert connection.due_at > timezone.now() + datetime.timedelta(minutes=59)
    SyncConnection.objects.update(due_at=timezone.now(), is_active=False)
    SyncRun.objects.update(state=State.FINISHED)
    worker.advance_due()
    assert SyncRun.objects.count() == 1


def test_a_sync_needs_somebody_who_may_send_and_manage(
    world: World, connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    fill(folder, 1)
    for name in ("member", "foreigner"):
        SyncConnection.objects.update(acts_for=world.users[name])
        run = sync()
        assert (run.state, run.error) == (State.FAILED, worker.NOT_ALLOWED)
    SyncConnection.objects.update(acts_for=world.users["owner"])
    world.users["owner"].is_active = False
    world.users["owner"].save()
    assert sync().error == worker.NOT_ALLOWED
    assert contents(connection.source) == {}


def test_a_full_quota_ends_the_sync(world: World, connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 1)
    type(world.home).objects.filter(pk=world.home.pk).update(max_chunks=0)
    run = sync()
    assert (run.state, contents(connection.source)) == (State.FAILED, {})
    type(world.home).objects.filter(pk=world.home.pk).update(max_chunks=None)
    assert sync().added == 1


def test_old_syncs_are_deleted_except_the_latest(connection: SyncConnection, sync: Sync, settings: Any) -> None:
    old, latest = sync(), sync()
    SyncRun.objects.update(created_at=timezone.now() - datetime.timedelta(days=settings.RAG_SYNC_RETENTION_DAYS + 1))
    retention.delete_expired_runs()
    assert list(SyncRun.objects.all()) == [latest]
    assert old.pk != latest.pk


def test_a_deleted_source_takes_its_sync_along(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    sync()
    run = control.start(connection, by=None)
    deletion.delete_source(connection.source)
    worker.advance_due()
    run.refresh_from_db()
    assert run.state == State.FAILED
    purge.purge_deleted()
    assert (DataSource.objects.count(), SyncItem.objects.count(), SyncRun.objects.count()) == (0, 0, 0)


def test_errors_of_a_sync_are_bounded(connection: SyncConnection) -> None:
    run = control.start(connection, by=None)
    run.errors = [{"path": str(index), "code": "X", "message": ""} for index in range(SyncRun.MAX_ERRORS)]
    run.save()
    item = SyncItem.objects.create(connection=connection, path="one more")
    runs.record_failure(run, item, "X", "m" * 500)
    assert (run.failed, len(run.errors)) == (1, SyncRun.MAX_ERRORS)


def test_items_of_another_place_are_not_read(
    world: World, connection: SyncConnection, sync: Sync, folder: Path, settings: Any
) -> None:
    """A bucket may have any names. A run that has listed them does not go on in a folder."""
    (folder.parent / "secret.txt").write_text("Not below the folder.")
    (folder / "inner").mkdir()
    connector = FolderConnector(str(folder / "inner"), allowed=[str(folder)])
    for path in ("../../secret.txt", "x/../../../secret.txt", "./../../secret.txt", "..", ""):
        with pytest.raises(ItemGone), connector.open(path, validators={}):
            pass
    run = control.start(connection, by=None)
    control.stop(run)
    assert sync(run).state == State.STOPPED
    connection.location = str(folder / "inner")
    connections.save(connection, secret="", by=world.users["owner"])
    with pytest.raises(control.SyncRefused):
        control.resume(run)
    run = control.start(connection, by=None)
    connection.location = str(folder)
    connections.save(connection, secret="", by=world.users["owner"])
    run.refresh_from_db()
    assert (run.state, run.error) == (State.FINISHED, connections.MOVED)


def test_a_sync_stops_also_while_items_have_no_new_content(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 5)
    run, opened = control.start(connection, by=None), []

    @contextlib.contextmanager
    def open_and_stop(self: FolderConnector, path: str, **options: object) -> Iterator[None]:
        opened.append(path)
        control.stop(run)
        raise ItemGone
        yield

    monkeypatch.setattr(FolderConnector, "open", open_and_stop)
    assert (sync(run).state, len(opened)) == (State.STOPPED, 1)


def test_a_folder_above_that_becomes_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is exchanged after the path was checked, and before it is opened."""
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for place in (allowed / "middle", outside):
        (place / "docs").mkdir(parents=True)
        (place / "docs" / "a.md").write_text(place.name)
    connector = FolderConnector(str(allowed / "middle" / "docs"), allowed=[str(allowed)])
    with connector.open("a.md", validators={}) as item:
        assert b"".join(item.parts) == b"middle"
    resolve = os.path.realpath

    def resolve_and_exchange(path: Any) -> str:
        resolved = resolve(path)
        if str(path) == str(allowed / "middle" / "docs") and not (allowed / "middle").is_symlink():
            (allowed / "middle").rename(allowed / "before")
            (allowed / "middle").symlink_to(outside)
        return str(resolved)

    monkeypatch.setattr(os.path, "realpath", resolve_and_exchange)
    with pytest.raises(ItemGone), connector.open("a.md", validators={}):
        pass
    with pytest.raises(ListingFailed):
        list(connector.list_pages(None))
