"""Requests with an Idempotency-Key are run once."""

import datetime
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.utils import timezone

from rag.models import DataSource, Document, IdempotentRequest, IngestionJob
from rag.pipeline.ingestion.chunk import MIN_CHUNK_TOKENS
from rag.services import idempotency
from rag.services.sources import creation
from ragsite.postgres import identity
from tests.support.factories import World, process_queue
from tests.support.http import Client

Api = Callable[..., Client]
SOURCES, INGEST = "/api/rag/sources", "/api/rag/ingest"
DOCUMENT = {"source": "library", "path": "a", "title": "A", "text": "Zebras have stripes."}


def keyed(client: Client, key: str = "k1") -> Client:
    return client.with_headers(Idempotency_Key=key)


def form(boundary: str, content: str) -> bytes:
    parts = [
        'Content-Disposition: form-data; name="dataSourceId"\r\n\r\nlibrary',
        f'Content-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n{content}',
    ]
    return "".join(f"--{boundary}\r\n{part}\r\n" for part in parts).encode() + f"--{boundary}--\r\n".encode()


def test_a_repeated_request_gets_the_first_response(api: Api, live_world: World) -> None:
    owner = api("owner")
    first = keyed(owner).post(SOURCES, {"name": "Office", "description": "Old"})
    assert (first.status, first.headers.get("idempotent-replayed")) == (201, None)
    DataSource.objects.update(description="New")
    # The order of fields, quotes around the key and a trailing slash do not matter.
    repeated = keyed(owner, '"k1"').send("POST", f"{SOURCES}/", b'{"description": "Old",  "name": "Office"}')
    assert (repeated.status, repeated.body, repeated.headers["idempotent-replayed"]) == (201, first.body, "true")
    assert repeated.headers["etag"] == first.headers["etag"]
    assert DataSource.objects.count() == 1
    other = keyed(owner).post(SOURCES, {"name": "Office", "description": "Other"})
    assert (other.status, other.body["error"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    for key in ("k" * 256, "", '""'):
        wrong = keyed(owner, key).post(SOURCES, {"name": "Long"})
        assert (wrong.status, wrong.body["details"]["field"]) == (400, "Idempotency-Key")


def test_jobs_files_and_single_documents_are_accepted_once(api: Api, live_world: World) -> None:
    owner = api("owner")
    live_world.source()
    job = {"dataSourceId": "library", "documents": [{"path": "b", "text": "Secret zebras sleep."}]}
    assert keyed(owner, "job").post(INGEST, job).body == keyed(owner, "job").post(INGEST, job).body
    assert keyed(owner, "one").post(INGEST, DOCUMENT).body["status"] == "created"
    assert keyed(owner, "one").post(INGEST, DOCUMENT).body["status"] == "created", "as the first time"

    def upload(boundary: str, content: str) -> Any:
        headers = {"Content_Type": f"multipart/form-data; boundary={boundary}"}
        return keyed(owner, "file").with_headers(**headers).post(INGEST, form(boundary, content))

    sent = upload("x1", "Zebras eat.")
    assert (sent.status, upload("y2", "Zebras eat.").body) == (202, sent.body), sent
    assert upload("x1", "Zebras run.").status == 422
    assert (IngestionJob.objects.count(), Document.objects.count()) == (2, 1)
    stored = json.dumps(list(IdempotentRequest.objects.values("body", "headers", "key_hash", "fingerprint")))
    assert "ebras" not in stored, "no text of documents"


def test_of_two_simultaneous_requests_one_runs(api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = api("owner")
    is_running, may_end = threading.Event(), threading.Event()
    create_source = creation.create_source

    def wait_and_create(*args: Any, **options: Any) -> DataSource:
        is_running.set()
        assert may_end.wait(30)
        return create_source(*args, **options)

    monkeypatch.setattr(creation, "create_source", wait_and_create)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(keyed(owner).post, SOURCES, {"name": "Office"})
        assert is_running.wait(30)
        second = keyed(owner).post(SOURCES, {"name": "Office"})
        may_end.set()
        assert first.result().status == 201
    assert (second.status, second.body["error"]) == (409, "IDEMPOTENCY_KEY_IN_USE")
    # The process that ran it was killed.
    long_ago = timezone.now() - idempotency.MAX_RENEWAL_AGE - datetime.timedelta(seconds=1)
    IdempotentRequest.objects.update(status=None, body="", claimed_at=long_ago)
    assert keyed(owner).post(SOURCES, {"name": "Office"}).body["error"] == "SLUG_TAKEN"


def test_a_claim_is_renewed_while_its_request_runs(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch, eventually: Callable[..., Any]
) -> None:
    """So a key is free soon after its process was killed, and a long request keeps it."""
    owner, may_end = api("owner"), threading.Event()
    create_source = creation.create_source

    def wait_and_create(*args: Any, **options: Any) -> DataSource:
        assert may_end.wait(30)
        return create_source(*args, **options)

    monkeypatch.setattr(creation, "create_source", wait_and_create)
    monkeypatch.setattr(idempotency, "_RENEWAL_SECONDS", 0.05)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(keyed(owner).post, SOURCES, {"name": "Office"})
        eventually(IdempotentRequest.objects.exists)
        IdempotentRequest.objects.update(claimed_at=timezone.now() - idempotency.MAX_RENEWAL_AGE)
        just_now = timezone.now() - idempotency.MAX_RENEWAL_AGE / 2
        eventually(IdempotentRequest.objects.filter(claimed_at__gt=just_now).exists)
        assert keyed(owner).post(SOURCES, {"name": "Office"}).status == 409
        may_end.set()
        assert first.result().status == 201
    assert keyed(owner).post(SOURCES, {"name": "Office"}).headers["idempotent-replayed"] == "true"


def test_a_key_belongs_to_its_caller_and_shows_only_what_they_may_see(api: Api, live_world: World) -> None:
    owner, editor = api("owner"), api("editor")
    with_key = api().with_headers(X_API_Key=live_world.key("owner").secret)
    created = [
        keyed(client).post(SOURCES, {"name": f"Office {n}"}) for n, client in enumerate((owner, editor, with_key))
    ]
    assert [reply.status for reply in created] == [201] * 3
    source = DataSource.objects.get(pk=created[1].body["id"])
    source.owner = live_world.users["owner"]
    source.visibility = "private"
    source.save()
    live_world.users["editor"].memberships.get().roles.clear()
    hidden = keyed(editor).post(SOURCES, {"name": "Office 1"})
    assert (hidden.status, hidden.body["error"]) == (404, "SOURCE_NOT_FOUND")
    for user, rows in (("owner", 2), ("editor", 1), ("member", 0)):
        with identity.run_as(identity.of_user(live_world.users[user].pk)):
            assert IdempotentRequest.objects.count() == rows


def test_long_responses_of_a_user_are_bounded(api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job whose documents are unchanged returns the ids of up to 10,000 chunks: 400 KB, kept for a day."""
    owner = api("owner")
    live_world.source()
    job = {
        "dataSourceId": "library",
        "chunkSize": MIN_CHUNK_TOKENS,
        "documents": [{"path": "a", "text": "Zebras have many stripes. " * 3_000}],
    }
    assert owner.post(INGEST, job).status == 202
    process_queue()
    first = keyed(owner, "1").post(INGEST, job)
    assert len(first.body["vectorIds"]) > 300, "it is long"
    assert keyed(owner, "short").post(SOURCES, {"name": "Office"}).status == 201
    monkeypatch.setattr(idempotency, "MAX_CHARACTERS_OF_A_USER", 2 * len(json.dumps(first.body)) + 100)
    replies = [keyed(owner, key).post(INGEST, job) for key in ("2", "3")]
    assert [reply.status for reply in replies] == [202, 202]
    for key, is_kept in {"2": True, "3": True, "1": False}.items():
        repeated = keyed(owner, key).post(INGEST, job)
        assert (repeated.headers.get("idempotent-replayed") == "true") is is_kept, key
    assert keyed(owner, "short").post(SOURCES, {"name": "Office"}).headers["idempotent-replayed"] == "true"


def test_failures_free_the_key_and_old_requests_are_deleted(
    api: Api, live_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = api("owner")
    live_world.source("office")
    assert keyed(owner).post(SOURCES, {"name": "Office"}).status == 409
    assert keyed(owner).post(SOURCES, {"name": "Attic"}).status == 201
    monkeypatch.setattr(idempotency, "MAX_REQUESTS_OF_A_USER", 2)
    for name in ("B", "C"):
        assert keyed(owner, name).post(SOURCES, {"name": f"Room {name}"}).status == 201
    assert IdempotentRequest.objects.count() == 2
    IdempotentRequest.objects.update(claimed_at=timezone.now() - idempotency.RETENTION)
    assert keyed(owner, "C").post(SOURCES, {"name": "Room D"}).status == 201, "an expired key is free"
    idempotency.delete_expired_requests()
    assert IdempotentRequest.objects.count() == 1
