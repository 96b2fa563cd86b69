"""What every page of the admin sends, and the limits of requests (docs/security.md)."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from tests.support.factories import World, ingest_text

# Pages contain no inline scripts and no inline styles.

_SCRIPTS = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>|\son[a-z]+=|javascript:", re.IGNORECASE)
_INLINE = re.compile(_SCRIPTS.pattern + r"|<style|\sstyle=", re.IGNORECASE)


@pytest.fixture
def root(world: World) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    return client


def pages(world: World) -> list[str]:
    source = world.source()
    ingest_text(source, "zebras", "Zebras have stripes.")
    world.home.max_chunks = 1
    world.home.save()
    document = source.documents.get()
    names = ["orgs/organization", "orgs/membership", "orgs/role", "orgs/team", "orgs/apikey", "accounts/user"]
    names += ["rag/datasource", "rag/document", "rag/ingestionjob", "rag/ingestiondocument", "rag/embeddingmodel"]
    lists = [f"/admin/{name}/" for name in (*names, "axes/accessattempt", "rag/calibration")]
    forms = [f"/admin/{name}/add/" for name in names[:4] + names[5:7] + names[-1:]]
    source_pages = [
        f"/admin/rag/datasource/{source.pk}/{name}/" for name in ("change", "upload", "quality", "reembed", "delete")
    ]
    others = ["/admin/", "/admin/second-factor/", "/admin/password_change/", "/api/docs", "/nowhere", "/admin/nowhere/"]
    return [*lists, *forms, *source_pages, *others, f"/admin/rag/document/{document.pk}/change/"]


def test_every_page_has_security_headers_and_obeys_its_content_security_policy(world: World, root: Client) -> None:
    for page in [*pages(world), "/admin/logout/", "/admin/login/"]:
        reply = root.post(page) if page == "/admin/logout/" else root.get(page)
        assert reply.status_code in (200, 302, 404), page
        policy = dict(
            directive.strip().partition(" ")[::2] for directive in reply["Content-Security-Policy"].split(";")
        )
        assert policy["script-src"] == "'self'", page
        assert policy["style-src"] == "'self'" or page == "/api/docs", page
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'", page
        assert policy["form-action"] in ("'self'", "'none'"), page
        assert policy.get("object-src", policy["default-src"]) == "'none'", page
        assert reply["X-Content-Type-Options"] == "nosniff", page
        assert reply["Cross-Origin-Opener-Policy"] == "same-origin", page
        assert "camera=()" in reply["Permissions-Policy"], page
        forbidden = _SCRIPTS if page == "/api/docs" else _INLINE  # Swagger UI has inline styles
        assert not (match := forbidden.search(reply.content.decode())), f"{page}: {match and match.group()}"


def test_no_cache_stores_responses_to_programs(world: World) -> None:
    client = Client(headers={"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"})
    for path in ("/scim/v2/Users", "/api/v1/search/x", "/agent/nothing", "/metrics"):
        assert client.get(path)["Cache-Control"] == "no-store", path
    for path in ("/api/rag/sources", "/api/auth/keys", "/v1/models"):  # have an ETag
        assert client.get(path)["Cache-Control"] == "private, no-cache", path
    created = client.post("/api/auth/keys", {"name": "ci", "scopes": ["query"]}, "application/json")
    assert "rk_" in created.content.decode()
    assert created["Cache-Control"] == "no-store"


@pytest.mark.parametrize("page", ["/admin/login/", "/admin/second-factor/", "/account/password", "/admin/logout/"])
def test_forms_need_a_csrf_token(world: World, page: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    assert client.post(page, {"username": "root@home.example", "password": "x"}).status_code == 403


def test_session_cookies_are_secure_and_http_only() -> None:
    command = "import ragsite.settings as s; print([s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,"
    command += "s.SESSION_COOKIE_HTTPONLY, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 0])"
    environment = {**os.environ, "RAG_LOCAL": "0", "DEBUG": "0"}
    process = subprocess.run(
        [sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == str([True] * 5)


# Limits.


@pytest.mark.usefixtures("steady_rate_limits")
def test_public_paths_have_a_rate_limit_for_each_ip_address(db: None, settings: Any) -> None:
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = True, settings.RAG_REQUESTS_PER_MINUTE | {"ip": 3}
    settings.CACHES = {**settings.CACHES, "default": {**settings.CACHES["default"], "KEY_PREFIX": "hardening"}}
    client = Client()
    cache.clear()
    for path in ("/readyz", "/api/schema", "/api/docs"):
        assert client.get(path).status_code == 200
    refused = client.post("/api/auth/token", {"email": "a@b.example", "password": "x"}, content_type="application/json")
    assert (refused.status_code, set(refused.json())) == (429, {"error", "message", "details"})
    assert 0 < int(refused["Retry-After"]) <= 61
    assert client.get("/readyz", REMOTE_ADDR="127.0.0.9").status_code == 200
    assert client.get("/healthz").status_code == 200


def test_too_many_parameters_levels_or_fields_are_a_400(world: World) -> None:
    token = AccessToken.for_user(world.users["member"])
    client = Client(headers={"Authorization": f"Bearer {token}"})
    parameters = "&".join(["a"] * 4500)
    assert client.get(f"/api/rag/sources?{parameters}").status_code == 400
    deep = "[" * 50_000 + "]" * 50_000
    assert client.post("/api/rag/search", deep, content_type="application/json").status_code == 400
    fields = {f"f{number}": "x" for number in range(4500)}
    assert client.post("/api/rag/ingest", fields).status_code == 400


@pytest.mark.usefixtures("steady_rate_limits")
def test_changes_have_a_rate_limit_without_headers(world: World, settings: Any) -> None:
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = True, settings.RAG_REQUESTS_PER_MINUTE | {"changes": 2}
    cache.clear()
    world.source()
    client = Client(headers={"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"})
    replies = [client.patch("/api/rag/sources/library", {"name": "x"}, "application/json") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert replies[-1].json()["error"] == "RATE_LIMITED"
    assert not any("RateLimit" in name for name in replies[-1].headers)
    assert client.get("/api/rag/sources").status_code == 200
