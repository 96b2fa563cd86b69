"""/api/auth/keys/{id}/rotate: replacing an API key (docs/contracts/authentication.md)."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client as InProcess
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from orgs.api_keys import key_lifecycle
from orgs.models import ApiKey, Membership, Organization
from tests.support.browsers import browser
from tests.support.factories import World

SOURCES = "/api/rag/sources"


def test_a_rotated_key_works_until_the_overlap_ends(world: World, post_as: Callable[..., Any]) -> None:
    """docs/contracts/authentication.md: the new key has the same permissions and lifetime, the old one ends later."""
    source, lifetime = world.source(), timedelta(days=90)
    fields: dict[str, Any] = {"sources": [source.pk], "networks": ["127.0.0.0/8"], "name": "n8n"}
    old = world.key("editor", "query", "ingest", expires_at=timezone.now() + lifetime, **fields)
    reply = post_as("editor", {"overlap_hours": 2}, f"/{old.key.pk}/rotate")
    assert (reply.status_code, reply["Cache-Control"]) == (201, "no-store")
    body = reply.json()
    new = ApiKey.objects.get(pk=body["id"])
    for field in ("user", "organization", "name", "scopes", "source_ids", "networks"):
        assert getattr(new, field) == getattr(old.key, field), field
    assert_in(lifetime, new.expires_at)
    for secret in (old.secret, body["key"]):
        assert InProcess().get(SOURCES, headers={"X-API-Key": secret}).status_code == 200
    old.key.refresh_from_db()
    assert_in(timedelta(hours=2), old.key.expires_at)
    second_reply = post_as("editor", {}, f"/{old.key.pk}/rotate")
    old.key.refresh_from_db()
    assert_in(timedelta(hours=2), old.key.expires_at)  # the end is never postponed
    assert_in(lifetime, datetime.fromisoformat(second_reply.json()["expires_at"]))


def test_a_key_that_lasts_until_the_end_of_time_is_rotated(world: World, post_as: Callable[..., Any]) -> None:
    """The same lifetime, begun a moment later, would end after the last time that there is."""
    end_of_time = "9999-12-31T23:59:59.999999Z"
    created = post_as("editor", {"name": "n8n", "scopes": ["query"], "expires_at": end_of_time}).json()
    reply = post_as("editor", {}, f"/{created['id']}/rotate")
    assert (reply.status_code, reply.json()["expires_at"]) == (201, end_of_time)


def assert_in(duration: timedelta, moment: datetime | None) -> None:
    assert moment is not None
    assert abs(moment - timezone.now() - duration) < timedelta(minutes=1)


def test_rotating_a_key_without_expiry(world: World, post_as: Callable[..., Any]) -> None:
    for body, overlap in (({}, timedelta(hours=24)), ({"overlap_hours": 0}, timedelta())):
        old = world.key("editor")
        rotated = post_as("editor", body, f"/{old.key.pk}/rotate/")
        assert (rotated.status_code, rotated.json()["expires_at"]) == (201, None)
        old.key.refresh_from_db()
        assert_in(overlap, old.key.expires_at)
        reply = InProcess().get(SOURCES, headers={"X-API-Key": old.secret})
        assert reply.status_code == (200 if overlap else 401)


def test_only_ones_own_usable_keys_are_rotated(world: World, post_as: Callable[..., Any]) -> None:
    revoked, expired, foreign = world.key("editor").key, world.key("editor").key, world.key("owner").key
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=timezone.now())
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
    statuses = [post_as("editor", {}, f"/{key.pk}/rotate").status_code for key in (revoked, expired, foreign)]
    assert statuses == [409, 409, 404]
    for hours in (-1, 721, "24", None):
        refused = post_as("owner", {"overlap_hours": hours}, f"/{foreign.pk}/rotate")
        assert (refused.status_code, refused.json()["details"]["field"]) == (400, "overlap_hours")
    assert ApiKey.objects.count() == 3


@pytest.mark.parametrize(
    "close",
    [
        lambda world: Membership.objects.filter(user=world.users["editor"]).update(is_active=False),
        lambda world: Membership.objects.filter(user=world.users["editor"]).delete(),
        lambda world: Organization.objects.filter(pk=world.home.pk).update(is_active=False),
    ],
    ids=["deactivated member", "former member", "closed organisation"],
)
@pytest.mark.parametrize("by_page", [True, False])
def test_the_key_of_a_closed_organisation_is_revoked_and_not_rotated(
    world: World, post_as: Callable[..., Any], close: Callable[[World], object], by_page: bool
) -> None:
    """The key works again if the organisation is opened. Its user could not revoke it: both were a 500."""
    key, user = world.key("editor").key, world.users["editor"]
    token = {"Authorization": f"Bearer {AccessToken.for_user(user)}"}
    close(world)
    assert post_as("editor", {}, f"/{key.pk}/rotate").status_code == 409
    listed = InProcess().get("/api/auth/keys", headers=token).json()
    assert listed["total"] == len(listed["keys"])
    if by_page:
        assert browser(user).post(f"/account/keys/{key.pk}/revoke").status_code == 302
    else:
        assert InProcess().delete(f"/api/auth/keys/{key.pk}", headers=token).status_code == 204
    key.refresh_from_db()
    assert key.revoked_at


def test_the_limit_of_live_keys_applies_to_rotation(
    world: World, post_as: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_lifecycle, "MAX_LIVE_KEYS", 1)
    key = world.key("editor").key
    assert post_as("editor", {}, f"/{key.pk}/rotate").status_code == 409
    key.refresh_from_db()
    assert key.expires_at is None, "nothing was changed"
    assert post_as("editor", {"overlap_hours": 0}, f"/{key.pk}/rotate").status_code == 201
