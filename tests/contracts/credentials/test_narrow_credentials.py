"""What a credential must not do beyond its words: scopes, the organisation of a key, pages of other origins."""

import logging
from collections.abc import Callable, Iterator
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
from django.test import Client as InProcess

from orgs.access.permissions import Visibility
from orgs.services import add_member
from rag.models import DataSource, IngestionJob
from rag.services.jobs import submit
from rag.types import ChunkingOptions, Submission
from ragsite.wsgi import application
from tests.support.factories import World, ingest_text

SOURCES, SEARCH = "/api/rag/sources", "/api/rag/search"


def job_in(source: DataSource, world: World) -> IngestionJob:
    submissions = [Submission(path="/a", title="A", text="Zebras graze.")]
    return submit.submit_job(
        source=source, submissions=submissions, options=ChunkingOptions(512, 50), actor=world.users["editor"]
    )


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_asking_for_the_head_alone_needs_the_same_scope(world: World, method: str) -> None:
    path = f"/api/rag/ingest/{job_in(world.source('library'), world).pk}"
    for scope, status in (("query", 403), ("ingest", 200)):
        key = world.key("editor", scope).secret
        assert InProcess().generic(method, path, headers={"X-API-Key": key}).status_code == status


def test_a_key_ends_no_job_of_another_organisation(world: World) -> None:
    """RESOLUTION: "Writing goes to the key's organisation"; its user edits in both."""
    add_member(user=world.users["editor"], organization=world.abroad, roles=("editor",))
    here = job_in(world.source("library"), world)
    there = job_in(world.source("abroad", organization=world.abroad), world)
    key = {"X-API-Key": world.key("editor", "ingest").secret}
    unknown = InProcess().delete("/api/rag/ingest/0198c5c0-6b1e-7d44-8f0b-2d9c1e5a7f20", headers=key)
    reply = InProcess().delete(f"/api/rag/ingest/{there.pk}", headers=key)
    assert (reply.status_code, reply.json()) == (404, unknown.json())
    there.refresh_from_db()
    assert there.status == IngestionJob.Status.QUEUED
    assert InProcess().get(f"/api/rag/ingest/{there.pk}", headers=key).status_code == 200, "reading spans both"
    narrowed = InProcess().get(f"/api/rag/ingest/{there.pk}", headers={**key, "X-Organization": "home"})
    assert narrowed.status_code == 404
    assert InProcess().delete(f"/api/rag/ingest/{here.pk}", headers=key).json()["status"] == "cancelled"


def test_a_key_that_may_not_manage_is_not_told_who_has_access(world: World) -> None:
    """docs/contracts/authentication.md: the lists are for those who may manage the source, and nobody else."""
    source = world.source("library", visibility=Visibility.PRIVATE)
    for scope, shown in (("query", False), ("ingest", False), ("manage", True)):
        key = {"X-API-Key": world.key("owner", scope).secret}
        (listed,) = InProcess().get(SOURCES, headers=key).json()["sources"]
        one = InProcess().get(f"{SOURCES}/{source.pk}", headers=key).json()
        assert ("users" in listed, "users" in one) == (shown, shown), scope


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
def test_no_page_of_another_origin_asks_without_a_credential(
    world: World, settings: Any, origin: str | None, status: int
) -> None:
    """RAG_ANONYMOUS_ORG is for programs beside the server, not for every page in their users' browsers."""
    settings.RAG_ANONYMOUS_ORG, settings.CORS_ALLOWED_ORIGINS = "home", ["https://named.example"]
    ingest_text(world.source("library"), "/a", "Zebras graze.")
    headers = {"Origin": origin} if origin else {}
    asked = InProcess().post(SEARCH, {"query": "zebras"}, content_type="application/json", headers=headers)
    assert asked.status_code == status
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


def test_the_log_has_paths_without_what_is_looked_for(world: World, log: list[str]) -> None:
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
def test_a_content_type_with_a_codec_of_its_own_is_answered(db: None, content_type: str) -> None:
    """Through what gunicorn serves: Django reads the header before anything of ours could answer for it."""
    statuses: list[str] = []

    def start(status: str, *_: Any) -> Callable[[bytes], object]:
        statuses.append(status)
        return lambda data: None

    environ: dict[str, Any] = {"REQUEST_METHOD": "POST", "PATH_INFO": SEARCH, "CONTENT_TYPE": content_type}
    setup_testing_defaults(environ)
    body = application({**environ, "HTTP_HOST": "localhost"}, start)
    assert statuses == ["401 Unauthorized"]
    assert b'"error"' in b"".join(body)
