"""What every page carries, what tokens are believed, where processes connect to (docs/security.md)."""

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jwt
import pytest
from django.core.cache import cache
from django.core.checks import Tags, run_checks
from django.test import Client
from rest_framework_simplejwt import state
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from accounts.models import User
from accounts.sign_in.jwt_keys import MultiKeyTokenBackend, key_id
from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.providers import registry
from rag.providers.http import outbound
from tests.support.factories import World, ingest_text
from tests.support.provider_server import ProviderServer

# Pages: nothing runs or shows that stands inside of them.

_SCRIPTS = re.compile(r"<script(?![^>]*\ssrc=)[^>]*>|\son[a-z]+=|javascript:", re.IGNORECASE)
_INSIDE = re.compile(_SCRIPTS.pattern + r"|<style|\sstyle=", re.IGNORECASE)


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
    own = [
        f"/admin/rag/datasource/{source.pk}/{name}/" for name in ("change", "upload", "quality", "reembed", "delete")
    ]
    others = ["/admin/", "/admin/second-factor/", "/admin/password_change/", "/api/docs", "/nowhere", "/admin/nowhere/"]
    return [*lists, *forms, *own, *others, f"/admin/rag/document/{document.pk}/change/"]


def test_every_page_has_a_policy_and_nothing_inside_that_it_forbids(world: World, root: Client) -> None:
    for page in [*pages(world), "/admin/logout/", "/admin/login/"]:
        reply = root.post(page) if page == "/admin/logout/" else root.get(page)
        assert reply.status_code in (200, 302, 404), page
        policy = dict(each.strip().partition(" ")[::2] for each in reply["Content-Security-Policy"].split(";"))
        assert policy["script-src"] == "'self'", page
        assert policy["style-src"] == "'self'" or page == "/api/docs", page
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'", page
        assert policy["form-action"] in ("'self'", "'none'"), page
        assert policy.get("object-src", policy["default-src"]) == "'none'", page
        assert reply["X-Content-Type-Options"] == "nosniff", page
        assert reply["Cross-Origin-Opener-Policy"] == "same-origin", page
        assert "camera=()" in reply["Permissions-Policy"], page
        forbidden = _SCRIPTS if page == "/api/docs" else _INSIDE  # Swagger UI has styles inside
        assert not (found := forbidden.search(reply.content.decode())), f"{page}: {found and found.group()}"


@pytest.mark.parametrize(
    "page", ["/admin/login/", "/admin/second-factor/", "/admin/password_change/", "/admin/logout/"]
)
def test_a_form_of_another_page_is_refused(world: World, page: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    assert client.post(f"/admin/{page}/", {"username": "root@home.example", "password": "x"}).status_code == 403


def test_session_cookies_are_for_https_and_out_of_reach_of_scripts() -> None:
    command = "import ragsite.settings as s; print([s.SESSION_COOKIE_SECURE, s.CSRF_COOKIE_SECURE,"
    command += "s.SESSION_COOKIE_HTTPONLY, s.SECURE_SSL_REDIRECT, s.SECURE_HSTS_SECONDS > 0])"
    environment = {**os.environ, "RAG_LOCAL": "0", "DEBUG": "0"}
    shown = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == str([True] * 5)


# Tokens.


def ring(key: str, *old: str) -> MultiKeyTokenBackend:
    given: Any = SimpleNamespace(SIGNING_KEY=key, AUDIENCE="ragsite", ISSUER="ragsite", LEEWAY=0)
    return MultiKeyTokenBackend(given, [*old])


def accepted(world: World, token: str) -> bool:
    reply = Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {token}"})
    assert reply.status_code in (200, 401)
    return reply.status_code == 200


FIRST, SECOND = ("A key of sixty bytes, so that longer digests may have it: " + each for each in ("first", "second"))


def test_a_new_key_signs_and_an_old_one_is_believed_until_it_is_taken_away(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state, "token_backend", ring(FIRST))
    token = str(AccessToken.for_user(world.users["member"]))
    assert jwt.get_unverified_header(token) == {"alg": "HS256", "typ": "JWT", "kid": key_id(FIRST)}
    monkeypatch.setattr(state, "token_backend", ring(SECOND, FIRST))
    assert accepted(world, token)
    newer = str(AccessToken.for_user(world.users["member"]))
    assert jwt.get_unverified_header(newer)["kid"] == key_id(SECOND)
    monkeypatch.setattr(state, "token_backend", ring(SECOND))
    assert (accepted(world, token), accepted(world, newer)) == (False, True)


def test_tokens_that_are_not_ours(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "token_backend", ring(FIRST, SECOND))
    good = AccessToken.for_user(world.users["member"])
    claims = {**good.payload, "aud": "ragsite", "iss": "ragsite"}
    header, payload, signature = str(good).split(".")
    kid = {"kid": key_id(FIRST)}

    def signed(
        key: str = FIRST, algorithm: str = "HS256", headers: dict[str, Any] | None = None, **changed: Any
    ) -> str:
        return jwt.encode({**claims, **changed}, key, algorithm=algorithm, headers=kid if headers is None else headers)

    def headed(**changed: Any) -> str:
        written = json.dumps({"alg": "HS256", "typ": "JWT", **kid, **changed}).encode()
        return ".".join([base64.urlsafe_b64encode(written).rstrip(b"=").decode(), payload, signature])

    def without(name: str) -> str:
        return jwt.encode({k: v for k, v in claims.items() if k != name}, FIRST, "HS256", kid)

    refused = {
        "no algorithm": ".".join([headed(alg="none").split(".")[0], payload, ""]),
        "no algorithm, signed": headed(alg="none"),
        "an algorithm of public keys": headed(alg="RS256"),
        "another algorithm of the same key": signed(algorithm="HS384"),
        "another key under this one's name": signed(SECOND),
        "no name of a key": signed(headers={}),
        "an unknown name": signed(headers={"kid": "../../dev/null"}),
        "the name as the key": signed(key_id(FIRST) * 2),
        "a name that is none": headed(kid=["a"]),
        "another audience": signed(aud="another-service"),
        "several audiences, none ours": signed(aud=["a", "b"]),
        "another issuer": signed(iss="somebody"),
        "ended": signed(exp=1),
        "not begun": signed(nbf=4_000_000_000),
        "a refresh token": str(RefreshToken.for_user(world.users["member"])),
        "somebody else's name in it": ".".join([header, payload.swapcase(), signature]),
        **{f"without {name}": without(name) for name in ("exp", "iss", "aud", "jti", "token_type", "sub")},
    }
    for what, token in refused.items():
        assert not accepted(world, token), what
    assert accepted(world, signed())
    assert accepted(world, signed(SECOND, headers={"kid": key_id(SECOND)}))


def test_weak_keys_are_an_error_of_a_deployment(settings: Any) -> None:
    def found() -> list[str]:
        return [each.msg.split()[0] for each in run_checks(tags=[Tags.security], include_deployment_checks=True)
                if each.id == "ragsite.E001"]  # fmt: skip

    settings.SECRET_KEY, settings.SIMPLE_JWT = FIRST, {**settings.SIMPLE_JWT, "SIGNING_KEY": SECOND}
    assert found() == []
    settings.SECRET_KEY, settings.RAG_JWT_OLD_SIGNING_KEYS = "a" * 64, ["short"]
    settings.SIMPLE_JWT = {**settings.SIMPLE_JWT, "SIGNING_KEY": "thirty-one bytes, which is less"}
    assert found() == ["SECRET_KEY", "RAG_JWT_SIGNING_KEY", "RAG_JWT_OLD_SIGNING_KEYS"]


def test_the_ring_is_what_is_used() -> None:
    assert isinstance(state.token_backend, MultiKeyTokenBackend)
    assert key_id(api_settings.SIGNING_KEY) == jwt.get_unverified_header(state.token_backend.encode({}))["kid"]


# Where processes connect to.

PRIVATE = [
    *(
        "http://127.0.0.1:9/v1",
        "http://localhost/v1",
        "http://10.0.0.9/v1",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
    ),
    *("http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[::1]/"),
    *("http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/"),
    *("http://0.0.0.0/", "http://100.100.100.200/", "http://168.63.129.16/", "http://224.0.0.1/", "http://2130706433/"),
    *("http://0x7f.1/", "http://0177.0.0.1/", "http://user@127.0.0.1/", "http://255.255.255.255/"),
]


@pytest.mark.parametrize("url", PRIVATE)
def test_private_addresses_in_every_spelling(url: str, settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    with pytest.raises(outbound.ForbiddenAddress, match="RAG_ALLOWED_PRIVATE_HOSTS"):
        outbound.check_allowed(url)


def test_public_addresses_and_what_the_operator_allows(settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["10.1.0.0/16", "localhost"]
    for url in ("http://93.184.215.14/", "http://[2606:4700::1]/", "http://10.1.2.3/", "http://localhost:11434/v1"):
        outbound.check_allowed(url)
    with pytest.raises(outbound.ForbiddenAddress):
        outbound.check_allowed("http://10.2.0.1/")


def remote(provider: ProviderServer, **fields: Any) -> EmbeddingModel:
    values = {"name": "remote", "provider": "openai", "dimensions": 384, "base_url": provider.base_url}
    return EmbeddingModel.objects.create(**{**values, **fields})


def test_a_models_endpoint_is_looked_at_when_connecting(db: None, provider: ProviderServer, settings: Any) -> None:
    """However its row came to be: not when it is saved alone."""
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    with pytest.raises(EmbeddingFailed, match="RAG_ALLOWED_PRIVATE_HOSTS") as caught:
        registry.embedder(remote(provider)).embed(["Zebras."])
    assert (caught.value.is_retryable, provider.requests) == (False, [])
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.0/8"]
    assert len(registry.embedder(remote(provider, name="second")).embed(["Zebras."])) == 1


def test_what_was_looked_at_is_what_is_connected_to(
    db: None, provider: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that changes its address between two questions (DNS rebinding) is asked once."""
    answers = iter(["127.0.0.1", "10.0.0.9"])
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    asked = []

    def changing(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        asked.append(host)
        address = host if host[0].isdigit() else next(answers)
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr("socket.getaddrinfo", changing)
    model = remote(provider, base_url=provider.base_url.replace("127.0.0.1", "models.example"))
    assert len(registry.embedder(model).embed(["Zebras."])) == 1
    assert [host for host in asked if not host[0].isdigit()] == ["models.example"]


def test_the_form_says_it_at_once(root: Client, settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    values = {"name": "m", "provider": "openai", "dimensions": 384, "base_url": "http://169.254.169.254/v1"}
    reply = root.post("/admin/rag/embeddingmodel/add/", {**values, "fallback_base_url": "http://[::1]/v1"})
    assert reply.content.decode().count("RAG_ALLOWED_PRIVATE_HOSTS") == 2
    assert not EmbeddingModel.objects.filter(name="m").exists()


def test_organisations_do_not_set_endpoints(world: World) -> None:
    owner = world.users["owner"]
    owner.is_staff = True
    owner.save()
    client = Client()
    client.force_login(owner)
    assert client.get("/admin/rag/embeddingmodel/add/").status_code == 403


# Sizes and numbers.


def test_open_paths_are_counted_for_each_address(db: None, settings: Any) -> None:
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


def test_too_many_of_anything_is_a_400_or_a_413(world: World) -> None:
    token = AccessToken.for_user(world.users["member"])
    client = Client(headers={"Authorization": f"Bearer {token}"})
    parameters = "&".join(["a"] * 1500)
    assert client.get(f"/api/rag/sources?{parameters}").status_code == 400
    deep = "[" * 50_000 + "]" * 50_000
    assert client.post("/api/rag/search", deep, content_type="application/json").status_code == 400
    fields = {f"f{number}": "x" for number in range(1500)}
    assert client.post("/api/rag/ingest", fields).status_code == 400


# The audit of the lock.


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        ('{"dependencies": [{"name": "django", "version": "1", "vulns": []}]}', 0, "No known vulnerability"),
        (
            '{"dependencies": [{"name": "django", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}]}',
            1,
            "CVE-1 (fixed in: 2)",
        ),
        ('{"dependencies": [{"name": "django", "skip_reason": "not found in the index"}]}', 3, "NOT AUDITED"),
        ("", 3, "NOT AUDITED"),
    ],
)
def test_an_audit_that_could_not_look_is_no_pass(tmp_path: Path, answer: str, status: int, said: str) -> None:
    """pip-audit's own exit status is 0 where the index knows nothing."""
    (tmp_path / "pip-audit").write_text(f"#!/bin/sh\nprintf '%s' '{answer}'\n")
    (tmp_path / "pip-audit").chmod(0o755)
    (tmp_path / "lock").write_text("django==1\n")
    command = [sys.executable, "scripts/audit", str(tmp_path), str(tmp_path / "lock")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, said in result.stdout + result.stderr) == (status, True)


def test_changes_have_a_budget_that_answers_do_not_show(world: World, settings: Any) -> None:
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = True, settings.RAG_REQUESTS_PER_MINUTE | {"changes": 2}
    cache.clear()
    world.source()
    client = Client(headers={"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"})
    replies = [client.patch("/api/rag/sources/library", {"name": "x"}, "application/json") for _ in range(3)]
    assert [reply.status_code for reply in replies] == [200, 200, 429]
    assert replies[-1].json()["error"] == "RATE_LIMITED"
    assert not any("RateLimit" in name for name in replies[-1].headers)
    assert client.get("/api/rag/sources").status_code == 200
