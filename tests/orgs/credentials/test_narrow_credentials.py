"""Limits of credentials: scopes, the organisation of a key, other origins. What the log contains of requests."""

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.test import Client as InProcess
from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.permissions import Visibility
from orgs.creation import add_member
from rag.models import DataSource, IngestionJob
from rag.services.jobs.create_job import create_job
from rag.types import ChunkingOptions, Submission
from ragsite.wsgi import application
from tests.support.factories import World, ingest_text
from tests.support.http import without_request_id

SOURCES, SEARCH = "/api/rag/sources", "/api/rag/search"


def job_in(source: DataSource, world: World) -> IngestionJob:
    submissions = [Submission(path="/a", title="A", text="Zebras graze.")]
    return create_job(
        source=source, submissions=submissions, options=ChunkingOptions(512, 50), actor=world.users["editor"]
    )


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_head_requests_need_the_scope_of_get(world: World, method: str) -> None:
    path = f"/api/rag/ingest/{job_in(world.source('library'), world).pk}"
    for scope, status in (("query", 403), ("ingest", 200)):
        key = world.key("editor", scope).secret
        assert InProcess().generic(method, path, headers={"X-API-Key": key}).status_code == status


def test_a_key_cannot_cancel_jobs_of_another_organisation(world: World) -> None:
    """Shared rules: "Writing goes to the key's organisation"; its user is an editor in both."""
    add_member(user=world.users["editor"], organization=world.abroad, roles=("editor",))
    home_job = job_in(world.source("library"), world)
    foreign_job = job_in(world.source("abroad", organization=world.abroad), world)
    key = {"X-API-Key": world.key("editor", "ingest", all_organizations=True).secret}
    unknown = InProcess().delete("/api/rag/ingest/0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20", headers=key)
    reply = InProcess().delete(f"/api/rag/ingest/{foreign_job.pk}", headers=key)
    assert reply.status_code == 404
    assert without_request_id(reply.json()) == without_request_id(unknown.json())
    foreign_job.refresh_from_db()
    assert foreign_job.status == IngestionJob.Status.QUEUED
    assert InProcess().get(f"/api/rag/ingest/{foreign_job.pk}", headers=key).status_code == 200, (
        "reading includes both organisations"
    )
    narrowed = InProcess().get(f"/api/rag/ingest/{foreign_job.pk}", headers={**key, "X-Organization": "home"})
    assert narrowed.status_code == 404
    assert InProcess().delete(f"/api/rag/ingest/{home_job.pk}", headers=key).json()["status"] == "cancelled"


def test_a_key_cannot_change_webhooks_of_another_organisation(world: World) -> None:
    """Events would go to another address. Its user manages the data sources of both."""
    add_member(user=world.users["owner"], organization=world.abroad, roles=("owner",))
    body = {"url": "https://hook.example/", "events": ["job.finished"]}
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"}
    key = {"X-API-Key": world.key("owner", "manage", all_organizations=True).secret}

    def send(method: str, path: str, headers: dict[str, str], body: object = None) -> Any:
        content = json.dumps(body)
        return InProcess().generic(method, f"/api/rag/webhooks{path}", content, "application/json", headers=headers)

    foreign, home = (
        send("POST", "", {**token, "X-Organization": slug}, body).json()["id"] for slug in ("abroad", "home")
    )
    writes = (("PATCH", ""), ("POST", "/rotate"), ("POST", "/test"), ("DELETE", ""))
    refused = [send(method, f"/{foreign}{end}", key, {"isActive": False}).status_code for method, end in writes]
    assert refused == [404] * 4
    assert send("GET", f"/{foreign}", key).json()["isActive"] is True, "reading includes both organisations"
    assert send("GET", f"/{foreign}/deliveries", key).json()["total"] == 0
    assert [send(method, f"/{home}{end}", key, {}).status_code for method, end in writes] == [200, 201, 202, 204]


def test_a_key_without_the_manage_scope_does_not_see_access_lists(world: World) -> None:
    """docs/contracts/authentication.md: only those who may manage the source see its access lists."""
    source = world.source("library", visibility=Visibility.PRIVATE)
    for scope, is_shown in (("query", False), ("ingest", False), ("manage", True)):
        key = {"X-API-Key": world.key("owner", scope).secret}
        (listed,) = InProcess().get(SOURCES, headers=key).json()["sources"]
        source_body = InProcess().get(f"{SOURCES}/{source.pk}", headers=key).json()
        assert ("users" in listed, "users" in source_body) == (is_shown, is_shown), scope


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("http://testserver", 200),
        ("https://named.example", 200),
        ("https://evil.example", 401),
        ("http://testserver:81", 401),
        ("null", 401),
    ],
)
def test_pages_of_other_origins_need_a_credential(world: World, settings: Any, origin: str | None, status: int) -> None:
    """RAG_ANONYMOUS_ORG is for programs on the server's network, not for web pages in their users' browsers."""
    settings.RAG_ANONYMOUS_ORG, settings.CORS_ALLOWED_ORIGINS = "home", ["https://named.example"]
    ingest_text(world.source("library"), "/a", "Zebras graze.")
    headers = {"Origin": origin} if origin else {}
    reply = InProcess().post(SEARCH, {"query": "zebras"}, content_type="application/json", headers=headers)
    assert reply.status_code == status
    form = InProcess().post("/api/rag/ingest", {"dataSourceId": "library"}, headers=headers)
    assert (form.status_code == 401) == (status == 401), "a form needs no preflight"


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.msg} {record.args}")

    handler = Lines()
    logging.getLogger().addHandler(handler)
    yield lines
    logging.getLogger().removeHandler(handler)


def test_the_log_has_paths_without_query_strings(world: World, log: list[str]) -> None:
    key = {"X-API-Key": world.key("member").secret}
    assert InProcess().get(f"{SOURCES}?search=zebras&apikey=rk_secret", headers=key).status_code == 200
    assert any(SOURCES in line for line in log)
    assert not any("zebras" in line or "rk_" in line for line in log)


@pytest.mark.parametrize(
    "content_type",
    [
        "multipart/form-data; boundary*=bogus''%41",
        "application/json; x*=bogus''%41",
        "application/json; x*0*=punycode''%41%ff",
        "application/json; X*=zlib''%41; charset=zlib",
    ],
)
def test_a_content_type_with_an_unusual_codec_gets_an_answer(db: None, content_type: str) -> None:
    """Calls the WSGI application, because Django reads the header before any of our middleware."""
    statuses: list[str] = []

    def start(status: str, *_: Any) -> Callable[[bytes], object]:
        statuses.append(status)
        return lambda data: None

    environ: dict[str, Any] = {"REQUEST_METHOD": "POST", "PATH_INFO": SEARCH, "CONTENT_TYPE": content_type}
    setup_testing_defaults(environ)
    body = application({**environ, "HTTP_HOST": "localhost"}, start)
    assert statuses == ["401 Unauthorized"]
    assert b'"error"' in b"".join(body)
