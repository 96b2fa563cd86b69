"""/api/auth/keys: creating, listing and revoking API keys (shared rules, "Who is calling")."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core import serializers
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from orgs.api_keys import key_lifecycle
from orgs.creation import add_member
from orgs.models import ApiKey, Membership
from tests.support.checks import snapshots
from tests.support.factories import World
from tests.support.http import Client, without_request_id

Api = Callable[..., Client]
KEYS = "/api/auth/keys"
BODY = {"name": "n8n", "scopes": ["query", "ingest"]}


@pytest.fixture
def as_user(api: Api, live_world: World) -> Api:
    """A client with that user's access token."""
    return lambda name: api().with_headers(Authorization=f"Bearer {AccessToken.for_user(live_world.users[name])}")


def test_a_key_is_shown_once_and_stored_only_hashed(as_user: Api) -> None:
    """Shared rules: "it is shown once and stored only hashed"."""
    editor = as_user("editor")
    created = editor.post(KEYS, BODY)
    assert created.status == 201
    assert set(created.body) == {
        "id", "key", "name", "prefix", "scopes", "organization", "all_organizations", "sources", "networks",
        "expires_at", "created_at",
    }  # fmt: skip
    assert created.headers["cache-control"] == "no-store"
    secret = created.body["key"]
    assert re.fullmatch(r"rk_[A-Za-z0-9_-]{43}", secret), "256 random bits"
    assert created.body["prefix"] == secret[:11]
    assert (created.body["scopes"], created.body["organization"], created.body["expires_at"]) == (
        BODY["scopes"],
        "home",
        None,
    )
    snapshots.assert_matches("api-key", {**created.body, "key": "rk_…", "prefix": "rk_…"})
    assert secret[11:] not in str(editor.get(KEYS + "/").body)
    assert secret[11:] not in serializers.serialize("json", ApiKey.objects.all())
    assert secret[11:] not in repr(key_lifecycle.IssuedKey(ApiKey.objects.get(), secret))


def test_keys_are_listed_with_their_use_and_their_end(as_user: Api) -> None:
    editor = as_user("editor")
    editor.post(KEYS, BODY)
    listed = editor.get(KEYS + "/")
    keys = [{**key, "prefix": "rk_…"} for key in listed.body["keys"]]
    snapshots.assert_matches("api-keys", {**listed.body, "keys": keys})
    assert set(listed.body) == {"keys", "page", "page_size", "total"}
    assert set(listed.body["keys"][0]) == {
        "id", "name", "prefix", "scopes", "organization", "all_organizations", "sources", "networks", "expires_at",
        "created_at", "last_used_at", "revoked_at", "flagged_at",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": None}, "name"), ({"name": 5}, "name"), ({"name": "  "}, "name"), ({"name": "x" * 101}, "name"),
        ({"name": "a\x00b"}, "name"), ({"scopes": None}, "scopes"), ({"scopes": []}, "scopes"),
        ({"scopes": "query"}, "scopes"), ({"scopes": ["query"] * 11}, "scopes"), ({"scopes": ["admin"]}, "scopes[0]"),
        ({"scopes": ["query", 1]}, "scopes[1]"), ({"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_at": "soon"}, "expires_at"), ({"expires_at": 4102444800}, "expires_at"),
        ({"expires_at": "9999-12-31T23:59:59-23:59"}, "expires_at"), ({"organization": "abroad"}, "organization"),
        ({"organization": 1}, "organization"), ({"organization": ""}, "organization"),
    ],
)  # fmt: skip
def test_invalid_fields_are_named(as_user: Api, change: dict[str, Any], field: str) -> None:
    reply = as_user("editor").post(KEYS, {**BODY, **change})
    assert (reply.status, reply.body["error"], reply.body["details"].get("field")) == (400, "Validation error", field)
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'"x"', b"{}"])
def test_invalid_bodies_are_rejected(as_user: Api, body: bytes) -> None:
    assert as_user("editor").post(KEYS, body).status == 400


def test_repeated_scopes_are_merged_and_the_expiry_is_stored(as_user: Api) -> None:
    expires_at = timezone.now() + timedelta(days=1)
    body = {**BODY, "scopes": ["query", "query"], "expires_at": expires_at.isoformat(), "unknown": 1}
    reply = as_user("editor").post(KEYS, body)
    assert (reply.status, reply.body["scopes"]) == (201, ["query"])
    assert ApiKey.objects.get().expires_at == expires_at
    assert as_user("editor").post(KEYS, {**BODY, "expires_at": None}).status == 201


def test_the_organisation_of_a_key(as_user: Api, live_world: World) -> None:
    """The body names it, or else the header; or it is the user's only one. Otherwise a 400 names the choices."""
    add_member(user=live_world.users["editor"], organization=live_world.abroad)
    editor = as_user("editor")
    undecided = editor.post(KEYS, BODY)
    assert (undecided.status, undecided.body["details"]["field"]) == (400, "X-Organization")
    assert "abroad" in undecided.body["message"]
    assert "home" in undecided.body["message"]
    by_header = editor.with_headers(X_Organization="abroad").post(KEYS, BODY)
    assert by_header.body["organization"] == "abroad"
    both = editor.with_headers(X_Organization="abroad")
    assert both.post(KEYS, {**BODY, "organization": str(live_world.home.pk)}).body["organization"] == "home"
    Membership.objects.filter(user=live_world.users["editor"]).update(is_active=False)
    assert editor.post(KEYS, BODY).status == 403


def test_keys_are_managed_with_an_access_token_only(api: Api, live_world: World) -> None:
    """A key that could create keys could extend its own permissions."""
    issued = live_world.key("owner")
    client = api().with_headers(X_API_Key=issued.secret)
    for reply in (
        client.get(KEYS),
        client.post(KEYS, BODY),
        client.send("DELETE", f"{KEYS}/{issued.key.pk}"),
    ):
        assert reply.status == 403
        assert "access token" in reply.body["message"]
    assert ApiKey.objects.get().revoked_at is None
    anonymous = api().get(KEYS)
    assert (anonymous.status, anonymous.headers["www-authenticate"]) == (401, 'Bearer realm="api"')


def test_revoking_is_final_and_only_for_the_owner(api: Api, as_user: Api, live_world: World) -> None:
    issued = live_world.key("editor")
    address = f"{KEYS}/{issued.key.pk}"
    with_key = api().with_headers(X_API_Key=issued.secret)
    assert with_key.get("/api/rag/sources").status == 200
    foreign, unknown, malformed = (
        as_user("owner").send("DELETE", path) for path in (address, f"{KEYS}/{live_world.home.pk}", f"{KEYS}/x")
    )
    assert foreign.status == unknown.status == malformed.status == 404
    bodies = [without_request_id(reply.body) for reply in (foreign, unknown, malformed)]
    assert bodies == [bodies[0]] * 3
    assert with_key.get("/api/rag/sources").status == 200
    first = as_user("editor").send("DELETE", address)
    assert (first.status, first.body) == (204, None)
    revoked_at = ApiKey.objects.get().revoked_at
    assert as_user("editor").send("DELETE", address + "/").status == 204
    assert ApiKey.objects.get().revoked_at == revoked_at
    assert with_key.get("/api/rag/sources").status == 401


def test_users_list_their_own_keys_in_pages(as_user: Api, live_world: World) -> None:
    for name in ("first", "second", "third"):
        live_world.key("editor", name=name)
    live_world.key("owner", name="foreign")
    reply = as_user("editor").get(f"{KEYS}?page=2&page_size=2")
    assert [key["name"] for key in reply.body["keys"]] == ["first"], "newest first"
    assert {name: reply.body[name] for name in ("page", "page_size", "total")} == {
        "page": 2, "page_size": 2, "total": 3,
    }  # fmt: skip
    wrong = as_user("editor").get(f"{KEYS}?page_size=1000")
    assert (wrong.status, wrong.body["details"]["field"]) == (400, "page_size")


def test_at_most_100_live_keys_even_with_concurrent_requests(as_user: Api, live_world: World) -> None:
    issued = [live_world.key("editor", "query", name=str(number)) for number in range(99)]
    editor = as_user("editor")
    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(lambda _: editor.post(KEYS, BODY).status, range(4)))
    assert statuses == [201, 409, 409, 409]
    assert editor.send("DELETE", f"{KEYS}/{issued[0].key.pk}").status == 204
    assert editor.post(KEYS, BODY).status == 201, "revoked keys do not count"
