"""Requests as Entra ID and Okta document them, with this organisation's addresses and ids.

Entra ID: "Develop and plan provisioning for a SCIM endpoint", and "Known issues and resolutions with SCIM 2.0 protocol
compliance" (learn.microsoft.com/entra/identity/app-provisioning), whose shapes before and after `aadOptscim062020` are
both in use. Okta: "SCIM 2.0 Protocol Reference" (developer.okta.com/docs/api/openapi/okta-scim/guides/scim-20).
"""

from typing import Any
from urllib.parse import quote

import pytest

from orgs.models import ScimGroup, Team
from tests.orgs.scim.conftest import Directory
from tests.support.factories import World

USER, GROUP = "urn:ietf:params:scim:schemas:core:2.0:User", "urn:ietf:params:scim:schemas:core:2.0:Group"
ENTERPRISE = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
AD_GROUP = "http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group"
PATCH = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
ENTRA_USER = {
    "schemas": [USER, ENTERPRISE],
    "externalId": "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef",
    "userName": "Ada.Example@home.example",
    "active": True,
    "emails": [{"primary": True, "type": "work", "value": "Ada.Example@home.example"}],
    "meta": {"resourceType": "User"},
    "name": {"formatted": "Ada Example", "familyName": "Example", "givenName": "Ada"},
    "roles": [],
}
OKTA_USER = {
    "schemas": [USER],
    "userName": "test.user@home.example",
    "name": {"givenName": "Test", "familyName": "User"},
    "emails": [{"primary": True, "value": "test.user@home.example", "type": "work"}],
    "displayName": "Test User",
    "locale": "en-US",
    "externalId": "00ujl29u0le5T6Aj10h7",
    "groups": [],
    "password": "1mz050nq",
    "active": True,
}


def create(directory: Directory, kind: str, body: dict[str, Any]) -> Any:
    reply = directory.send("POST", f"/{kind}s", body)
    assert reply.status_code == 201, reply.content
    return reply.json()


def find(directory: Directory, kind: str, text: str, more: str = "") -> list[str]:
    reply = directory.get(f"/{kind}s?filter={quote(text)}{more}")
    assert (reply["totalResults"], reply["itemsPerPage"]) == (len(reply["Resources"]),) * 2
    return [resource["id"] for resource in reply["Resources"]]


def change(directory: Directory, path: str, *operations: dict[str, Any]) -> Any:
    reply = directory.send("PATCH", path, {"schemas": [PATCH], "Operations": list(operations)})
    assert reply.status_code == 200, reply.content
    return reply.json()


def test_entra_creates_and_finds_a_user(directory: Directory) -> None:
    created = create(directory, "User", ENTRA_USER)
    assert (created["userName"], created["name"]["formatted"], created["active"]) == (
        "ada.example@home.example",
        "Ada Example",
        True,
    )
    for text in (
        'userName eq "Ada.Example@home.example"',
        'USERNAME Eq "ADA.EXAMPLE@HOME.EXAMPLE"',
        'externalId eq "0a21f0f2-8d2a-4f8e-bf98-7363c4aed4ef"',
        'emails[type eq "work"].value eq "ada.example@home.example"',
        f'{USER}:userName eq "ada.example@home.example"',
    ):
        assert find(directory, "User", text) == [created["id"]], text
    assert find(directory, "User", 'userName eq "non-existent user"') == []
    assert find(directory, "User", 'emails[type eq "home"].value eq "ada.example@home.example"') == []


DISABLE: dict[str, list[dict[str, Any]]] = {
    "Entra ID": [{"op": "Replace", "path": "active", "value": "False"}],
    "Entra ID, compliant": [{"op": "replace", "path": "active", "value": False}],
    "Okta": [{"op": "replace", "value": {"active": False}}],
}


@pytest.mark.parametrize("operations", DISABLE.values(), ids=DISABLE)
def test_a_user_is_disabled_and_enabled(directory: Directory, operations: list[dict[str, Any]]) -> None:
    path = f"/Users/{create(directory, 'User', OKTA_USER)['id']}"
    assert change(directory, path, *operations)["active"] is False
    assert find(directory, "User", "active eq false") == [path.rpartition("/")[2]]
    assert change(directory, path, {"op": "Replace", "path": "active", "value": "True"})["active"] is True


def test_entra_changes_several_attributes(directory: Directory) -> None:
    path = f"/Users/{create(directory, 'User', ENTRA_USER)['id']}"
    changed = change(
        directory,
        path,
        {"op": "Replace", "path": "displayName", "value": "Pvlo Gtfd"},
        {"op": "Replace", "path": 'emails[type eq "work"].value', "value": "other@home.example"},
        {"op": "Replace", "path": "name.givenName", "value": "Gtfd"},
        {"op": "Replace", "path": "name.familyName", "value": "Pkqf"},
        {"op": "Replace", "path": "externalId", "value": "Eqpj"},
        {"op": "Replace", "path": f"{ENTERPRISE}:employeeNumber", "value": "Eqpj"},
    )
    assert (changed["displayName"], changed["externalId"]) == ("Pvlo Gtfd", "Eqpj")
    changed = change(
        directory,
        path,
        {"op": "replace", "path": 'emails[type eq "work"].value', "value": "third@home.example"},
        {
            "op": "replace",
            "value": {"displayName": "Bjfe", "name.givenName": "Kkom", f"{ENTERPRISE}:employeeNumber": "Aklq"},
        },
    )
    assert changed["displayName"] == "Bjfe"
    # Only the parts of the name: they are the name.
    changed = change(
        directory,
        path,
        {"op": "Replace", "path": "name.givenName", "value": "Ada"},
        {"op": "Replace", "path": "name.familyName", "value": "Updated"},
    )
    assert (changed["displayName"], changed["name"]["formatted"]) == ("Ada Updated", "Ada Updated")
    change(directory, path, {"op": "Add", "path": "nickName", "value": "Babs"})
    changed = change(directory, path, {"op": "Replace", "path": "userName", "value": "5b50@home.example"})
    assert (changed["userName"], changed["displayName"]) == ("5b50@home.example", "Ada Updated")


@pytest.fixture
def entra_group(directory: Directory) -> dict[str, Any]:
    body = {"schemas": [GROUP, AD_GROUP], "externalId": "8aa1a0c0", "displayName": "Writers", "meta": {}}
    group: dict[str, Any] = create(directory, "Group", body)
    return group


def test_entra_creates_and_finds_a_group(directory: Directory, entra_group: dict[str, Any]) -> None:
    assert (entra_group["members"], entra_group["externalId"]) == ([], "8aa1a0c0")
    for text, more in (
        ('displayName eq "Writers"', "&excludedAttributes=members"),
        ('externalId eq "8aa1a0c0"', ""),
    ):
        assert find(directory, "Group", text, more) == [entra_group["id"]], text
    assert "members" not in directory.get(f"/Groups/{entra_group['id']}?excludedAttributes=members")


def test_entra_adds_and_removes_members_of_a_group(directory: Directory, entra_group: dict[str, Any]) -> None:
    path = f"/Groups/{entra_group['id']}"
    member = create(directory, "User", ENTRA_USER)["id"]
    # Entra ID sends `$ref`, the address of the user, and leaves it null.
    add = {"op": "Add", "path": "members", "value": [{"$ref": None, "value": member}]}
    assert [entry["value"] for entry in change(directory, path, add)["members"]] == [member]
    text = f'id eq "{entra_group["id"]}" and members eq "{member}"'
    assert find(directory, "Group", text, "&excludedAttributes=members") == [entra_group["id"]]
    remove = {"op": "Remove", "path": "members", "value": [{"$ref": None, "value": member}]}
    assert change(directory, path, remove)["members"] == []
    change(directory, path, add)
    assert change(directory, path, {"op": "remove", "path": f'members[value eq "{member}"]'})["members"] == []


def test_entra_renames_and_deletes_a_group(directory: Directory, entra_group: dict[str, Any]) -> None:
    path = f"/Groups/{entra_group['id']}"
    renamed = change(directory, path, {"op": "Replace", "path": "displayName", "value": "Authors"})
    assert (renamed["displayName"], renamed["members"]) == ("Authors", [])
    assert directory.send("DELETE", path).status_code == 204


def test_okta_imports_users_page_by_page(directory: Directory, world: World) -> None:
    first = directory.get("/Users?startIndex=1&count=2")
    assert (first["startIndex"], first["itemsPerPage"], first["totalResults"] > 2) == (1, 2, True)
    rest = directory.get(f"/Users?startIndex=3&count={first['totalResults']}")
    assert first["itemsPerPage"] + rest["itemsPerPage"] == first["totalResults"] == rest["totalResults"]


def test_okta_creates_and_replaces_a_user(directory: Directory) -> None:
    assert find(directory, "User", 'userName eq "test.user@home.example"', "&startIndex=1&count=100") == []
    created = create(directory, "User", OKTA_USER)
    assert ("password" in created, created["externalId"]) == (False, "00ujl29u0le5T6Aj10h7")
    path = f"/Users/{created['id']}"
    whole = {**OKTA_USER, "id": created["id"], "name": {"givenName": "Another", "middleName": "", "familyName": "User"}}
    whole |= {"displayName": "Another User", "meta": {"resourceType": "User", "location": "…"}}
    replaced = directory.send("PUT", path, whole)
    assert (replaced.status_code, replaced.json()["displayName"]) == (200, "Another User")
    assert directory.send("PUT", path, {**whole, "active": False}).json()["active"] is False


@pytest.fixture
def okta_group(directory: Directory) -> dict[str, Any]:
    group: dict[str, Any] = create(
        directory, "Group", {"schemas": [GROUP], "displayName": "Test SCIMv2", "members": []}
    )
    return group


def test_okta_finds_and_renames_a_group(directory: Directory, okta_group: dict[str, Any]) -> None:
    listed = directory.get("/Groups?startIndex=1&count=100")["Resources"]
    assert okta_group["id"] in [group["id"] for group in listed]
    operation = {"op": "replace", "value": {"id": okta_group["id"], "displayName": "Renamed"}}
    named = change(directory, f"/Groups/{okta_group['id']}", operation)
    assert (named["id"], named["displayName"]) == (okta_group["id"], "Renamed")


def test_okta_changes_and_replaces_the_members_of_a_group(directory: Directory, okta_group: dict[str, Any]) -> None:
    users = [{"userName": f"u{number}@home.example", "externalId": f"e{number}"} for number in range(2)]
    ids = [create(directory, "User", OKTA_USER | user)["id"] for user in users]
    path = f"/Groups/{okta_group['id']}"
    change(directory, path, {"op": "add", "path": "members", "value": [{"value": ids[0], "display": "u0"}]})
    changed = change(
        directory,
        path,
        {"op": "remove", "path": f'members[value eq "{ids[0]}"]'},
        {"op": "add", "path": "members", "value": [{"value": ids[1], "display": "u1@home.example"}]},
    )
    assert [entry["value"] for entry in changed["members"]] == [ids[1]]
    everybody = [{"value": pk, "display": "x"} for pk in ids]
    replaced = change(directory, path, {"op": "replace", "path": "members", "value": everybody})
    assert {entry["value"] for entry in replaced["members"]} == set(ids)
    team = Team.objects.get(scim_group=ScimGroup.objects.get())
    assert team.memberships.count() == 2
