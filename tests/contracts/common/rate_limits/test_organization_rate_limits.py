"""Rate limits of an organisation (docs/contracts/limits.md)."""

from collections.abc import Callable

import pytest
from django.test import Client as Browser
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from orgs.api_keys import key_lifecycle
from orgs.creation import add_member
from orgs.policies.organization_rate_limits import requests_per_minute
from tests.contracts.common.rate_limits.rate_limit_helpers import QUERY, create_member, limit_headers, steady_id
from tests.support.factories import World
from tests.support.http import Client

Caller = Callable[..., Client]
pytestmark = pytest.mark.usefixtures("rate_limited")


def test_an_organisation_may_have_its_own_limit(
    caller: Caller, live_server: LiveServer, live_world: World, settings: Settings
) -> None:
    settings.RAG_REQUESTS_PER_MINUTE = settings.RAG_REQUESTS_PER_MINUTE | {"queries": 2}
    live_world.home.queries_per_minute = 3
    live_world.home.save()
    user = create_member(live_world, steady_id(seconds=30))
    client = caller(user=user)
    assert [client.post("/api/rag/search", QUERY).status for _ in range(4)] == [400] * 3 + [429]
    live_world.home.queries_per_minute = 6
    live_world.home.save()
    raised = client.post("/api/rag/search", QUERY)
    assert (raised.status, limit_headers(raised)[:2]) == (400, (6, 1)), "earlier requests still count"
    add_member(user=user, organization=live_world.abroad)
    abroad = key_lifecycle.issue(user=user, organization=live_world.abroad, name="abroad", scopes=["query"])
    key = Client(live_server.url).with_headers(X_API_Key=abroad.secret)
    assert key.post("/functions/v1/rag-search", QUERY).status == 429, "the key's organisation has the default, 2"


def test_which_organisations_limit_applies(world: World) -> None:
    """The named organisation's limit, else the highest of the caller's active organisations."""
    member, field = world.users["member"], "queries_per_minute"

    def limit(named: str = "") -> int:
        return requests_per_minute(member, field, default=60, named=named)

    assert limit() == 60
    world.home.queries_per_minute, world.abroad.queries_per_minute = 10, 90
    world.home.save()
    world.abroad.save()
    assert (limit(), limit("abroad"), limit("nowhere")) == (10, 60, 60)
    membership = add_member(user=member, organization=world.abroad)
    assert (limit(), limit("home"), limit(str(world.abroad.pk).upper())) == (90, 10, 90)
    membership.is_active = False
    membership.save()
    assert limit() == 10


def test_a_header_of_the_api_does_not_change_the_limit_of_a_page(world: World) -> None:
    world.home.queries_per_minute = 1
    world.home.save()
    browser = Browser()
    browser.force_login(create_member(world, steady_id(seconds=30)))
    header = {"X-Organization": "nowhere"}  # the API would refuse the request
    replies = [browser.post("/trace", {"question": "?"}, headers=header) for _ in range(2)]
    assert replies[0].status_code != 429
    assert replies[1].status_code == 429


def test_only_a_superuser_sets_the_limits_of_an_organisation(world: World) -> None:
    page = f"/admin/orgs/organization/{world.home.pk}/change/"
    change = {"name": "Home", "slug": "home", "is_active": "on", "default_visibility": "public"}
    change["query_history"] = "full"
    owner = world.users["owner"]
    for is_superuser, expected in ((False, None), (True, 120)):
        owner.is_staff, owner.is_superuser = True, is_superuser
        owner.save()
        browser = Browser()
        browser.force_login(owner)
        assert b"queries per minute" in browser.get(page).content.lower()
        assert browser.post(page, {**change, "queries_per_minute": "120"}).status_code == 302
        world.home.refresh_from_db()
        assert world.home.queries_per_minute == expected
    assert browser.post(page, {**change, "queries_per_minute": "0"}).status_code == 200
