"""A key acts in its own organisation only, unless it is created for all (docs/contracts/authentication.md)."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as InProcess
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from orgs.creation import add_member
from orgs.models import ApiKey
from rag.models import DataSource
from tests.support.factories import World, ingest_text

SOURCES, SEARCH, CHAT = "/api/rag/sources", "/api/rag/search", "/api/chat"


@pytest.fixture
def sources(world: World) -> dict[str, DataSource]:
    """A source in each of the two organisations, in both of which the editor is an owner."""
    add_member(user=world.users["editor"], organization=world.home, roles=("owner",))
    add_member(user=world.users["editor"], organization=world.abroad, roles=("owner",))
    sources = {"near": world.source("near"), "far": world.source("far", organization=world.abroad)}
    for name, source in sources.items():
        ingest_text(source, "/a", f"Animals are seen {name}.")
    return sources


def call(method: str, path: str, body: Any = None, **headers: str) -> Any:
    return InProcess().generic(method, path, body or "{}", content_type="application/json", headers=headers)


def post(path: str, body: Any, **headers: str) -> Any:
    return InProcess().post(path, body, content_type="application/json", headers=headers)


@pytest.mark.parametrize("is_superuser", [False, True])
def test_other_organisations_do_not_exist_for_a_key(
    world: World, sources: dict[str, DataSource], is_superuser: bool
) -> None:
    """Neither for reading nor for writing; even for the key of a superuser, who manages all data sources."""
    User.objects.filter(pk=world.users["editor"].pk).update(is_superuser=is_superuser)
    key = {"X-API-Key": world.key("editor").secret}
    listed = call("GET", SOURCES, **key).json()["sources"]
    assert [source["slug"] for source in listed] == ["near"]
    results = post(SEARCH, {"query": "Which animals are seen?"}, **key).json()["results"]
    assert {result["metadata"]["source"] for result in results} == {"near"}
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/documents")):
        assert call(method, f"{SOURCES}/{sources['far'].pk}{path}", **key).status_code == 404, (method, path)
    named = post(SEARCH, {"query": "animals"}, **key, **{"X-Organization": "abroad"})
    assert named.status_code == 400
    assert "names none of your organisations (home)" in named.json()["message"]
    assert post(SEARCH, {"query": "animals"}, **key, **{"X-Organization": "home"}).status_code == 200


def test_a_key_continues_only_conversations_of_its_organisation(
    world: World, sources: dict[str, DataSource], language_model: Any
) -> None:
    """Earlier turns may quote sources of any organisation that their credential could read."""
    token = {"Authorization": f"Bearer {AccessToken.for_user(world.users['editor'])}"}
    home, everywhere = (
        {"X-API-Key": world.key("editor", "query", all_organizations=value).secret} for value in (False, True)
    )
    abroad = {"X-API-Key": world.key("editor", "query", organization=world.abroad).secret}

    def chat(caller: dict[str, str], conversation: str = "") -> Any:
        more = {"conversationId": conversation} if conversation else {}
        return post(CHAT, {"messages": [{"role": "user", "content": "And?"}], **more}, **caller)

    by_token, by_key = (chat(caller).json()["data"]["conversationId"] for caller in (token, home))
    assert [chat(caller, by_token).status_code for caller in (home, abroad, everywhere)] == [404, 404, 200]
    assert [chat(caller, by_key).status_code for caller in (abroad, home, everywhere, home)] == [404, 200, 200, 404]


def test_a_key_is_created_for_all_organisations_on_request(world: World, post_as: Callable[..., Any]) -> None:
    """The key's successor is for all organisations, too."""
    body = {"name": "n8n", "scopes": ["query"]}
    narrow, wide = post_as("editor", body), post_as("editor", {**body, "all_organizations": True})
    assert [reply.json()["all_organizations"] for reply in (narrow, wide)] == [False, True]
    successors = [post_as("editor", {}, f"/{reply.json()['id']}/rotate").json() for reply in (narrow, wide)]
    assert [successor["all_organizations"] for successor in successors] == [False, True]
    assert post_as("editor", {**body, "all_organizations": "yes"}).status_code == 400


def test_administrators_see_and_revoke_the_keys_of_their_organisation(world: World) -> None:
    """Not those of another organisation, even if the key's user is a member of both."""
    add_member(user=world.users["editor"], organization=world.abroad, roles=("editor",))
    add_member(user=world.users["foreigner"], organization=world.abroad, roles=("owner",))
    User.objects.filter(pk__in=[world.users["owner"].pk, world.users["foreigner"].pk]).update(is_staff=True)
    key = world.key("editor").key
    page = "/admin/orgs/apikey/"
    for name, is_administrator in (("foreigner", False), ("owner", True)):
        admin = InProcess()
        admin.force_login(User.objects.get(pk=world.users[name].pk))
        assert (key.prefix in admin.get(page).content.decode()) == is_administrator, name
        admin.post(page, {"action": "revoke", "confirmed": "yes", "_selected_action": [str(key.pk)]})
        assert ApiKey.objects.get(pk=key.pk).state == ("revoked" if is_administrator else "active")
