"""/api/auth/member-keys: administrators list and revoke the API keys of their organisations' members."""

from typing import Any

import pytest
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken

from accounts.audit.events import AuditEvent
from orgs.creation import add_member
from tests.support.factories import World

pytestmark = pytest.mark.django_db
PATH = "/api/auth/member-keys"


def request(world: World, name: str, method: str = "get", path: str = PATH, **headers: str) -> Any:
    credential = {"Authorization": f"Bearer {AccessToken.for_user(world.users[name])}"}
    return getattr(Client(), method)(path, headers={**credential, **headers})


def test_administrators_list_the_keys_of_members(world: World) -> None:
    key, foreign = world.key("member").key, world.key("foreigner", organization=world.abroad).key
    body = request(world, "admin").json()
    assert [(row["id"], row["user"], row["organization"]) for row in body["keys"]] == [
        (str(key.pk), "member@home.example", "home")
    ]
    assert (body["total"], "key" in body["keys"][0]) == (1, False)
    add_member(user=world.users["admin"], organization=world.abroad, roles=("admin",))
    assert {row["id"] for row in request(world, "admin").json()["keys"]} == {str(key.pk), str(foreign.pk)}
    only_home = request(world, "admin", **{"X-Organization": "home"}).json()
    assert {row["id"] for row in only_home["keys"]} == {str(key.pk)}


def test_an_administrator_revokes_a_members_key(world: World) -> None:
    issued = world.key("member")
    for _ in range(2):
        assert request(world, "admin", "delete", f"{PATH}/{issued.key.pk}").status_code == 204
    refused = Client().get("/api/rag/sources", headers={"X-API-Key": issued.secret})
    assert refused.status_code == 401
    event = AuditEvent.objects.get(action="revoked")
    assert (event.actor_email, event.subject_email) == ("admin@home.example", "member@home.example")


@pytest.mark.parametrize("name", ["member", "editor", "foreigner"])
def test_others_see_and_revoke_no_keys_of_members(world: World, name: str) -> None:
    key = world.key("supporter").key
    assert request(world, name).status_code == 403
    assert request(world, name, "delete", f"{PATH}/{key.pk}").status_code == 403


def test_keys_of_other_organizations_do_not_exist(world: World) -> None:
    key = world.key("foreigner", organization=world.abroad).key
    for path in (f"{PATH}/{key.pk}", f"{PATH}/no-uuid"):
        assert request(world, "admin", "delete", path).status_code == 404
    assert request(world, "admin", **{"X-Organization": "abroad"}).status_code == 403
    key.refresh_from_db()
    assert key.revoked_at is None


def test_a_key_manages_no_keys(world: World) -> None:
    secret, other = world.key("admin").secret, world.key("member").key
    for method, path in (("get", PATH), ("delete", f"{PATH}/{other.pk}")):
        assert getattr(Client(), method)(path, headers={"X-API-Key": secret}).status_code == 403
