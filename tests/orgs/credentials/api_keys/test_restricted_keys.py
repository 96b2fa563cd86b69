"""Keys that are restricted to sources and networks (docs/contracts/authentication.md)."""

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as InProcess
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import ApiKey
from rag.models import Action, DataSource, IngestionJob
from ragsite.postgres.credential_fields import hash_secret
from tests.support.factories import World, ingest_text
from tests.support.http import Client, without_request_id

SOURCES, SEARCH = "/api/rag/sources", "/api/rag/search"
UNKNOWN = "rk_" + "x" * 43


def post(path: str, body: Any, **headers: str) -> Any:
    return InProcess().post(path, body, content_type="application/json", headers=headers)


@pytest.fixture
def animals(world: World) -> dict[str, DataSource]:
    return {source.slug: source for source in create_animals(world)}


def create_animals(world: World) -> list[DataSource]:
    """Two public sources with a document each."""
    sources = [world.source(name) for name in ("zebras", "lions")]
    for source in sources:
        ingest_text(source, f"/{source.slug}", f"Animals of the steppe: {source.slug} are seen at dawn.")
    return sources


def test_other_sources_do_not_exist_for_a_restricted_key(world: World, animals: dict[str, DataSource]) -> None:
    """docs/contracts/authentication.md: "What a key is not restricted to does not exist for it", on every path."""
    key = {"X-API-Key": world.key("owner", sources=[animals["zebras"].pk]).secret}
    listed = InProcess().get(SOURCES, headers=key).json()
    assert [source["slug"] for source in listed["sources"]] == ["zebras"]
    question = "Which animals are seen at dawn?"
    results = post(SEARCH, {"query": question}, **key).json()["results"]
    assert {result["metadata"]["source"] for result in results} == {"zebras"}
    answer = post("/agent/respond", {"query": question}, **key)
    assert (answer.status_code, "lions" in answer.content.decode()) == (200, False)
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


def test_a_stream_is_restricted_like_its_key(api: Callable[..., Client], live_world: World) -> None:
    zebras, lions = create_animals(live_world)
    client = api().with_headers(X_API_Key=live_world.key("owner", "query", sources=[zebras.pk]).secret)
    chat = {"messages": [{"role": "user", "content": "Which animals are seen at dawn?"}], "useRag": True}
    streamed = str(client.stream("/api/chat", {**chat, "stream": True}))
    assert (zebras.slug in streamed, lions.slug in streamed) == (True, False)


def test_stored_results_are_limited_to_the_keys_sources(world: World, animals: dict[str, DataSource]) -> None:
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"}
    searched = post("/api/v1/search", {"query": "animals at dawn"}, **token).json()
    key = {"X-API-Key": world.key("owner", "query", sources=[animals["lions"].pk]).secret}
    reply = InProcess().get(f"/api/v1/search/{searched['query_id']}", headers=key)
    assert reply.status_code == 200
    assert ("zebras" in reply.content.decode(), "lions" in reply.content.decode()) == (False, True)


def test_a_restricted_key_continues_only_conversations_of_its_sources(
    world: World, animals: dict[str, DataSource], language_model: Any
) -> None:
    """Earlier turns may quote any source, so all of them must have been limited to sources of the key."""
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['owner'])}"}
    zebras, lions = animals["zebras"].pk, animals["lions"].pk
    narrow, wide, other = (
        {"X-API-Key": world.key("owner", "query", sources=sources).secret}
        for sources in ([zebras], [zebras, lions], [lions])
    )

    def chat(caller: dict[str, str], conversation: str = "") -> Any:
        more = {"conversationId": conversation} if conversation else {}
        return post("/api/chat", {"messages": [{"role": "user", "content": "And?"}], **more}, **caller)

    by_token, by_narrow, by_narrow_too = (
        chat(caller).json()["data"]["conversationId"] for caller in (token, narrow, narrow)
    )
    unknown = chat(narrow, str(world.home.pk))
    for caller, conversation in ((narrow, by_token), (other, by_narrow)):
        refused = chat(caller, conversation)
        assert (refused.status_code, refused.json()["message"]) == (404, unknown.json()["message"])
    assert [chat(caller, by_narrow).status_code for caller in (narrow, wide, narrow)] == [200, 200, 404]
    assert [chat(caller, by_narrow_too).status_code for caller in (narrow, token, narrow)] == [200, 200, 404]


def test_a_restricted_key_cannot_create_sources(world: World) -> None:
    """Neither by POST nor with a first document. The message is the same whether or not the source exists."""
    open_source = world.source("open")
    world.source("hidden", visibility=Visibility.PRIVATE)
    key = {"X-API-Key": world.key("owner", sources=[open_source.pk]).secret}
    refused = post(SOURCES, {"name": "New"}, **key)
    assert (refused.status_code, "restricted to certain data sources" in refused.json()["message"]) == (403, True)
    document = {"path": "/a", "title": "A", "text": "Zebras."}
    replies = [post("/api/rag/ingest", {"source": slug, **document}, **key) for slug in ("new", "hidden")]
    assert [reply.status_code for reply in replies] == [403, 403]
    assert replies[0].json()["message"] == replies[1].json()["message"] == refused.json()["message"]
    assert post("/api/rag/ingest", {"source": "open", **document}, **key).status_code == 200
    assert set(DataSource.objects.values_list("slug", flat=True)) == {"open", "hidden"}


@pytest.mark.parametrize(
    "change",
    [{"revoked_at": timezone.now()}, {"expires_at": timezone.now()}, {"scopes": ["ingest"]}, {"source_ids": []}],
)
def test_changes_of_a_key_take_effect_immediately(world: World, change: dict[str, Any]) -> None:
    """Also for requests that have already been authenticated, such as streams, and for superusers."""
    source = world.source()
    User.objects.filter(pk=world.users["owner"].pk).update(is_superuser=True)
    caller = Caller.from_key(world.key("owner", "query", "manage").key)
    assert DataSource.objects.visible_to(caller, Action.QUERY).get() == source
    ApiKey.objects.update(**change)
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
        ("10.0.0.1", "203.0.113.9, 198.51.100.1", ["10.0.0.0/8"], 401),  # the first entry was sent by the client
        ("10.0.0.1", "", ["10.0.0.0/8"], 401),
        ("10.0.0.1", "nonsense", ["10.0.0.0/8"], 401),
        ("203.0.113.9", "198.51.100.1", ["10.0.0.0/8"], 200),  # not a proxy: the header is ignored
        ("::ffff:203.0.113.9", "", [], 200),
        ("2001:db8::5", "", [], 200),
        ("2001:db9::5", "", [], 401),
        ("", "", [], 401),
    ],
)
def test_a_key_works_only_in_its_networks(
    world: World, settings: Any, peer: str, forwarded: str, trusted: list[str], status: int
) -> None:
    """docs/contracts/authentication.md: outside its networks a key is a 401, like an unknown key, and audited."""
    settings.RAG_TRUSTED_PROXIES = trusted
    issued = world.key("editor", networks=["203.0.113.0/24", "2001:db8::/32"])
    forwarding = {"X-Forwarded-For": forwarded} if forwarded else {}
    replies = [
        InProcess().get(SOURCES, headers={"X-API-Key": secret, **forwarding}, REMOTE_ADDR=peer, secure=True)
        for secret in (issued.secret, UNKNOWN)
    ]
    assert (replies[0].status_code, replies[1].status_code) == (status, 401)
    if status == 401:
        assert without_request_id(replies[0].json()) == without_request_id(replies[1].json())
    issued.key.refresh_from_db()
    assert (issued.key.last_used_at is None) == (status == 401)
    events = AuditEvent.objects.filter(action="refused").values_list("object_label", "after")
    assert list(events) == [(issued.key.prefix, {"reason": "outside_its_networks"})] * (status == 401)


def test_a_key_is_restricted_to_sources_that_its_creator_sees(world: World, post_as: Callable[..., Any]) -> None:
    by_slug, by_id = world.source("one"), world.source("two")
    hidden = world.source("hidden", visibility=Visibility.PRIVATE)
    foreign = world.source("foreign", organization=world.abroad)
    body = {"name": "narrow", "scopes": ["query"], "networks": ["203.0.113.0/24", "2001:db8::1"]}
    created = post_as("member", {**body, "sources": ["one", str(by_id.pk), "one"]})
    assert created.status_code == 201, created.content
    assert created.json()["sources"] == [str(by_slug.pk), str(by_id.pk)]
    assert created.json()["networks"] == ["203.0.113.0/24", "2001:db8::1/128"]
    messages = set()
    for reference in ("hidden", str(hidden.pk), "foreign", str(foreign.pk), "nowhere", "no/slug"):
        refused = post_as("member", {**body, "sources": ["one", reference]})
        assert (refused.status_code, refused.json()["details"]["field"]) == (400, "sources")
        messages.add(refused.json()["message"])
    assert len(messages) == 1, "hidden and unknown sources get the same message"
    wrong: list[tuple[str, Any]] = [
        ("sources", []), ("sources", ["one"] * 101), ("sources", "one"), ("networks", []),
        ("networks", ["10.0.0.0/8"] * 21), ("networks", ["203.0.113.7/24"]), ("networks", ["everywhere"]),
        ("networks", [1]),
    ]  # fmt: skip
    for field, value in wrong:
        refused = post_as("member", {**body, field: value})
        named = refused.json()["details"]["field"].partition("[")[0]
        assert (refused.status_code, named) == (400, field), (field, value)
    assert ApiKey.objects.count() == 1


def test_no_secret_is_in_logs_errors_or_admin_pages(
    world: World, post_as: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    """docs/contracts/authentication.md: a key is shown once, to the user who created it."""
    caplog.set_level(logging.DEBUG)
    first = post_as("owner", {"name": "first", "scopes": ["query"], "networks": ["203.0.113.0/24"]}).json()
    second = post_as("owner", {}, f"/{first['id']}/rotate").json()
    User.objects.filter(pk=world.users["owner"].pk).update(is_staff=True)
    admin, page = InProcess(), "/admin/orgs/apikey/"
    admin.force_login(User.objects.get(pk=world.users["owner"].pk))
    replies = []
    for secret in (first["key"], second["key"]):
        replies.append(post_as("owner", {"name": secret * 3, "scopes": [secret]}))
        replies.append(post_as("owner", {"overlap_hours": secret}, f"/{first['id']}/rotate"))
        replies += [InProcess().get(SOURCES, headers={"X-API-Key": value}) for value in (secret, secret + "x")]
    replies += [admin.get(page), *(admin.get(f"{page}{key['id']}/change/") for key in (first, second))]
    for action in ("expire_in_24_hours", "revoke"):
        form = {"action": action, "_selected_action": [first["id"], second["id"]], "confirmed": "yes"}
        replies.append(admin.post(page, form, follow=True))
    replies += [admin.get(f"{page}{first['id']}/history/"), admin.get("/admin/")]
    log_text = caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert "request_finished" in log_text, "the log was captured"
    assert "203.0.113.0/24" in replies[-6].content.decode(), "the admin page was rendered"
    for secret in (first["key"], second["key"]):
        parts = (secret[11:], hash_secret(secret))
        texts = (log_text, *(reply.content.decode() for reply in replies))
        assert not any(part in text for part in parts for text in texts)
    assert json.dumps(second).count(second["key"][11:]) == 1
    assert {key.state for key in ApiKey.objects.all()} == {"revoked"}
