"""The admin pages of pull sync: who sees them, what they refuse, and what people decide."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from accounts.audit.events import AuditEvent
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.services.ingestion.sync import run_actions
from ragsite.postgres import encryption
from tests.support.browsers import staff_browser
from tests.support.factories import World

LIST, RUNS = "/admin/rag/syncconnection/", "/admin/rag/syncrun/"
State = SyncRun.State


@pytest.fixture
def admin(world: World) -> Client:
    return staff_browser(world.users["admin"])


@pytest.fixture
def folder(tmp_path: Path, world: World, settings: Any) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    settings.RAG_SYNC_FOLDERS = {world.home.slug: [str(folder)]}
    return folder


@pytest.fixture
def connection(world: World) -> SyncConnection:
    return SyncConnection.objects.create(
        source=world.source(), kind=SyncKind.FOLDER, location="/srv/docs", acts_for=world.users["owner"]
    )


def add(client: Client, world: World, **fields: Any) -> str:
    source = fields.pop("source", None) or world.source()
    values = {"source": source.pk, "kind": "folder", "interval_minutes": 60, "is_active": "on", **fields}
    return client.post(f"{LIST}add/", values, follow=True).content.decode()


def test_a_connection_acts_for_who_saves_it(admin: Client, world: World, folder: Path) -> None:
    assert "The first sync begins within a minute." in add(admin, world, location=str(folder))
    connection = SyncConnection.objects.get()
    assert (connection.acts_for, connection.due_at is not None) == (world.users["admin"], True)
    second = staff_browser(world.users["owner"])
    values = {"kind": "folder", "location": str(folder), "is_active": "on"}
    assert second.post(f"{LIST}{connection.pk}/change/", values).status_code == 302
    connection.refresh_from_db()
    assert (connection.acts_for, connection.due_at) == (world.users["owner"], None)
    events = AuditEvent.objects.filter(object_label="sync of library")
    assert sorted(events.values_list("action", flat=True)) == ["changed", "created"]
    assert str(folder) not in str(list(events.values())), "a location may hold a secret"


def test_without_a_schedule_the_page_says_how_a_sync_begins(admin: Client, world: World, folder: Path) -> None:
    assert "run the action “Sync now”" in add(admin, world, location=str(folder), interval_minutes="")


def test_why_a_sync_ended_is_said_in_the_language_of_the_page(admin: Client, connection: SyncConnection) -> None:
    SyncRun.objects.create(connection=connection, state=State.FINISHED, error=run_actions.KEPT)
    content = admin.get(RUNS, HTTP_ACCEPT_LANGUAGE="de").content.decode()
    translation.activate("en")
    assert "Es wurde nichts entfernt" in content


def test_the_title_of_a_sync_has_its_time_with_the_zone(admin: Client, connection: SyncConnection) -> None:
    run = SyncRun.objects.create(connection=connection, state=State.FAILED)
    title = f"{run.created_at.day} {run.created_at:%b %Y, %H:%M} UTC (failed)"
    assert f"<h1>{title}</h1>" in admin.get(f"{RUNS}{run.pk}/change/").content.decode()


def test_folders_that_the_operator_does_not_allow_are_refused(
    admin: Client, world: World, folder: Path, settings: Any
) -> None:
    (folder / "link").symlink_to("/etc")
    source = world.source()
    for location in ("/etc", "relative", str(folder / "link"), f"{folder}/../..", str(folder / "missing"), "/a\0b"):
        assert "does not allow it" in add(admin, world, source=source, location=location) or "\0" in location
    settings.RAG_SYNC_FOLDERS = {world.abroad.slug: [str(folder)]}
    assert "does not allow it" in add(admin, world, source=source, location=str(folder))
    assert not SyncConnection.objects.exists()


def test_private_and_unencrypted_addresses_are_refused(admin: Client, world: World) -> None:
    source = world.source()
    for endpoint, text in (
        ("https://10.0.0.1", "private network"),
        ("http://93.184.215.14", "https://"),
        ("file:///etc", "Enter an address"),
        ("https://user@93.184.215.14", "Enter an address"),
    ):
        assert text in add(admin, world, source=source, kind="s3", location="a/b", endpoint=endpoint), endpoint
    assert not SyncConnection.objects.exists()


def test_a_form_says_that_too_many_long_requests_are_in_progress(admin: Client, world: World, settings: Any) -> None:
    settings.RAG_MAX_LONG_REQUESTS = 0  # for the look-up of the address
    assert "Too many of your requests" in add(admin, world, kind="website", location="https://93.184.215.14")
    assert not SyncConnection.objects.exists()


def test_a_secret_is_stored_encrypted_and_never_shown(admin: Client, world: World) -> None:
    add(admin, world, kind="s3", location="bucket", access_key="id", new_secret="hidden-secret")
    connection = SyncConnection.objects.get()
    assert encryption.decrypt(connection.secret, encryption.Purpose.SYNC) == "hidden-secret"
    values = {"kind": "s3", "location": "bucket/a/", "access_key": "id", "is_active": "on"}
    page = admin.post(f"{LIST}{connection.pk}/change/", values, follow=True)
    changed = SyncConnection.objects.get()
    assert (changed.location, changed.secret) == ("bucket/a/", connection.secret), "empty: unchanged"
    assert "hidden-secret" not in page.content.decode() + admin.get(f"{LIST}{connection.pk}/change/").content.decode()
    assert "hidden-secret" not in str(list(AuditEvent.objects.values()))
    for change in ({"location": "other/a/"}, {"endpoint": "https://93.184.215.14"}):
        refused = admin.post(f"{LIST}{connection.pk}/change/", {**values, **change}).content.decode()
        assert "Enter the secret key again" in refused, change


def test_a_sync_is_started_stopped_and_resumed(admin: Client, connection: SyncConnection) -> None:
    def act(url: str, action: str, pk: object) -> str:
        values = {"action": action, "_selected_action": [pk]}
        return admin.post(url, values, follow=True).content.decode()

    assert "1 sync was started" in act(LIST, "sync_now", connection.pk)
    assert "in progress" in act(LIST, "sync_now", connection.pk)
    run = SyncRun.objects.get()
    assert "Done for 1 sync" in act(RUNS, "stop", run.pk)
    assert SyncRun.objects.get().is_stop_requested
    SyncRun.objects.update(state=State.STOPPED, is_stop_requested=False)
    act(RUNS, "resume", run.pk)
    assert SyncRun.objects.get().state == State.RUNNING
    SyncRun.objects.update(state=State.WAITING)
    act(RUNS, "confirm_removal", run.pk)
    assert (SyncRun.objects.get().state, SyncRun.objects.get().is_removal_confirmed) == (State.RUNNING, True)
    assert "does not wait" in act(RUNS, "refuse_removal", run.pk)
    SyncRun.objects.update(state=State.WAITING)
    act(RUNS, "refuse_removal", run.pk)
    assert SyncRun.objects.get().state == State.FINISHED


def test_a_sync_shows_its_counts_and_errors(admin: Client, connection: SyncConnection) -> None:
    errors = [{"path": "<b>.pdf", "code": "PARSE_ERROR", "message": "It is broken."}]
    run = SyncRun.objects.create(connection=connection, state=State.FINISHED, listed=1234, failed=1, errors=errors)
    page = admin.get(f"{RUNS}{run.pk}/change/").content.decode()
    assert "&lt;b&gt;.pdf: PARSE_ERROR. It is broken." in page
    assert "1234" in page
    assert "1,234" in admin.get(f"{RUNS}?connection__id__exact={connection.pk}").content.decode()


@pytest.mark.parametrize("name", ["member", "supporter", "editor", "foreigner"])
def test_others_see_and_do_nothing(world: World, connection: SyncConnection, name: str) -> None:
    """Others are members who do not manage the source, and staff of another organisation."""
    run = SyncRun.objects.create(connection=connection, state=State.WAITING)
    client = staff_browser(world.users[name])
    for url in (LIST, RUNS, f"{LIST}{connection.pk}/change/", f"{RUNS}{run.pk}/change/"):
        response = client.get(url)
        assert response.status_code in (302, 403) or "/srv/docs" not in response.content.decode(), url
    client.post(RUNS, {"action": "confirm_removal", "_selected_action": [run.pk]})
    client.post(LIST, {"action": "sync_now", "_selected_action": [connection.pk]})
    client.post(f"{LIST}{connection.pk}/change/", {"kind": "folder", "location": "/etc", "is_active": "on"})
    connection.refresh_from_db()
    assert (SyncRun.objects.get().state, connection.location) == (State.WAITING, "/srv/docs")


def test_the_list_of_syncs_names_the_counts_that_are_not_0(admin: Client, connection: SyncConnection) -> None:
    counts = {"listed": 1234, "failed": 1}
    run = SyncRun.objects.create(connection=connection, state=State.RUNNING, phase=SyncRun.Phase.REMOVING, **counts)
    assert "removing" in admin.get(RUNS).content.decode()
    SyncRun.objects.filter(pk=run.pk).update(state=State.FINISHED)
    page = admin.get(RUNS).content.decode()
    assert "1,234 listed, 1 failed" in page
    assert "removing" not in page, "it does nothing any more"
    with translation.override("en"):  # a request leaves its language to the thread
        assert "1.234 aufgelistet, 1 fehlgeschlagen" in admin.get(RUNS, HTTP_ACCEPT_LANGUAGE="de").content.decode()
