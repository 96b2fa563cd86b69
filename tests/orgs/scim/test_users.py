"""SCIM users: created, found, changed as Entra ID and Okta do, deactivated, deleted."""

import re
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from accounts.sign_in import refresh_tokens
from orgs.access.caller import Caller
from orgs.creation import add_member
from orgs.models import Membership, ScimToken, ScimUser
from rag.errors import AccessEnded
from rag.services.access.access_rechecks import require_access
from tests.orgs.scim.conftest import BASE, Directory, connect
from tests.support.factories import PASSWORD, World

ADA = {
    "userName": "Ada@home.example",
    "externalId": "e1",
    "name": {"givenName": "Ada", "familyName": "Lovelace"},
    "emails": [{"value": "ada@home.example", "type": "work", "primary": True}],
    "active": True,
}


def path_of(world: World, name: str) -> str:
    return f"/Users/{world.users[name].memberships.get().pk}"


def test_a_user_is_created_found_and_deleted(directory: Directory, world: World) -> None:
    created = directory.create("User", **ADA)
    assert (created["userName"], created["displayName"], created["active"]) == (
        "ada@home.example",
        "Ada Lovelace",
        True,
    )
    membership = Membership.objects.get(user__email="ada@home.example")
    assert ([role.name for role in membership.roles.all()], created["id"]) == (["member"], str(membership.pk))
    assert directory.get(f"/Users/{created['id']}") == created
    for text in ('userName eq "ADA@home.example"', 'externalId eq "e1"', 'emails.value co "ada" and active eq true'):
        matches = directory.get("/Users?" + f"filter={text}".replace(" ", "%20"))
        assert (matches["totalResults"], [user["id"] for user in matches["Resources"]]) == (1, [created["id"]]), text
    assert directory.send("POST", "/Users", ADA).json()["scimType"] == "uniqueness"
    assert directory.send("DELETE", f"/Users/{created['id']}").status_code == 204
    assert directory.send("GET", f"/Users/{created['id']}").status_code == 404
    assert User.objects.get(email="ada@home.example").is_active is False
    assert directory.create("User", **ADA)["active"] is True


@pytest.mark.django_db(transaction=True)  # sign-in reads passwords in a connection of its own
def test_a_directory_may_create_somebody_who_is_inactive(live_world: World) -> None:
    directory = connect(live_world.home, "home.example")
    created = directory.create("User", **{**ADA, "active": False})
    user = User.objects.get(email="ada@home.example")
    assert (created["active"], user.is_active, user.memberships.get().is_active) == (False, False, False)
    activated = directory.patch(f"/Users/{created['id']}", {"op": "replace", "path": "active", "value": True})
    assert (activated.json()["active"], User.objects.get(pk=user.pk).is_active) == (True, True)


@pytest.mark.parametrize("name", ["name", "displayName"])
def test_a_name_is_removed(directory: Directory, name: str) -> None:
    path = f"/Users/{directory.create('User', **ADA)['id']}"
    changed = directory.patch(
        path, {"op": "remove", "path": name}, {"op": "replace", "path": "displayName", "value": "A"}
    )
    assert changed.json()["displayName"] == "A", "what is set in the same request stays"
    removed = directory.patch(path, {"op": "remove", "path": name}).json()
    assert {"name", "displayName"} & removed.keys() == set()
    assert User.objects.get(email="ada@home.example").name == ""


def test_a_name_is_stored_as_it_can_be_shown(directory: Directory) -> None:
    """Its controls would direct terminals, and mirror what follows it in the audit trail."""
    body = directory.send("POST", "/Users", {**ADA, "displayName": "Ada\r\n\x1b[31m\u202eLovelace" + "e" * 200}).json()
    assert body["displayName"] == ("Ada [31m Lovelace" + "e" * 200)[:150]


def test_lists_have_pages_and_leave_out_attributes(directory: Directory, world: World) -> None:
    page = directory.get("/Users?startIndex=2&count=2&excludedAttributes=name,groups")
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (5, 2, 2)
    assert "name" not in page["Resources"][0]
    assert set(directory.get("/Users?count=1&attributes=userName")["Resources"][0]) == {"schemas", "id", "userName"}
    assert directory.get("/Users?count=0")["Resources"] == []
    assert directory.get("/Users?startIndex=99")["Resources"] == []
    for query in ("filter=userName", "filter=password%20pr", 'filter=userName%20eq%20"\\x"', "count=x"):
        assert directory.send("GET", f"/Users?{query}").status_code == 400, query


# As recorded in the documentation of Entra ID and Okta.
DEACTIVATIONS: dict[str, dict[str, Any]] = {
    "Entra ID": {"op": "Replace", "path": "active", "value": "False"},
    "Entra ID with the SCIM flag": {"op": "replace", "path": "active", "value": False},
    "Okta": {"op": "replace", "value": {"active": False}},
}


@pytest.mark.parametrize("operation", DEACTIVATIONS.values(), ids=DEACTIVATIONS)
def test_a_deactivated_user_loses_everything_at_once(
    directory: Directory, world: World, operation: dict[str, Any]
) -> None:
    user = world.users["editor"]
    browser = Client()
    browser.force_login(user)
    family = refresh_tokens.issue(user)
    key = world.key("editor").secret
    credentials = ({"Authorization": f"Bearer {AccessToken.for_user(user)}"}, {"X-API-Key": key})

    def statuses() -> list[int]:
        replies = [Client().get("/api/rag/sources", headers=headers) for headers in credentials]
        refresh = Client().post("/api/auth/token/refresh", {"refresh": str(family)}, "application/json")
        return [*(reply.status_code for reply in replies), browser.get("/").status_code, refresh.status_code]

    require_access(Caller(user), [])
    assert directory.patch(path_of(world, "editor"), operation).json()["active"] is False
    assert statuses() == [401, 401, 302, 401]
    with pytest.raises(AccessEnded):  # which ends running streams
        require_access(Caller(user), [])
    reply = directory.patch(path_of(world, "editor"), {"op": "replace", "path": "active", "value": True})
    assert (reply.json()["active"], statuses()) == (True, [401, 200, 302, 401]), "sign-ins stay ended, keys do not"


def test_keys_of_a_deleted_user_do_not_come_back(directory: Directory, world: World) -> None:
    """The next person who gets the address is given the account."""
    email, key = world.users["editor"].email, world.key("editor").secret
    elsewhere = world.key("foreigner", organization=world.abroad).secret
    guest = add_member(user=world.users["foreigner"], organization=world.home)
    for path in (path_of(world, "editor"), f"/Users/{guest.pk}"):
        assert directory.send("DELETE", path).status_code == 204
    assert directory.create("User", userName=email)["active"] is True

    def status(secret: str) -> int:
        return Client().get("/api/rag/sources", headers={"X-API-Key": secret}).status_code

    assert (status(key), status(elsewhere)) == (401, 200)


def test_the_last_owner_stays(directory: Directory, world: World) -> None:
    Membership.objects.filter(user=world.users["admin"]).delete()
    path = path_of(world, "owner")
    assert directory.patch(path, {"op": "replace", "value": {"active": False}}).status_code == 409
    assert directory.send("DELETE", path).status_code == 409
    assert User.objects.get(email="owner@home.example").is_active
    assert directory.get(path)["active"] is True


def test_only_the_accounts_of_this_organisation_are_changed(
    directory: Directory, other_directory: Callable[[], Directory], world: World
) -> None:
    foreigner = world.users["foreigner"]
    shared = add_member(user=foreigner, organization=world.home)
    abroad = foreigner.memberships.get(organization=world.abroad)
    for path in (f"/Users/{abroad.pk}", f"/Users/{uuid.uuid4()}", "/Users/x"):
        for method in ("GET", "DELETE"):
            assert directory.send(method, path).status_code == 404
        assert directory.patch(path, {"op": "replace", "value": {"active": False}}).status_code == 404
    # A guest from elsewhere loses this organisation, and keeps account and name.
    path = f"/Users/{shared.pk}"
    renamed = directory.patch(path, {"op": "replace", "path": "userName", "value": "taken@home.example"})
    assert (renamed.status_code, renamed.json()["scimType"]) == (400, "mutability")
    assert directory.patch(path, {"op": "replace", "value": {"active": False, "displayName": "X"}}).status_code == 200
    foreigner.refresh_from_db()
    abroad.refresh_from_db()
    shared.refresh_from_db()
    assert (foreigner.is_active, foreigner.name, abroad.is_active, shared.is_active) == (True, "", True, False)
    # Nobody gets an account at a domain that is not theirs.
    refused = directory.send("POST", "/Users", {**ADA, "userName": "ada@abroad.example"})
    assert (refused.status_code, refused.json()["scimType"]) == (400, "invalidValue")
    root = User.objects.create_superuser("root@home.example", PASSWORD)
    assert directory.send("POST", "/Users", {"userName": root.email}).status_code == 403
    add_member(user=root, organization=world.home)
    assert directory.patch(f"/Users/{root.memberships.get().pk}", {"op": "replace", "value": {"active": False}})
    root.refresh_from_db()
    assert root.is_active, "a directory does not deactivate a superuser"
    assert other_directory().get("/Users")["totalResults"] == 1


def test_a_user_is_changed_and_versions_are_checked(directory: Directory, world: World) -> None:
    path = path_of(world, "member")
    first = directory.send("GET", path)
    version = first.headers["ETag"]
    assert directory.send("GET", path, **{"If-None-Match": version}).status_code == 304
    put = directory.send("PUT", path, {"userName": "new@home.example", "displayName": "New", "externalId": "7"})
    assert (put.json()["userName"], put.json()["displayName"], put.json()["active"]) == (
        "new@home.example",
        "New",
        True,
    )
    assert User.objects.get(pk=world.users["member"].pk).email == "new@home.example"
    stale = directory.patch(path, {"op": "replace", "path": "displayName", "value": "Lost"}, **{"If-Match": version})
    assert stale.status_code == 412
    operations = (
        {"op": "Add", "path": "name.formatted", "value": "Ignored for displayName"},
        {"op": "Replace", "path": "displayName", "value": "Newer"},
        {"op": "Add", "path": 'emails[type eq "work"].value', "value": "other@home.example"},
        {"op": "Add", "path": "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department", "value": "X"},
        {"op": "Remove", "path": "externalId"},
    )
    assert directory.patch(path, *operations).json()["displayName"] == "Newer"
    assert not ScimUser.objects.exists()
    assert directory.send("PUT", path, {"userName": "editor@home.example"}).json()["scimType"] == "uniqueness"
    bodies: tuple[Any, ...] = (
        {},
        {"Operations": []},
        {"Operations": [{"op": "move"}]},
        {"Operations": [{"op": "remove"}]},
        "[",
        "5",
    )
    for body in bodies:
        assert directory.send("PATCH", path, body).status_code == 400, body


def test_the_token_belongs_to_one_organisation_and_is_stored_as_a_hash(directory: Directory, world: World) -> None:
    token = ScimToken.objects.get()
    assert (len(token.hash), directory.secret in str(vars(token))) == (64, False)
    for secret in ("scim_" + "x" * 43, "", world.key("owner").secret, str(AccessToken.for_user(world.users["owner"]))):
        reply = Client().get(f"{BASE}/Users", headers={"Authorization": f"Bearer {secret}"})
        assert (reply.status_code, reply.headers["WWW-Authenticate"]) == (401, 'Bearer realm="scim"')
    assert Client().get(f"{BASE}/Users").status_code == 401
    assert Client().get("/api/rag/sources", headers={"Authorization": f"Bearer {directory.secret}"}).status_code == 401
    with connection.cursor() as cursor:
        cursor.execute("SELECT has_any_column_privilege('ragsite_reader', 'orgs_scimtoken', 'SELECT')")
        assert cursor.fetchone() == (False,)
    world.home.is_active = False
    world.home.save()
    assert directory.send("GET", "/Users").status_code == 401


def test_the_service_describes_itself(directory: Directory) -> None:
    configuration = directory.get("/ServiceProviderConfig")
    assert (configuration["patch"], configuration["bulk"]["supported"]) == ({"supported": True}, False)
    assert [entry["id"] for entry in directory.get("/ResourceTypes")["Resources"]] == ["User", "Group"]
    for entry in directory.get("/Schemas")["Resources"]:
        assert directory.get(f"/Schemas/{entry['id']}") == entry
    for path in ("/Bulk", "/Schemas/x", "/Users/x/y"):
        assert directory.send("GET", path).status_code == 404, path
    assert directory.send("PUT", "/Users", {}).status_code == 405


def test_a_search_has_its_parameters_in_the_body(directory: Directory) -> None:
    email = "owner@home.example"
    response = directory.send(
        "POST", "/Users/.search", {"filter": f'userName eq "{email}"', "attributes": ["userName"]}
    )
    assert (response.status_code, response.json()["totalResults"]) == (200, 1)
    assert response.json()["Resources"][0].keys() == {"schemas", "id", "userName"}
    page = directory.send("POST", "/Users/.search", {"startIndex": 2, "count": 1}).json()
    assert page == directory.get("/Users?startIndex=2&count=1")
    assert directory.send("POST", "/Groups/.search", {}).json() == directory.get("/Groups")
    bodies: tuple[Any, ...] = ([], "x", {"count": [1, 2]}, {"filter": {}}, {"startIndex": 1e999})
    for body in bodies:
        assert directory.send("POST", "/Users/.search", body).status_code == 400, body
    assert directory.send("GET", "/Users/.search").status_code == 405


def test_a_search_over_both_types_lists_users_and_then_groups(directory: Directory) -> None:
    directory.create("Group", displayName="Sales")
    every = [*directory.get("/Users")["Resources"], *directory.get("/Groups")["Resources"]]

    def search(**body: Any) -> Any:
        return directory.send("POST", "/.search", body).json()

    assert (search()["totalResults"], search()["Resources"]) == (len(every), every)
    for start in range(1, len(every) + 2):
        assert search(startIndex=start, count=2)["Resources"] == every[start - 1 : start + 1]
    assert search(filter='displayName eq "Sales"')["Resources"] == every[-1:]
    assert search(filter='userName eq "owner@home.example"')["totalResults"] == 1, "an attribute of users only"
    assert search(filter='shoeSize eq "43"')["scimType"] == "invalidFilter"


def test_the_documented_program_runs(live_server: LiveServer, live_world: World) -> None:
    page = (Path(__file__).parents[3] / "docs/admin/scim.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    environment = {
        "SCIM_URL": f"{live_server.url}{BASE}",
        "SCIM_TOKEN": connect(live_world.home, "home.example").secret,
    }
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("1\nFalse\n", "")
    assert User.objects.get(email="grace@home.example").is_active is False
