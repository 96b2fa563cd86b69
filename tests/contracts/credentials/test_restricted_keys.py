"""Keys that are narrowed to sources and networks, and keys that are replaced (docs/contracts/authentication.md)."""

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client as InProcess
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.api_keys import service
from orgs.models import ApiKey
from rag.models import Action, DataSource, IngestionJob
from tests.support.factories import World, ingest_text
from tests.support.http import Client

SOURCES, KEYS, SEARCH = "/api/rag/sources", "/api/auth/keys", "/api/rag/search"
UNKNOWN = "rk_" + "x" * 43


def post(path: str, body: Any, **headers: str) -> Any:
    return InProcess().post(path, body, content_type="application/json", headers=headers)


@pytest.fixture
def animals(world: World) -> dict[str, DataSource]:
    return {source.slug: source for source in steppe(world)}


def steppe(world: World) -> list[DataSource]:
    """Two public sources with a document each."""
    found = [world.source(name) for name in ("zebras", "lions")]
    for source in found:
        ingest_text(source, f"/{source.slug}", f"Animals of the steppe: {source.slug} are seen at dawn.")
    return found


def test_a_key_that_is_restricted_to_sources_knows_no_others(world: World, animals: dict[str, DataSource]) -> None:
    """docs/contracts/authentication.md: "What a key is not restricted to does not exist for it", on every way to it."""
    key = {"X-API-Key": world.key("owner", sources=[animals["zebras"].pk]).secret}
    listed = InProcess().get(SOURCES, headers=key).json()
    assert [source["slug"] for source in listed["sources"]] == ["zebras"]
    question = "Which animals are seen at dawn?"
    found = post(SEARCH, {"query": question}, **key).json()["results"]
    assert {each["metadata"]["source"] for each in found} == {"zebras"}
    asked = post("/agent/respond", {"query": question}, **key)
    assert (asked.status_code, "lions" in asked.content.decode()) == (200, False)
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/documents")):
        hidden, absent = (
            InProcess().generic(method, f"{SOURCES}/{slug}{path}", "{}", content_type="application/json", headers=key)
            for slug in ("lions", "nowhere")
        )
        assert hidden.status_code == absent.status_code == 404
        assert hidden.json()["message"] == absent.json()["message"]
    job = {"dataSourceId": "lions", "documents": [{"text": "x"}]}
    assert post("/api/rag/ingest", job, **key).status_code == 404
    assert IngestionJob.objects.count() == 0


def test_a_stream_is_restricted_as_its_key_is(api: Callable[..., Client], live_world: World) -> None:
    zebras, lions = steppe(live_world)
    client = api().with_headers(X_API_Key=live_world.key("owner", "query", sources=[zebras.pk]).secret)
    chat = {"messages": [{"role": "user", "content": "Which animals are seen at dawn?"}], "useRag": True}
    streamed = str(client.stream("/api/chat", {**chat, "stream": True}))
    assert (zebras.slug in streamed, lions.slug in streamed) == (True, False)


def test_what_was_found_before_is_shown_to_a_restricted_key_as_far_as_it_goes(
    world: World, animals: dict[str, DataSource]
) -> None:
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"}
    searched = post("/api/v1/search", {"query": "animals at dawn"}, **token).json()
    key = {"X-API-Key": world.key("owner", "query", sources=[animals["lions"].pk]).secret}
    again = InProcess().get(f"/api/v1/search/{searched['query_id']}", headers=key)
    assert again.status_code == 200
    assert ("zebras" in again.content.decode(), "lions" in again.content.decode()) == (False, True)


def test_a_restricted_key_continues_what_was_held_within_its_sources(
    world: World, animals: dict[str, DataSource], language_model: Any
) -> None:
    """Earlier turns may tell of any source; a successor is restricted alike, and continues what its key began."""
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"}
    zebras, lions = animals["zebras"].pk, animals["lions"].pk
    narrow, wide, other = (
        {"X-API-Key": world.key("owner", "query", sources=each).secret} for each in ([zebras], [zebras, lions], [lions])
    )

    def chat(caller: dict[str, str], conversation: str = "") -> Any:
        more = {"conversationId": conversation} if conversation else {}
        return post("/api/chat", {"messages": [{"role": "user", "content": "And?"}], **more}, **caller)

    by_token, by_narrow, again = (chat(each).json()["data"]["conversationId"] for each in (token, narrow, narrow))
    unknown = chat(narrow, str(world.home.pk))
    for caller, conversation in ((narrow, by_token), (other, by_narrow)):
        refused = chat(caller, conversation)
        assert (refused.status_code, refused.json()["message"]) == (404, unknown.json()["message"])
    assert [chat(caller, by_narrow).status_code for caller in (narrow, wide, narrow)] == [200, 200, 404]
    assert [chat(caller, again).status_code for caller in (narrow, token, narrow)] == [200, 200, 404]


def test_a_restricted_key_makes_no_sources(world: World) -> None:
    """Neither by POST nor by a first document, and in the same words whether there is one of this name or not."""
    open_to_it = world.source("open")
    world.source("hidden", visibility=Visibility.PRIVATE)
    key = {"X-API-Key": world.key("owner", sources=[open_to_it.pk]).secret}
    refused = post(SOURCES, {"name": "New"}, **key)
    assert (refused.status_code, "restricted to certain data sources" in refused.json()["message"]) == (403, True)
    document = {"path": "/a", "title": "A", "text": "Zebras."}
    replies = [post("/api/rag/ingest", {"source": slug, **document}, **key) for slug in ("new", "hidden")]
    assert [reply.status_code for reply in replies] == [403, 403]
    assert replies[0].json()["message"] == replies[1].json()["message"] == refused.json()["message"]
    assert post("/api/rag/ingest", {"source": "open", **document}, **key).status_code == 200
    assert set(DataSource.objects.values_list("slug", flat=True)) == {"open", "hidden"}


@pytest.mark.parametrize(
    "end", [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}, {"scopes": ["ingest"]}, {"source_ids": []}]
)
def test_what_a_key_allows_is_looked_up_with_every_decision(world: World, end: dict[str, Any]) -> None:
    """Also for whoever got in by it a moment ago, as a stream did: a superuser no less than anybody else."""
    source = world.source()
    User.objects.filter(pk=world.users["owner"].pk).update(is_superuser=True)
    caller = Caller.from_key(world.key("owner", "query", "manage").key)
    assert DataSource.objects.visible_to(caller, Action.QUERY).get() == source
    ApiKey.objects.update(**end)
    for action in (Action.QUERY, Action.MANAGE):
        assert not DataSource.objects.visible_to(caller, action).exists()


@pytest.mark.parametrize(
    ("peer", "forwarded", "trusted", "status"),
    [
        ("203.0.113.9", "", [], 200),
        ("203.0.114.9", "", [], 401),
        ("203.0.114.9", "203.0.113.9", [], 401),  # anybody can send the header
        ("10.0.0.1", "203.0.113.9", ["10.0.0.0/8"], 200),
        ("10.0.0.1", "203.0.113.9, 10.0.0.2", ["10.0.0.0/8"], 200),  # through two proxies
        ("10.0.0.1", "203.0.113.9, 198.51.100.1", ["10.0.0.0/8"], 401),  # sent along by the client
        ("10.0.0.1", "", ["10.0.0.0/8"], 401),
        ("10.0.0.1", "nonsense", ["10.0.0.0/8"], 401),
        ("203.0.113.9", "198.51.100.1", ["10.0.0.0/8"], 200),  # not a proxy: its header is nothing
        ("::ffff:203.0.113.9", "", [], 200),
        ("2001:db8::5", "", [], 200),
        ("2001:db9::5", "", [], 401),
        ("", "", [], 401),
    ],
)
def test_a_key_counts_in_its_networks_alone(
    world: World, settings: Any, peer: str, forwarded: str, trusted: list[str], status: int
) -> None:
    """docs/contracts/authentication.md: from elsewhere it is a 401 as for an unknown key. It is audited."""
    settings.RAG_TRUSTED_PROXIES = trusted
    issued = world.key("editor", networks=["203.0.113.0/24", "2001:db8::/32"])
    more = {"X-Forwarded-For": forwarded} if forwarded else {}
    replies = [
        InProcess().get(SOURCES, headers={"X-API-Key": secret, **more}, REMOTE_ADDR=peer, secure=True)
        for secret in (issued.secret, UNKNOWN)
    ]
    assert (replies[0].status_code, replies[1].status_code) == (status, 401)
    assert (replies[0].content == replies[1].content) == (status == 401)
    issued.key.refresh_from_db()
    assert (issued.key.last_used_at is None) == (status == 401)
    told = AuditEvent.objects.filter(action="refused").values_list("object_label", "after")
    assert list(told) == [(issued.key.prefix, {"reason": "outside_its_networks"})] * (status == 401)


@pytest.fixture
def made_by(world: World) -> Callable[..., Any]:
    """POST to a path below the keys' with that user's access token."""

    def make(name: str, body: Any, path: str = "") -> Any:
        return post(KEYS + path, body, Authorization=f"Bearer {AccessToken.for_user(world.users[name])}")

    return make


def test_a_key_is_restricted_to_what_its_maker_sees(world: World, made_by: Callable[..., Any]) -> None:
    by_slug, by_id = world.source("one"), world.source("two")
    hidden = world.source("hidden", visibility=Visibility.PRIVATE)
    foreign = world.source("foreign", organization=world.abroad)
    body = {"name": "narrow", "scopes": ["query"], "networks": ["203.0.113.0/24", "2001:db8::1"]}
    made = made_by("member", {**body, "sources": ["one", str(by_id.pk), "one"]})
    assert made.status_code == 201, made.content
    assert made.json()["sources"] == [str(by_slug.pk), str(by_id.pk)]
    assert made.json()["networks"] == ["203.0.113.0/24", "2001:db8::1/128"]
    messages = set()
    for reference in ("hidden", str(hidden.pk), "foreign", str(foreign.pk), "nowhere", "no/slug"):
        refused = made_by("member", {**body, "sources": ["one", reference]})
        assert (refused.status_code, refused.json()["details"]["field"]) == (400, "sources")
        messages.add(refused.json()["message"])
    assert len(messages) == 1, "unseen and absent in the same words"
    wrong: list[tuple[str, Any]] = [
        ("sources", []), ("sources", ["one"] * 101), ("sources", "one"), ("networks", []),
        ("networks", ["10.0.0.0/8"] * 21), ("networks", ["203.0.113.7/24"]), ("networks", ["everywhere"]),
        ("networks", [1]),
    ]  # fmt: skip
    for field, value in wrong:
        refused = made_by("member", {**body, field: value})
        named = refused.json()["details"]["field"].partition("[")[0]
        assert (refused.status_code, named) == (400, field), (field, value)
    assert ApiKey.objects.count() == 1


def test_a_replaced_key_lives_through_the_overlap(world: World, made_by: Callable[..., Any]) -> None:
    """docs/contracts/authentication.md: the successor may do the same, for as long; the key ends after the overlap."""
    source, lifetime = world.source(), timedelta(days=90)
    wanted: dict[str, Any] = {"sources": [source.pk], "networks": ["127.0.0.0/8"], "name": "n8n"}
    old = world.key("editor", "query", "ingest", expires_at=timezone.now() + lifetime, **wanted)
    reply = made_by("editor", {"overlap_hours": 2}, f"/{old.key.pk}/rotate")
    assert (reply.status_code, reply["Cache-Control"]) == (201, "no-store")
    told = reply.json()
    new = ApiKey.objects.get(pk=told["id"])
    for field in ("user", "organization", "name", "scopes", "source_ids", "networks"):
        assert getattr(new, field) == getattr(old.key, field), field
    assert_about(new.expires_at, lifetime)
    for secret in (old.secret, told["key"]):
        assert InProcess().get(SOURCES, headers={"X-API-Key": secret}).status_code == 200
    old.key.refresh_from_db()
    assert_about(old.key.expires_at, timedelta(hours=2))
    again = made_by("editor", {}, f"/{old.key.pk}/rotate")
    old.key.refresh_from_db()
    assert_about(old.key.expires_at, timedelta(hours=2))  # never later than it was
    assert_about(datetime.fromisoformat(again.json()["expires_at"]), lifetime)


def assert_about(moment: datetime | None, distance: timedelta) -> None:
    assert moment is not None
    assert abs(moment - timezone.now() - distance) < timedelta(minutes=1)


def test_a_key_without_an_end_is_replaced_by_such_a_key_at_once_or_in_a_day(
    world: World, made_by: Callable[..., Any]
) -> None:
    for body, overlap in (({}, timedelta(hours=24)), ({"overlap_hours": 0}, timedelta())):
        old = world.key("editor")
        reply = made_by("editor", body, f"/{old.key.pk}/rotate/")
        assert (reply.status_code, reply.json()["expires_at"]) == (201, None)
        old.key.refresh_from_db()
        assert_about(old.key.expires_at, overlap)
        used = InProcess().get(SOURCES, headers={"X-API-Key": old.secret})
        assert used.status_code == (200 if overlap else 401)


def test_what_is_spent_or_not_ones_own_is_not_replaced(world: World, made_by: Callable[..., Any]) -> None:
    revoked, expired, foreign = world.key("editor").key, world.key("editor").key, world.key("owner").key
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    statuses = [made_by("editor", {}, f"/{key.pk}/rotate").status_code for key in (revoked, expired, foreign)]
    assert statuses == [400, 400, 404]
    for hours in (-1, 721, "24", None):
        refused = made_by("owner", {"overlap_hours": hours}, f"/{foreign.pk}/rotate")
        assert (refused.status_code, refused.json()["details"]["field"]) == (400, "overlap_hours")
    assert ApiKey.objects.count() == 3


def test_the_limit_of_live_keys_holds_for_replacing_too(
    world: World, made_by: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MAX_LIVE_KEYS", 1)
    key = world.key("editor").key
    assert made_by("editor", {}, f"/{key.pk}/rotate").status_code == 400
    key.refresh_from_db()
    assert key.expires_at is None, "nothing was changed"
    assert made_by("editor", {"overlap_hours": 0}, f"/{key.pk}/rotate").status_code == 201


def test_no_secret_is_in_a_log_an_error_or_a_page_of_the_admin(
    world: World, made_by: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """docs/contracts/authentication.md: a key is told once, to whoever made it."""
    caplog.set_level(logging.DEBUG)
    first = made_by("owner", {"name": "first", "scopes": ["query"], "networks": ["203.0.113.0/24"]}).json()
    second = made_by("owner", {}, f"/{first['id']}/rotate").json()
    User.objects.filter(pk=world.users["owner"].pk).update(is_staff=True)
    admin, page = InProcess(), "/admin/orgs/apikey/"
    admin.force_login(User.objects.get(pk=world.users["owner"].pk))
    told = []
    for secret in (first["key"], second["key"]):
        told.append(made_by("owner", {"name": secret * 3, "scopes": [secret]}))
        told.append(made_by("owner", {"overlap_hours": secret}, f"/{first['id']}/rotate"))
        told += [InProcess().get(SOURCES, headers={"X-API-Key": each}) for each in (secret, secret + "x")]
    told += [admin.get(page), *(admin.get(f"{page}{key['id']}/change/") for key in (first, second))]
    for action in ("end_after_overlap", "revoke"):
        chosen = {"action": action, "_selected_action": [first["id"], second["id"]]}
        told.append(admin.post(page, chosen, follow=True))
    told += [admin.get(f"{page}{first['id']}/history/"), admin.get("/admin/")]
    written = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "request_finished" in written, "the log was captured"
    assert "203.0.113.0/24" in told[-6].content.decode(), "the page was seen"
    for secret in (first["key"], second["key"]):
        parts = (secret[11:], service._hash(secret))
        assert not any(part in text for part in parts for text in (written, *(each.content.decode() for each in told)))
    assert json.dumps(second).count(second["key"][11:]) == 1
    assert {key.state for key in ApiKey.objects.all()} == {"revoked"}
