"""Every endpoint for every role with every kind of credential: allowed, 401, 404 or 403.

One row for each endpoint. An endpoint without a row fails the test: declare who may call it first.
"""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from typing import Any

from django.test import Client
from django.urls import URLPattern, get_resolver, resolve
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from orgs.access.permissions import Scope, Visibility
from orgs.creation import add_member
from orgs.models import ApiKey
from rag.models import DataSource, SearchRecord, Webhook
from tests.access.worlds import add_content
from tests.support.data.database import rolled_back
from tests.support.factories import World

ROLES = ("owner", "admin", "editor", "member", "outsider")
SINGLE_SCOPES = tuple(Scope.values)
UNUSABLE = ("expired key", "revoked key")
KINDS = ("token", *SINGLE_SCOPES, "every scope", "another source", *UNUSABLE)
# The other kinds are rejected before any object is looked up.
ON_CLOSED = ("token", "every scope", "another source")
OUTCOMES = {"A": "allowed", "F": "403", "N": "404"}
EVERYBODY = "AAAAA"


@dataclass(frozen=True)
class Row:
    """scope: what a key needs; None: keys are not accepted. opened, closed: the outcomes for ROLES with an access token
    (A allowed, F 403, N 404) on a public source and on a private source without grants.

    elsewhere: the outcome for keys restricted to another source, where it differs; empty: the same.
    public: needs no authentication.
    """

    method: str
    path: str
    scope: str | None = ""
    opened: str = EVERYBODY
    closed: str = ""
    elsewhere: str = ""
    body: Any = None
    public: bool = False


JOB = {"dataSourceId": "{source}", "documents": [{"path": "b", "text": "Zebras."}]}
QUESTION = {"query": "zebras", "dataSources": ["{source}"]}
COMPLETION = {"model": "ragsite/{source}", "messages": [{"role": "user", "content": "zebras"}]}
WEBHOOK = {"url": "https://93.184.215.14/hook", "events": ["job.failed"]}
SOURCE, ONE_JOB, ONE_WEBHOOK = "/api/rag/sources/{source}", "/api/rag/ingest/{job}", "/api/rag/webhooks/{webhook}"
ROWS = (
    Row("GET", "/api/rag/ingest", "ingest"),
    Row("POST", "/api/rag/ingest", "ingest", "AAAFN", "AAANN", "N", JOB),
    Row("GET", ONE_JOB, "ingest", "AAANN", "AAANN", "N"),
    Row("DELETE", ONE_JOB, "ingest", "AAANN", "AAANN", "N"),
    Row("GET", ONE_JOB + "/documents", "ingest", "AAANN", "AAANN", "N"),
    Row("POST", ONE_JOB + "/retry", "ingest", "AAANN", "AAANN", "N"),
    Row("GET", SOURCE + "/access?user=x", "manage", "AAFFN", "AAFNN", "N"),
    Row("POST", "/api/rag/explain", "manage", "AAFFN", "AAFNN", "N", QUESTION),
    Row("GET", "/api/rag/sources"),
    Row("POST", "/api/rag/sources", "manage", "AAAFA", elsewhere="F", body={"name": "New"}),
    Row("GET", SOURCE, "", "AAAAN", "AAANN", "N"),
    Row("PATCH", SOURCE, "manage", "AAFFN", "AAFNN", "N", {"description": "Changed"}),
    Row("DELETE", SOURCE, "manage", "AAFFN", "AAFNN", "N"),
    Row("GET", SOURCE + "/documents", "", "AAAAN", "AAANN", "N"),
    Row("DELETE", SOURCE + "/documents?path=a", "ingest", "AAAFN", "AAANN", "N"),
    Row("GET", SOURCE + "/documents/{document}", "", "AAAAN", "AAANN", "N"),
    Row("DELETE", SOURCE + "/documents/{document}", "ingest", "AAAFN", "AAANN", "N"),
    Row("GET", "/api/rag/webhooks", "manage"),
    Row("POST", "/api/rag/webhooks", "manage", "AAFFF", elsewhere="F", body=WEBHOOK),
    Row("GET", ONE_WEBHOOK, "manage", "AANNN", elsewhere="N"),
    Row("PATCH", ONE_WEBHOOK, "manage", "AANNN", elsewhere="N"),
    Row("DELETE", ONE_WEBHOOK, "manage", "AANNN", elsewhere="N"),
    Row("POST", ONE_WEBHOOK + "/rotate", "manage", "AANNN", elsewhere="N"),
    Row("POST", ONE_WEBHOOK + "/test", "manage", "AANNN", elsewhere="N"),
    Row("GET", ONE_WEBHOOK + "/deliveries", "manage", "AANNN", elsewhere="N"),
    # Querying depends on visibility only: nobody may query a private source without grants.
    Row("POST", "/api/rag/retrieve", "query", "AAAAN", "NNNNN", "N", QUESTION),
    Row("POST", "/api/rag/query", "query", "AAAAN", "NNNNN", "N", QUESTION),
    # These search what the caller may query: an empty request is a 400 for everybody who is authenticated.
    Row("POST", "/api/rag/search", "query"),
    Row("POST", "/api/rag/answer", "query"),
    Row("POST", "/functions/v1/rag-search", "query"),
    Row("POST", "/functions/v1/rag-answer", "query"),
    Row("POST", "/api/chat", "query"),
    Row("POST", "/agent/respond", "query"),
    Row("GET", "/agent/health", "query"),
    Row("POST", "/api/v1/search", "query"),
    Row("GET", "/api/v1/search/{members_search}", "query", "NNNAN"),
    Row("POST", "/mcp", "query"),
    Row("GET", "/v1/models", "query"),
    Row("GET", "/v1/models/ragsite/{source}", "query", "AAAAN", "NNNNN", "N"),
    Row("POST", "/v1/chat/completions", "query", "AAAAN", "NNNNN", "N", COMPLETION),
    Row("POST", "/v1/embeddings", "query"),
    Row("GET", "/api/auth/keys", None),
    Row("POST", "/api/auth/keys", None),
    Row("DELETE", "/api/auth/keys/{editors_key}", None, "NNANN"),
    Row("POST", "/api/auth/keys/{editors_key}/rotate", None, "NNANN"),
    Row("GET", "/api/auth/member-keys", None, "AAFFF"),
    Row("DELETE", "/api/auth/member-keys/{editors_key}", None, "AAFFF"),
    Row("POST", "/api/auth/token", public=True),
    Row("POST", "/api/auth/token/refresh", public=True),
    Row("POST", "/api/auth/token/verify", public=True),
    Row("POST", "/api/auth/token/revoke", public=True),
)
# Routes outside the API: the home page, health, the reference, and the 404 of all other paths. Metrics need their own
# token (tests/ragsite/observability/test_metrics.py), the admin's pages a session (tests/admin/test_admin.py).
OTHER_ROUTES = {"home", "set_language", "healthz", "readyz", "metrics", "schema", "docs", None}


def expected_outcome(row: Row, role: str, kind: str, letters: str) -> str:
    """The outcome that a row declares. `letters` has one of OUTCOMES for each of ROLES."""
    if row.public:
        return "allowed"
    if role not in ROLES or kind in UNUSABLE:
        return "401"
    if kind != "token" and row.scope is None:
        return "403"
    if kind in SINGLE_SCOPES and row.scope and row.scope != kind:
        return "403"
    letter = letters[ROLES.index(role)]
    return OUTCOMES[(row.elsewhere or letter) if kind == "another source" else letter]


def outcome_of(status: int) -> str:
    assert status < 500, status
    return str(status) if status in (401, 403, 404) else "allowed"


def test_every_endpoint_treats_every_role_and_credential_as_declared(world: World) -> None:
    targets = create_targets(world)
    callers = [("anonymous", "none", {}), *credentials(world)]
    wrong = []
    client = Client()  # one client: each new one loads all middleware
    for row, (ids, is_closed) in product(ROWS, zip(targets, (False, True), strict=True)):
        letters = row.closed if is_closed else row.opened
        for role, kind, headers in callers:
            if not letters or (is_closed and kind not in ON_CLOSED):
                continue
            expected = expected_outcome(row, role, kind, letters)
            outcome = outcome_of(status(client, row, ids, headers))
            if outcome != expected:
                wrong.append(f"{row.method} {row.path}, {role}, {kind}: {outcome} instead of {expected}")
    assert not wrong, "\n".join(wrong)


def test_every_endpoint_has_its_row() -> None:
    """Endpoints are read from the URL configuration, so undocumented ones count too."""
    rows = [(row.method, resolve(row.path.split("?")[0]).route) for row in ROWS]
    assert len(rows) == len(set(rows))
    assert set(rows) == set(endpoints())


def endpoints() -> Iterator[tuple[str, str]]:
    """(method, route) of every endpoint of the API. HEAD behaves like GET (test_narrow_credentials)."""
    for route, pattern in flatten_patterns(get_resolver().url_patterns):
        if route.startswith("admin/") or pattern.name in OTHER_ROUTES:
            continue
        callback: Any = pattern.callback
        # Web pages: tests/pages, tests/orgs.
        if callback.__module__.startswith(
            ("rag.pages.", "accounts.sign_in.", "orgs.single_sign_on.", "orgs.invitations.")
        ):
            continue
        # Credentials of their own: tests/orgs/scim, tests/accounts/oauth.
        if callback.__module__.startswith(("orgs.scim.", "accounts.oauth.")):
            continue
        methods = getattr(callback, "actions", None) or [
            name for name in ("get", "post", "put", "patch", "delete") if hasattr(callback.cls, name)
        ]
        yield from ((name.upper(), route) for name in methods if name != "head")


def flatten_patterns(patterns: Any, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        pattern_text = str(pattern.pattern)
        route = prefix + (pattern_text.removeprefix("^") if prefix else pattern_text)  # as Django's resolver joins them
        if isinstance(pattern, URLPattern):
            yield route, pattern
        else:
            yield from flatten_patterns(pattern.url_patterns, route)


def create_targets(world: World) -> tuple[dict[str, str], dict[str, str]]:
    """The ids that paths need: of a public source's objects, and of a private source without grants."""
    sources = [world.source("open"), world.source("closed", visibility=Visibility.PRIVATE)]
    world.source("other")
    add_content(sources)
    search = SearchRecord.objects.create(user=world.users["member"], text="zebras", time_ms=1)
    key = world.key("editor", "query").key
    webhook = Webhook.objects.create(organization=world.home, url="https://93.184.215.14/", events=["job.failed"])
    ids = [
        {
            "source": str(source.pk),
            "document": str(source.documents.get().pk),
            "job": str(source.jobs.get().pk),
            "members_search": str(search.pk),
            "editors_key": str(key.pk),
            "webhook": str(webhook.pk),
        }
        for source in sources
    ]
    return ids[0], ids[1]


def credentials(world: World) -> list[tuple[str, str, dict[str, str]]]:
    """(role, kind, headers). Tokens are signed directly, without password hashing."""
    world.users["outsider"] = world.users["foreigner"]
    world.users["deactivated"] = User.objects.create(email="former@home.example")
    add_member(user=world.users["deactivated"], organization=world.home, roles=("member",))
    other_sources = {
        "home": DataSource.objects.get(slug="other"),
        "abroad": world.source("b", organization=world.abroad),
    }
    callers = []
    for role in (*ROLES, "deactivated"):
        home = world.abroad if role == "outsider" else world.home
        keys: dict[str, dict[str, Any]] = {
            **{scope: {"scopes": [scope]} for scope in SINGLE_SCOPES},
            "every scope": {},
            "another source": {"sources": [other_sources[home.slug].pk]},
            "expired key": {"expires_at": timezone.now() - timedelta(seconds=1)},
            "revoked key": {},
        }
        token = AccessToken.for_user(world.users[role])
        callers.append((role, "token", {"Authorization": f"Bearer {token}"}))
        if role == "deactivated":
            keys = {"every scope": {}}
        # Keys that are rejected before anybody asks whose they are: those of the owner, and of single scopes also those
        # of the outsider, who is refused in another way if the scope is looked at too late.
        if role != "owner":
            keys = {kind: fields for kind, fields in keys.items() if kind not in UNUSABLE}
        if role not in ("owner", "outsider"):
            keys = {kind: fields for kind, fields in keys.items() if kind not in SINGLE_SCOPES}
        for kind, fields in keys.items():
            secret = world.key(role, organization=home, **{"name": kind, **fields}).secret
            callers.append((role, kind, {"X-API-Key": secret}))
    assert {kind for _, kind, _ in callers} == set(KINDS)
    ApiKey.objects.filter(name="revoked key").update(revoked_at=timezone.now())
    # Otherwise each request would record its use, because those before it were rolled back.
    ApiKey.objects.update(last_used_at=timezone.now(), refused_at=timezone.now())
    User.objects.filter(pk=world.users["deactivated"].pk).update(is_active=False)
    return callers


def status(client: Client, row: Row, ids: dict[str, str], headers: dict[str, str]) -> int:
    """The status of a response; the changes of the request are rolled back."""

    def resolve_names(text: str) -> str:
        for name, value in ids.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    path, body = resolve_names(row.path), resolve_names(json.dumps(row.body or {}))
    with contextlib.nullcontext() if row.method == "GET" else rolled_back():
        return client.generic(row.method, path, body, content_type="application/json", headers=headers).status_code
