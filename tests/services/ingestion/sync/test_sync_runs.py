"""Runs of a sync: who may start, stop and resume them, what ends them, and what they never read."""

import contextlib
import datetime
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from rag.models import DataSource, SyncConnection, SyncItem, SyncKind, SyncRun
from rag.providers.connectors.base import ItemGone, ListingFailed
from rag.providers.connectors.local_folder import FolderConnector
from rag.services.ingestion.sync import background, connections, delete_old_runs, listing, run_actions, runs
from rag.services.sources import deletion, purge
from tests.services.ingestion.sync.conftest import Sync, contents, fill
from tests.support.factories import World

pytestmark = pytest.mark.django_db
State = SyncRun.State


def test_a_stopped_sync_is_resumed_where_it_was(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 3)
    run = run_actions.start(connection, by=None)
    listing.list_items(run, deadline=0)
    run_actions.stop(run)
    assert (sync(run).state, contents(connection.source)) == (State.STOPPED, {})
    run_actions.resume(run)
    assert (sync(run).state, len(contents(connection.source))) == (State.FINISHED, 3)
    with pytest.raises(run_actions.SyncRefused):
        run_actions.stop(run)
    with pytest.raises(run_actions.SyncRefused):
        run_actions.resume(run)


def test_one_sync_of_a_connection_runs_at_a_time(connection: SyncConnection) -> None:
    run_actions.start(connection, by=None)
    with pytest.raises(run_actions.SyncRefused):
        run_actions.start(connection, by=None)


def test_a_schedule_starts_syncs(connection: SyncConnection, folder: Path) -> None:
    fill(folder, 1)
    SyncConnection.objects.update(interval_minutes=60, due_at=timezone.now())
    background.advance_due()
    background.advance_due()
    assert SyncRun.objects.count() == 1
    connection.refresh_from_db()
    assert connection.due_at
    assert connection.due_at > timezone.now() + datetime.timedelta(minutes=59)
    SyncConnection.objects.update(due_at=timezone.now(), is_active=False)
    SyncRun.objects.update(state=State.FINISHED)
    background.advance_due()
    assert SyncRun.objects.count() == 1


def test_syncs_of_organisations_alternate(
    world: World, connection: SyncConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An organisation may have many syncs of slow locations, and start new ones again and again."""
    worked_on: list[str] = []

    def work(run: SyncRun, deadline: float) -> bool:
        worked_on.append(run.connection.source.slug)
        return True

    def start_slow(number: int) -> None:
        source = world.source(f"slow-{number}", organization=world.abroad)
        run_actions.start(SyncConnection.objects.create(source=source, kind=SyncKind.FOLDER, location="/slow"), by=None)

    monkeypatch.setitem(background._STEPS, SyncRun.Phase.LISTING, work)
    monkeypatch.setattr(background, "_is_allowed", lambda connection: True)
    for number in range(3):
        start_slow(number)
    run_actions.start(connection, by=None)
    background.advance_each(deadline=math.inf)
    assert worked_on == ["slow-0", "synced", "slow-1", "slow-2"]
    start_slow(3)
    background.advance_each(deadline=math.inf)
    assert worked_on[4] == "synced", "a new run of the other organisation does not come first"


def test_a_sync_needs_somebody_who_may_send_and_manage(
    world: World, connection: SyncConnection, sync: Sync, folder: Path
) -> None:
    fill(folder, 1)
    for name in ("member", "foreigner"):
        SyncConnection.objects.update(acts_for=world.users[name])
        run = sync()
        assert (run.state, run.error) == (State.FAILED, background.NOT_ALLOWED)
    SyncConnection.objects.update(acts_for=world.users["owner"])
    world.users["owner"].is_active = False
    world.users["owner"].save()
    assert sync().error == background.NOT_ALLOWED
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
    SyncRun.objects.update(created_at=timezone.now() - datetime.timedelta(days=delete_old_runs.RETENTION_DAYS + 1))
    delete_old_runs.delete_expired_runs()
    assert list(SyncRun.objects.all()) == [latest]
    assert old.pk != latest.pk


def test_a_deleted_source_takes_its_sync_along(connection: SyncConnection, sync: Sync, folder: Path) -> None:
    fill(folder, 2)
    sync()
    run = run_actions.start(connection, by=None)
    deletion.delete_source(connection.source)
    background.advance_due()
    run.refresh_from_db()
    assert run.state == State.FAILED
    purge.purge_deleted()
    assert (DataSource.objects.count(), SyncItem.objects.count(), SyncRun.objects.count()) == (0, 0, 0)


def test_errors_of_a_sync_are_bounded(connection: SyncConnection) -> None:
    run = run_actions.start(connection, by=None)
    run.errors = [{"path": str(index), "code": "X", "message": ""} for index in range(SyncRun.MAX_ERRORS)]
    run.save()
    item = SyncItem.objects.create(connection=connection, path="one more")
    runs.record_failure(run, item, "X", "m" * 500)
    assert (run.failed, len(run.errors)) == (1, SyncRun.MAX_ERRORS)


def test_items_of_another_place_are_not_read(
    world: World, connection: SyncConnection, sync: Sync, folder: Path, settings: Any
) -> None:
    """A bucket may have any names. A run that has listed them does not continue in a folder."""
    (folder.parent / "secret.txt").write_text("Not below the folder.")
    (folder / "inner").mkdir()
    connector = FolderConnector(str(folder / "inner"), allowed=[str(folder)])
    for path in ("../../secret.txt", "x/../../../secret.txt", "./../../secret.txt", "..", ""):
        with pytest.raises(ItemGone), connector.open(path, validators={}):
            pass
    run = run_actions.start(connection, by=None)
    run_actions.stop(run)
    assert sync(run).state == State.STOPPED
    connection.location = str(folder / "inner")
    connections.save(connection, secret="", by=world.users["owner"])
    with pytest.raises(run_actions.SyncRefused):
        run_actions.resume(run)
    run = run_actions.start(connection, by=None)
    connection.location = str(folder)
    connections.save(connection, secret="", by=world.users["owner"])
    run.refresh_from_db()
    assert (run.state, run.error) == (State.FINISHED, connections.LOCATION_CHANGED)


def test_a_sync_stops_even_while_items_have_no_new_content(
    connection: SyncConnection, sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 5)
    run, opened = run_actions.start(connection, by=None), []

    @contextlib.contextmanager
    def open_and_stop(self: FolderConnector, path: str, **options: object) -> Iterator[None]:
        opened.append(path)
        run_actions.stop(run)
        raise ItemGone
        yield

    monkeypatch.setattr(FolderConnector, "open", open_and_stop)
    assert (sync(run).state, len(opened)) == (State.STOPPED, 1)


def test_a_folder_above_that_becomes_a_link_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder is replaced after the path was checked, and before the file is opened."""
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
