"""Bounds of what requests can make the server store, exceeded through the API. Histories: tests/contracts/v3."""

import datetime
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts.audit.events import AuditEvent
from accounts.models import TokenFamily
from accounts.sign_in import delete_old_sign_ins
from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.services.ingestion import document_outcomes
from rag.services.maintenance.retention import delete_old_inputs
from rag.services.sources import creation
from tests.support.factories import World, process_queue
from tests.support.http import Client

Api = Callable[..., Client]
KEYS = "/api/auth/keys"
State = IngestionDocument.State


def test_an_organization_has_a_maximum_of_sources(api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(creation, "MAX_SOURCES", 5)
    live_world.source("hidden", visibility="personal")
    editor = api("editor")

    def create(number: int) -> int:
        return editor.post("/api/rag/sources", {"name": f"Source {number}"}).status

    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(create, range(20)))
    assert DataSource.objects.count() == 5
    assert sorted(statuses) == [201] * 4 + [400] * 16
    refused = editor.post("/api/rag/sources", {"name": "One more"})
    assert "has 5 data sources, which is the maximum" in refused.body["message"]
    document = {"source": "one-more", "path": "a", "title": "A", "text": "Zebras sleep."}
    assert editor.post("/api/rag/ingest", document).status == 400
    first = DataSource.objects.filter(owner=live_world.users["editor"])[0]
    assert editor.post("/api/rag/ingest", {**document, "source": first.slug}).status == 200
    assert editor.send("DELETE", f"/api/rag/sources/{first.slug}").status == 204
    assert create(101) == 201, "deleted sources do not count"


def test_the_oldest_ended_keys_are_deleted(api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_lifecycle, "MAX_ENDED_KEYS", 3)
    editor = api("editor")
    live = editor.post(KEYS, {"name": "live", "scopes": ["query"]}).body["id"]
    for number in range(6):
        key = editor.post(KEYS, {"name": str(number), "scopes": ["query"]})
        assert key.status == 201, key
        assert editor.send("DELETE", f"{KEYS}/{key.body['id']}").status == 204
    assert editor.post(KEYS, {"name": "last", "scopes": ["query"]}).status == 201
    keys = ApiKey.objects.filter(user=live_world.users["editor"])
    assert set(keys.values_list("name", flat=True)) == {"live", "3", "4", "5", "last"}
    assert keys.get(pk=live).state == "active"


def test_expired_sign_ins_are_deleted(api: Api, live_world: World) -> None:
    credentials = {"email": "owner@home.example", "password": "wrong"}
    assert api().post("/api/auth/token", credentials).status == 401
    api().signed_in(live_world.users["member"].email)
    old = timezone.now() - datetime.timedelta(days=60)
    Session.objects.create(session_key="old", session_data="", expire_date=old)
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + datetime.timedelta(days=1))
    delete_old_sign_ins.delete_expired_sign_ins()
    assert (TokenFamily.objects.count(), AccessAttempt.objects.count()) == (1, 1)
    TokenFamily.objects.update(expires_at=old)
    AccessAttempt.objects.update(attempt_time=old)
    delete_old_sign_ins.delete_expired_sign_ins()
    assert not TokenFamily.objects.exists()
    assert not AccessAttempt.objects.exists()
    assert list(Session.objects.values_list("session_key", flat=True)) == ["new"]


def job(client: Client, *texts: str, path: str = "doc", **fields: Any) -> Any:
    documents = [{"path": f"{path}-{number}", "text": text, **fields} for number, text in enumerate(texts)]
    return client.post("/api/rag/ingest", {"dataSourceId": "library", "documents": documents})


def fail_open_documents() -> None:
    for document in IngestionDocument.objects.filter(state=State.QUEUED):
        IngestionDocument.objects.filter(pk=document.pk).update(state=State.RUNNING, attempts=3, outages=9)
        document.refresh_from_db()
        document_outcomes.record_failure(document, "INTERNAL_ERROR", "An unexpected error.")


def test_inputs_of_failed_documents_count_in_the_quota_and_the_oldest_are_deleted(api: Api, live_world: World) -> None:
    """The inputs are kept for a retry, but never block new documents."""
    live_world.source("library")
    live_world.home.max_bytes = 3_000
    live_world.home.save()
    editor = api("editor")
    for number in range(5):
        assert job(editor, "x" * 1_000, path=f"/{number}").status == 202
        fail_open_documents()
        kept = IngestionDocument.objects.exclude(text="").values_list("path", flat=True)
        assert len(kept) <= 3
    assert sorted(kept) == ["/2-0", "/3-0", "/4-0"]
    assert job(editor, "x" * 2_900, path="/last").status == 202
    assert [len(text) for text in IngestionDocument.objects.exclude(text="").values_list("text", flat=True)] == [2_900]


def test_rows_of_old_jobs_are_deleted_but_the_newest_are_kept(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delete_old_inputs, "MAX_ENDED_JOBS", 2)
    live_world.source("library")
    editor = api("editor")
    ids = [job(editor, "Zebras sleep.", path=f"/{number}").body["jobId"] for number in range(4)]
    process_queue()
    open_job = job(editor, "Zebras eat.", path="/open").body["jobId"]
    delete_old_inputs.delete_expired_inputs()
    assert IngestionJob.objects.count() == 5, "young jobs are kept"
    old = timezone.now() - datetime.timedelta(days=40)
    IngestionJob.objects.filter(pk__in=ids).update(finished_at=old)
    delete_old_inputs.delete_expired_inputs()
    assert {str(pk) for pk in IngestionJob.objects.values_list("pk", flat=True)} == {*ids[2:], open_job}
    assert Document.objects.count() == 4, "their documents stay"
    assert editor.get(f"/api/rag/ingest/{ids[0]}").status == 404


def test_audit_events_hold_bounded_texts(api: Api, live_world: World) -> None:
    """The longest fields that a request can send."""
    editor, admin = api("editor"), api("admin")
    assert editor.post("/api/rag/sources", {"name": "n" * 150, "slug": "s" * 100}).status == 201
    users = [user.email for user in live_world.users.values()]
    admin.post("/api/rag/sources", {"name": "a", "description": "d" * 2_000, "users": users[:5]})
    networks = [f"10.{number}.0.0/16" for number in range(20)]
    assert editor.post(KEYS, {"name": "k" * 100, "scopes": ["query"], "networks": networks}).status == 201
    api().post("/api/auth/token", {"email": "e" * 250, "password": "p" * 1_000})
    api().signed_in(live_world.users["editor"].email)
    sizes = [
        len(str([getattr(event, field.name) for field in event._meta.fields])) for event in AuditEvent.objects.all()
    ]
    assert len(sizes) > 3
    assert max(sizes) < 8_000
