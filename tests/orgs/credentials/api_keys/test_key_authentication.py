"""An API key as a credential (shared rules, "Who is calling"; agent contract, "Security")."""

import json
import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client as InProcess
from django.utils import timezone
from drf_spectacular.generators import SchemaGenerator
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory
from rest_framework_simplejwt.tokens import AccessToken

from accounts.audit.events import AuditEvent
from orgs.access.caller import Caller
from orgs.authentication.api_key_header import ApiKeyAuthentication
from orgs.creation import add_member
from orgs.models import ApiKey, Membership
from rag.models import DataSource
from tests.support.factories import World, ingest_text
from tests.support.http import Client, without_request_id

Api = Callable[..., Client]
SOURCES = "/api/rag/sources"


def status(headers: dict[str, str], path: str = SOURCES, **environment: Any) -> int:
    return InProcess().get(path, headers=headers, **environment).status_code


@pytest.mark.parametrize(
    "header", [("Authorization", "Bearer "), ("Authorization", "bearer "), ("X-API-Key", ""), ("apikey", "")]
)
def test_the_ways_to_send_a_key(api: Api, live_world: World, header: tuple[str, str]) -> None:
    """Shared rules: "`Authorization: Bearer rk_…` or `X-API-Key: rk_…`"; `apikey` is what supabase-js sends."""
    live_world.source("library")
    name, prefix = header
    reply = api().with_headers(**{name: prefix + live_world.key("member").secret}).get(SOURCES)
    assert (reply.status, reply.body["total"]) == (200, 1)


@pytest.mark.parametrize(
    ("authorization", "x_api_key", "apikey", "expected"),
    [
        ("jwt", "wrong", "wrong", 200),  # Authorization wins
        ("key", "wrong", "wrong", 200),
        ("wrong", "key", "key", 401),
        ("bad jwt", "key", "key", 401),
        ("", "key", "wrong", 200),
        ("", "wrong", "key", 401),
        ("", "other", "key", 401),  # X-API-Key is always a credential of this product
        ("", "", "wrong", 401),
        ("", "", "other", 401),
        ("jwt", "", "other", 200),  # a gateway's own key
        ("basic", "key", "", 200),  # not a credential of this product
        ("basic", "", "other", 401),
        ("basic", "", "key", 200),
        ("empty bearer", "key", "key", 401),
    ],
)
def test_precedence_of_credentials(
    world: World, authorization: str, x_api_key: str, apikey: str, expected: int
) -> None:
    secret = world.key("member").secret
    values = {"key": secret, "wrong": "rk_" + "x" * 43, "other": "sb_publishable_1234", "": ""}
    bearers = {
        "jwt": f"Bearer {AccessToken.for_user(world.users['member'])}", "bad jwt": "Bearer a.b.c",
        "basic": "Basic dTpw", "empty bearer": "Bearer", "": "",
    }  # fmt: skip
    sent = {
        "Authorization": bearers.get(authorization) or (f"Bearer {values[authorization]}" if authorization else ""),
        "X-API-Key": values[x_api_key],
        "apikey": values[apikey],
    }
    assert status({name: value for name, value in sent.items() if value}) == expected


def _disable(world: World, key: ApiKey, reason: str) -> None:
    past = timezone.now() - timedelta(seconds=1)
    membership = Membership.objects.filter(user=key.user, organization=key.organization)
    match reason:
        case "revoked":
            ApiKey.objects.update(revoked_at=past)
        case "expired":
            ApiKey.objects.update(expires_at=past)
        case "user inactive":
            type(key.user).objects.filter(pk=key.user_id).update(is_active=False)
        case "membership inactive":
            membership.update(is_active=False)
        case "membership gone":
            membership.delete()
        case "organisation inactive":
            type(key.organization).objects.filter(pk=key.organization_id).update(is_active=False)
        case "another's hash":
            ApiKey.objects.update(hash="0" * 64)


@pytest.mark.parametrize(
    ("reason", "audited"),
    [
        ("revoked", ["revoked"]),
        ("expired", ["expired"]),
        ("user inactive", ["user_inactive"]),
        ("membership inactive", ["not_a_member"]),
        ("membership gone", ["revoked"]),
        ("organisation inactive", ["organization_inactive"]),
        ("another's hash", []),
    ],
)
@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_unusable_key_is_a_401_without_a_reason(
    world: World, reason: str, audited: list[str], elsewhere: bool
) -> None:
    """Shared rules: "Nothing, an expired or a revoked credential: 401 with `WWW-Authenticate`". A membership in another
    organisation does not help. The audit trail has the reason if the key is known."""
    if elsewhere:
        add_member(user=world.users["editor"], organization=world.abroad, roles=("owner",))
    issued = world.key("editor")
    headers = {"X-API-Key": issued.secret}
    assert status(headers) == 200
    _disable(world, issued.key, reason)
    refused = InProcess().get(SOURCES, headers=headers)
    unknown = InProcess().get(SOURCES, headers={"X-API-Key": "rk_" + "x" * 43})
    assert refused.status_code == unknown.status_code == 401
    assert without_request_id(refused.json()) == without_request_id(unknown.json())
    assert refused.headers["WWW-Authenticate"] == unknown.headers["WWW-Authenticate"] == 'Bearer realm="api"'
    events = AuditEvent.objects.filter(action="refused")
    assert [(event.object_id, event.after["reason"]) for event in events] == [
        (str(issued.key.pk), reason_code) for reason_code in audited
    ]


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key", "apikey"])
@pytest.mark.parametrize(
    "change",
    [
        lambda key: key[:-1], lambda key: key + "x", lambda key: key[:11], lambda key: "rk_", lambda key: key[3:],
        lambda key: key.upper(), lambda key: "rk_" + key[3:].swapcase(), lambda key: key[:3] + key[4:] + key[3],
        lambda key: key[:-1] + "é", lambda key: f"{key},{key}", lambda key: f"{key} {key}",
        lambda key: key + "x" * 9000,
    ],
)  # fmt: skip
def test_altered_keys_are_rejected(world: World, change: Callable[[str], str], header: str) -> None:
    sent = change("rk_" + world.key("editor").secret[3:])
    assert status({header: f"Bearer {sent}" if header == "Authorization" else sent}) == 401


REQUESTS = {
    "v3 ingest": ("/api/rag/ingest", {"source": "github", "path": "/doc", "title": "Z", "text": "Zebras."}, 200),
    "pipeline ingest": ("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"text": "Zebras."}]}, 202),
    "v3 search": ("/api/rag/search", {"query": "zebras"}, 200),
    "pipeline retrieve": ("/api/rag/retrieve", {"query": "zebras"}, 200),
}
NEEDED = {"v3 ingest": "ingest", "pipeline ingest": "ingest", "v3 search": "query", "pipeline retrieve": "query"}


@pytest.mark.parametrize("scope", ["query", "ingest", "manage"])
def test_a_scope_allows_only_its_own_operations(api: Api, live_world: World, scope: str) -> None:
    ingest_text(live_world.source("library"), "a", "Zebras have stripes.")
    client = api().with_headers(Authorization=f"Bearer {live_world.key('editor', scope).secret}")
    for name, (path, body, success) in REQUESTS.items():
        reply = client.post(path, body)
        assert reply.status == (success if NEEDED[name] == scope else 403), name
        if reply.status == 403:
            assert f"`{NEEDED[name]}`" in reply.body["message"]
        if reply.status == 202:
            assert client.get(f"{path}/{reply.body['jobId']}").status == 200
    assert client.get(f"/api/rag/ingest/{live_world.home.pk}").status == (404 if scope == "ingest" else 403)
    assert client.get(SOURCES).status == 200


def test_a_key_can_do_no_more_than_its_user(api: Api, live_world: World) -> None:
    """Shared rules: "A key can do no more than its user can"."""
    live_world.source("library")
    client = api().with_headers(X_API_Key=live_world.key("member").secret)
    for name in ("v3 ingest", "pipeline ingest"):
        path, body, _ = REQUESTS[name]
        assert client.post(path, body).status == 403, name


def test_writes_go_to_the_keys_organisation_and_reads_may_span_all(api: Api, live_world: World) -> None:
    """Shared rules: "Writing goes to the key's organisation"; "Reading spans every organisation" of its user."""
    add_member(user=live_world.users["editor"], organization=live_world.abroad, roles=("editor",))
    ingest_text(live_world.source("far", organization=live_world.abroad), "a", "Lions roar.")
    client = api().with_headers(X_API_Key=live_world.key("editor", all_organizations=True).secret)
    path, body, _ = REQUESTS["v3 ingest"]
    assert client.post(path, body).status == 200
    assert DataSource.objects.get(slug="github").organization == live_world.home
    elsewhere = client.with_headers(X_Organization="abroad")
    assert elsewhere.post(path, body).status == 400
    job = {"dataSourceId": "far", "documents": [{"text": "x"}]}
    assert client.post(path, job).status == 404, "the source does not belong to the key's organisation"

    def search(caller: Client) -> set[str]:
        results = caller.post("/api/rag/search", {"query": "animals"}).body["results"]
        return {result["metadata"]["source"] for result in results}

    assert search(client) == {"github", "far"}
    assert search(elsewhere) == {"far"}


def test_a_key_needs_two_statements_and_its_use_is_recorded_once_a_minute(world: World) -> None:
    issued = world.key("editor")
    request = Request(APIRequestFactory().get("/", headers={"X-API-Key": issued.secret}))

    def last_used_at() -> Any:
        return ApiKey.objects.values_list("last_used_at", flat=True).get()

    def record(execute: Any, *arguments: Any) -> Any:
        statements.append(arguments)
        return execute(*arguments)

    statements: list[Any] = []
    with connection.execute_wrapper(record):
        user, caller = ApiKeyAuthentication().authenticate(request) or (None, None)
    assert len(statements) == 3
    assert user == world.users["editor"]
    assert caller == Caller(user, issued.key, world.home)
    first = last_used_at()
    assert timezone.now() - first < timedelta(minutes=1)
    statements.clear()
    with connection.execute_wrapper(record):
        ApiKeyAuthentication().authenticate(request)
    assert len(statements) == 2
    assert last_used_at() == first
    ApiKey.objects.update(last_used_at=first - timedelta(minutes=2))
    ApiKeyAuthentication().authenticate(request)
    assert last_used_at() >= first


def test_a_key_in_clear_text_is_refused_and_flagged_to_its_owner(world: World) -> None:
    """Shared rules: "refused (403, and the key is flagged to its owner)"; agent: "must be sent via HTTPS only"."""
    issued, other = world.key("editor"), world.key("editor")
    headers = {"X-API-Key": issued.secret}
    refused = InProcess().get(SOURCES, headers=headers, REMOTE_ADDR="10.0.0.9")
    assert refused.status_code == 403
    assert "plain HTTP" in refused.json()["message"]
    assert status({"X-API-Key": "rk_" + "x" * 43}, REMOTE_ADDR="10.0.0.9") == 403
    first = ApiKey.objects.get(pk=issued.key.pk).flagged_at
    assert first is not None
    status(headers, REMOTE_ADDR="10.0.0.9")
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['editor'])}"}
    listed = {key["id"]: key for key in InProcess().get("/api/auth/keys", headers=token).json()["keys"]}
    assert listed[str(issued.key.pk)]["flagged_at"] == first.isoformat().replace("+00:00", "Z")
    assert listed[str(issued.key.pk)]["last_used_at"] is None
    assert listed[str(other.key.pk)]["flagged_at"] is None
    assert status(headers, REMOTE_ADDR="10.0.0.9", secure=True) == 200


def test_no_secret_reaches_the_log(api: Api, live_world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    issued = live_world.key("editor", "query")
    created = InProcess().post(
        "/api/auth/keys",
        json.dumps({"name": "x", "scopes": ["query"]}),
        content_type="application/json",
        headers={"Authorization": f"Bearer {AccessToken.for_user(live_world.users['editor'])}"},
    )
    for headers in (
        {"X_API_Key": issued.secret},
        {"apikey": issued.secret},
        {"Authorization": f"Bearer {issued.secret}"},
        {"Authorization": f"Bearer {issued.secret}x"},
    ):
        api().with_headers(**headers).get(SOURCES)
        api().with_headers(**headers).post("/api/rag/ingest", {"source": "x"})
    status({"X-API-Key": issued.secret}, REMOTE_ADDR="10.0.0.9")
    ApiKey.objects.update(revoked_at=timezone.now())
    api().with_headers(X_API_Key=issued.secret).get(SOURCES)
    log_text = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "request_finished" in log_text, "the log was captured"
    for secret in (issued.secret, created.json()["key"]):
        assert secret[3:] not in log_text
        assert secret[11:] not in log_text


def test_openapi_names_both_kinds_of_credentials() -> None:
    schema = SchemaGenerator().get_schema(request=None, public=True)
    schemes = schema["components"]["securitySchemes"]
    assert {name: schemes[name]["type"] for name in schemes} == {"bearer": "http", "apiKey": "apiKey"}
    assert (schemes["bearer"]["scheme"], schemes["apiKey"]["name"]) == ("bearer", "X-API-Key")
    assert schema["paths"]["/api/auth/keys"]["get"]["security"] == [{"bearer": []}, {"apiKey": []}]


def test_a_token_sent_as_a_key_is_named_as_such(world: World) -> None:
    """Valid or not, with or without "Bearer"; a key that is only wrong gets no such hint."""
    token = str(AccessToken.for_user(world.users["member"]))
    for header in ("X-API-Key", "apikey"):
        for credential in (token, f"Bearer {token}"):
            reply = InProcess().get(SOURCES, headers={header: credential})
            assert reply.status_code == 401
            assert "access token and not an API key" in reply.json()["message"]
            assert token not in reply.content.decode()
        assert "invalid, expired or revoked" in InProcess().get(SOURCES, headers={header: "rk_x"}).json()["message"]
