"""Webhooks by the API (an addition to the pipeline contract), and the documented receiver."""

import datetime
import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from rag.models import Webhook, WebhookDelivery
from rag.services.webhooks import delivery, endpoints, events
from tests.support.factories import World
from tests.support.http import Client

Api = Callable[..., Client]
URL = "https://93.184.215.14/hook"
DOCS = Path(__file__).parents[3] / "docs" / "user"


@pytest.fixture
def admin(api: Api, live_world: World) -> Client:
    return api().with_headers(X_API_Key=live_world.key("admin", "manage").secret)


def patch(client: Client, path: str, body: dict[str, object]) -> Any:
    return client.send("PATCH", path, json.dumps(body).encode()).body


def test_a_webhook_is_created_changed_and_deleted(admin: Client) -> None:
    created = admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed", "job.failed"]})
    assert (created.status, created.headers["cache-control"]) == (201, "no-store")
    assert created.body["secret"].startswith("whsec_")
    address = f"/api/rag/webhooks/{created.body['id']}"
    shown = admin.get(address).body
    assert shown == {name: value for name, value in created.body.items() if name != "secret"}
    assert (shown["events"], shown["organization"], shown["isActive"]) == (["job.failed"], "home", True)
    assert admin.get("/api/rag/webhooks").body["webhooks"] == [shown]
    changed = patch(admin, address, {"events": ["job.finished"], "isActive": False, "description": "n8n"})
    assert (changed["events"], changed["isActive"], changed["description"]) == (["job.finished"], False, "n8n")
    rotated = admin.post(f"{address}/rotate", {})
    assert (rotated.status, rotated.body["secret"] != created.body["secret"]) == (201, True)
    assert admin.send("DELETE", address).status == 204
    assert admin.get(address).body["error"] == "WEBHOOK_NOT_FOUND"


def test_a_webhook_is_deleted_while_an_event_is_recorded(admin: Client, live_world: World) -> None:
    """The transaction that records the event, such as the one that ends a job, is not rolled back for it."""
    created = admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).body
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            events.record_event(live_world.home.pk, "job.failed", {})
            deletion = pool.submit(admin.send, "DELETE", f"/api/rag/webhooks/{created['id']}")
            assert not wait([deletion], timeout=1).done
        assert deletion.result().status == 204
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [("PATCH", "", b'{"isActive": true}'), ("DELETE", "", b""), ("POST", "/test", b"{}"), ("POST", "/rotate", b"{}")],
)
def test_a_webhook_that_is_deleted_meanwhile_is_not_found(admin: Client, method: str, path: str, body: bytes) -> None:
    created = admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).body
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Webhook.objects.all().delete()
            request = pool.submit(admin.send, method, f"/api/rag/webhooks/{created['id']}{path}", body)
            assert not wait([request], timeout=0.5).done
        assert (request.result().status, request.result().body["error"]) == (404, "WEBHOOK_NOT_FOUND")


@pytest.mark.parametrize(
    "url",
    [
        "https://[",
        "https://℀.example/",
        "https://example.com:x/",
        "https://example.com:99999/",
        "https://example.com\r\nX: y",
        "https://exam\tple.com/",
        "https://example.com/ a",
        "https://.../",
        f"https://{'a' * 64}.example/",
    ],
)
def test_what_is_no_address_is_refused(admin: Client, url: str) -> None:
    refused = admin.post("/api/rag/webhooks", {"url": url, "events": ["job.failed"]})
    assert (refused.status, refused.body["details"]["field"]) == (400, "url")
    assert not Webhook.objects.exists()


def test_test_events_are_listed(admin: Client) -> None:
    webhook = admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).body["id"]
    sent = admin.post(f"/api/rag/webhooks/{webhook}/test", {})
    assert (sent.status, sent.body["event"], sent.body["status"]) == (202, "webhook.test", "pending")
    assert admin.get(f"/api/rag/webhooks/{webhook}/deliveries").body["deliveries"] == [sent.body]
    assert admin.get(f"/api/rag/webhooks/{webhook}/deliveries?status=failed").body["total"] == 0


def test_the_number_of_test_events_is_limited(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was stored, however many waited for a slow address."""
    monkeypatch.setattr(endpoints, "MAX_TESTS_AN_HOUR", 2)
    ids = [admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).body["id"] for _ in range(2)]
    replies = [admin.post(f"/api/rag/webhooks/{webhook}/test", {}) for webhook in (ids[0], ids[0], ids[0], ids[1])]
    assert [reply.status for reply in replies] == [202, 202, 400, 202]
    assert replies[2].body["message"] == "A webhook gets at most 2 test events within an hour. Try again later."
    WebhookDelivery.objects.update(created_at=timezone.now() - datetime.timedelta(hours=1))
    assert admin.post(f"/api/rag/webhooks/{ids[0]}/test", {}).status == 202


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://169.254.169.254/latest", "private network"),
        ("http://localhost:6379/", "private network"),
        ("http://[::ffff:10.0.0.1]/", "private network"),
        ("ftp://93.184.215.14/", "must be an address"),
        ("https://user:secret@93.184.215.14/", "must be an address"),
        ("hook", "must be an address"),
    ],
)
def test_addresses_that_must_not_be_posted_to_are_refused(admin: Client, url: str, reason: str) -> None:
    reply = admin.post("/api/rag/webhooks", {"url": url, "events": ["job.failed"]})
    assert (reply.status, reply.body["details"]["field"]) == (400, "url")
    assert reason in reply.body["message"]


def test_the_number_of_webhooks_is_limited(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "MAX_WEBHOOKS", 1)
    body = {"url": URL, "events": ["job.failed"]}
    assert [admin.post("/api/rag/webhooks", body).status for _ in range(2)] == [201, 400]


def test_looking_a_name_up_takes_a_place_of_long_requests(admin: Client, settings: Any) -> None:
    """Somebody's name servers may answer slowly: 60 requests kept the other organisations waiting for 9 seconds."""
    address = f"/api/rag/webhooks/{admin.post('/api/rag/webhooks', {'url': URL, 'events': ['job.failed']}).body['id']}"
    settings.RAG_MAX_LONG_REQUESTS = 0
    assert admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).status == 429
    assert admin.send("PATCH", address, json.dumps({"url": f"{URL}/other"}).encode()).status == 429
    assert admin.send("PATCH", address, json.dumps({"url": URL, "isActive": False}).encode()).status == 200


def test_only_those_who_manage_all_sources_see_webhooks(api: Api, admin: Client, live_world: World) -> None:
    webhook = admin.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).body["id"]
    restricted = live_world.key("admin", sources=[live_world.source().pk]).secret
    for client in (api("editor"), api("foreigner"), api().with_headers(X_API_Key=restricted)):
        assert client.get("/api/rag/webhooks").body["total"] == 0
        assert client.get(f"/api/rag/webhooks/{webhook}").status == 404
        assert client.post("/api/rag/webhooks", {"url": URL, "events": ["job.failed"]}).status == 403


def test_the_documented_receiver_accepts_only_signed_messages(admin: Client, settings: Any, tmp_path: Path) -> None:
    settings.RAG_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    (program,) = re.findall(r"```python\n(.*?)```", (DOCS / "webhooks.md").read_text(), re.DOTALL)
    (tmp_path / "receiver.py").write_text(program)
    webhook = admin.post("/api/rag/webhooks", {"url": "http://127.0.0.1:1/", "events": ["job.failed"]}).body
    environment = {**os.environ, "WEBHOOK_SECRET": webhook["secret"], "PORT": "0", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "receiver.py")], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{process.stdout.readline().split()[-1]}/"
        patch(admin, f"/api/rag/webhooks/{webhook['id']}", {"url": url})
        admin.post(f"/api/rag/webhooks/{webhook['id']}/test", {})
        delivery.deliver_due()
        assert WebhookDelivery.objects.get().response_status == 204, WebhookDelivery.objects.get().error
        assert process.stdout.readline().split()[0] == "webhook.test"
        forged = {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,AAAA"}
        with pytest.raises(urllib.error.HTTPError, match="401") as refused:
            urllib.request.urlopen(urllib.request.Request(url, b"{}", forged), timeout=30)
        refused.value.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout and process.stdout.close()


def test_the_n8n_workflow_is_complete(admin: Client) -> None:
    """Every node that a connection names exists, and the Code node checks the signature of the scheme."""
    workflow = json.loads((DOCS / "n8n-webhook.json").read_text())
    names = {node["name"] for node in workflow["nodes"]}
    targets = {
        link["node"] for outputs in workflow["connections"].values() for group in outputs["main"] for link in group
    }
    assert targets | set(workflow["connections"]) <= names
    assert {node["type"] for node in workflow["nodes"]} >= {"n8n-nodes-base.webhook", "n8n-nodes-base.code"}
    assert Webhook.objects.count() == 0
