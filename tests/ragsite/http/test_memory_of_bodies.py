"""Bodies that are small to send and large in memory are refused before they are parsed."""

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from ragsite.http.bodies.parsers import LARGE_BODIES, MAX_JSON_VALUES
from ragsite.http.bodies.upload_handler import MAX_FORM_BYTES
from tests.support.factories import World

LARGE = "x" * (1024 * 1024)


@pytest.fixture
def client(world: World) -> Client:
    return Client(headers={"Authorization": f"Bearer {world.key('editor').secret}"})


@pytest.fixture
def little_time(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(LARGE_BODIES, "_max_wait_seconds", 0.01)
    yield
    assert not LARGE_BODIES.in_flight


def post(client: Client, body: bytes | str, path: str = "/api/rag/search") -> Any:
    return client.post(path, body, content_type="application/json")


@pytest.mark.parametrize("value", ["[]", "{}", '{"":0}', "0"])
@pytest.mark.parametrize("path", ["/api/rag/search", "/agent/respond", "/v1/chat/completions", "/mcp"])
def test_too_many_values_are_refused(client: Client, value: str, path: str) -> None:
    """A member's request of 32 MB needed 900 MB, and kept them."""
    body = '{"query": "x", "other": [' + ",".join([value] * (MAX_JSON_VALUES + 1)) + "]}"
    response = post(client, body, path)
    assert response.status_code == 413, response.content
    assert b"values" in response.content


def test_too_many_values_in_a_form_are_refused(client: Client) -> None:
    entries = "[" + ",".join(["{}"] * (MAX_JSON_VALUES + 1)) + "]"
    file = SimpleUploadedFile("a.txt", b"Zebras.")
    response = client.post("/api/rag/ingest", {"dataSourceId": "x", "files": file, "documents": entries})
    assert (response.status_code, b"values" in response.content) == (413, True), response.content


def test_commas_and_brackets_in_texts_are_no_values(client: Client) -> None:
    text = '[{,"\\' * (MAX_JSON_VALUES + 1)
    assert post(client, json.dumps({"query": "zebras", "other": text})).status_code == 200


@pytest.mark.parametrize("body", ['"' + '\\"' * 500_000, '"' * 500_001, "\\" * 500_000, '"\\' * 500_001])
def test_malformed_texts_are_refused_in_linear_time(client: Client, body: str) -> None:
    assert post(client, body + "," * (MAX_JSON_VALUES + 1)).status_code in (400, 413)


def test_an_account_has_few_large_requests_at_a_time(client: Client, world: World, little_time: None) -> None:
    body = json.dumps({"query": "zebras", "other": LARGE})
    with LARGE_BODIES.slot(world.users["editor"].pk):
        refused = post(client, body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2"), refused.content
        assert post(client, json.dumps({"query": "zebras"})).status_code == 200, "a small one needs no slot"
        other = Client(headers={"Authorization": f"Bearer {world.key('member').secret}"})
        assert post(other, body).status_code == 200, "another account"
    assert post(client, body).status_code == 200, "each request has given its slot back"
    assert post(client, body[:-1]).status_code == 400


def test_large_requests_of_a_client_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends eight documents at a time is not refused."""
    waiting = threading.Semaphore(0)

    class Changed(threading.Condition):
        def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
            waiting.release()
            return super().wait_for(predicate, timeout)

    def send() -> None:
        with LARGE_BODIES.slot("client"):
            pass

    monkeypatch.setattr(LARGE_BODIES, "_changed", Changed())
    with ThreadPoolExecutor(7) as senders:
        with LARGE_BODIES.slot("client"):
            assert waiting.acquire(timeout=10)
            sent = [senders.submit(send) for _ in range(7)]
            assert all(waiting.acquire(timeout=10) for _ in sent)
        for request in sent:
            request.result()
    assert not LARGE_BODIES.in_flight


@pytest.mark.parametrize("path", ["/language", "/", "/admin/", "/account/password", "/api/nothing", "/mcp"])
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
def test_forms_are_short(db: None, path: str, kind: str) -> None:
    """Nobody needs an account to send one: its CSRF token is read first. 32 MB of it took five seconds of CPU time."""
    body = b"csrfmiddlewaretoken=" + b"%41" * (MAX_FORM_BYTES // 3)
    assert Client(enforce_csrf_checks=True).post(path, body, content_type=kind).status_code == 413


def test_forms_with_a_file_are_longer(db: None) -> None:
    file = SimpleUploadedFile("questions.csv", b"x" * (2 * 1024 * 1024))
    assert Client().post("/admin/rag/datasource/1/quality/", {"file": file}).status_code == 302
