"""What a directory should not send is refused."""

from typing import Any

import pytest

from accounts.models import User
from orgs.models import Membership
from tests.orgs.scim.conftest import Directory
from tests.support.factories import World


@pytest.mark.parametrize("query", ["startIndex=--5", "startIndex=-", "count=%C2%B2", "count=5-", "count=1234567890"])
def test_pages_need_integers(directory: Directory, query: str) -> None:
    reply = directory.send("GET", f"/Users?{query}")
    assert (reply.status_code, reply.json()["scimType"]) == (400, "invalidValue")
    assert directory.get("/Users?startIndex=-5&count=-1")["startIndex"] == 1


@pytest.mark.parametrize(
    "values",
    [
        {"userName": "a" * 242 + "@home.example"},
        {"userName": "ceo@other.example,x@home.example"},
        {"userName": "a b@home.example"},
        {"userName": "a@b@home.example"},
        {"userName": '"a@b"@home.example'},
        {"userName": "@home.example"},
        {"displayName": "A\0da"},
        {"name": {"formatted": "A\0da"}},
        {"name": {"givenName": "A\0da", "familyName": "L"}},
        {"name": {"familyName": ["L"]}},
        {"externalId": "\ud800"},
        {"name": {"formatted": "\ud800"}},
    ],
    ids=str,
)
def test_malformed_users_are_refused(directory: Directory, world: World, values: dict[str, Any]) -> None:
    path = f"/Users/{world.users['editor'].memberships.get().pk}"
    for method, target, name in (("POST", "/Users", "ada"), ("PUT", path, "editor")):
        reply = directory.send(method, target, {"userName": f"{name}@home.example", **values})
        assert (reply.status_code, reply.json()["scimType"]) == (400, "invalidValue"), method
    assert (Membership.objects.count(), User.objects.filter(email="editor@home.example").count()) == (6, 1)


def test_malformed_texts_in_filters_are_refused(directory: Directory) -> None:
    for text in ("\\u0000x", "\\ud800"):
        reply = directory.send("GET", f'/Users?filter=userName%20eq%20"{text}"')
        assert (reply.status_code, reply.json()["scimType"]) == (400, "invalidFilter"), text


def test_a_long_filter_is_refused_with_its_limit(directory: Directory) -> None:
    reply = directory.send("POST", "/Users/.search", {"filter": f'userName eq "{"x" * 2000}"'})
    assert (reply.status_code, reply.json()["scimType"]) == (400, "invalidFilter")
    assert "2,000 characters" in reply.json()["detail"]
