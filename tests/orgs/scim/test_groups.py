"""SCIM groups: their members are the members of a team."""

import uuid
from collections.abc import Callable
from urllib.parse import urlencode

import pytest
from django.test import Client

from orgs.models import Membership, ScimGroup, Team
from orgs.scim import groups, resource_lists
from rag.models import DataSource, Grant
from tests.orgs.scim.conftest import Directory
from tests.support.factories import World


def members_of(team: Team) -> list[str]:
    return sorted(team.memberships.values_list("user__email", flat=True))


def test_members_of_a_group_are_members_of_its_team(directory: Directory, world: World) -> None:
    ids = {name: str(world.users[name].memberships.get().pk) for name in ("editor", "member", "owner")}
    group = directory.create("Group", displayName="Sales & Co", externalId="g1", members=[{"value": ids["editor"]}])
    team = Team.objects.get(name="sales-co")
    (entry,) = group["members"]
    assert {name: entry[name] for name in entry if name != "$ref"} == {"value": ids["editor"], "type": "User"}
    assert members_of(team) == ["editor@home.example"]
    user = directory.get(f"/Users/{ids['editor']}")
    assert user["groups"] == [{"value": group["id"], "display": "Sales & Co", "type": "direct"}]


def test_members_of_a_group_are_added_removed_and_replaced(directory: Directory, world: World) -> None:
    """Entra ID adds and removes members one by one; Okta with a filter, and replaces all of them."""
    ids = {name: str(world.users[name].memberships.get().pk) for name in ("editor", "member", "owner")}
    group = directory.create("Group", displayName="Sales & Co", externalId="g1", members=[{"value": ids["editor"]}])
    team, path = Team.objects.get(name="sales-co"), f"/Groups/{group['id']}"
    add = {"op": "Add", "path": "members", "value": [{"value": ids["member"]}, {"value": ids["owner"]}]}
    assert directory.patch(path, add, add).status_code == 200
    assert len(members_of(team)) == 3
    assert directory.patch(path, {"op": "Remove", "path": "members", "value": [{"value": ids["owner"]}]})
    assert directory.patch(path, {"op": "remove", "path": f'members[value eq "{ids["member"]}"]'})
    assert members_of(team) == ["editor@home.example"]
    replace = {"op": "replace", "path": "members", "value": [{"value": ids["member"]}]}
    assert directory.patch(path, replace).status_code == 200
    assert members_of(team) == ["member@home.example"]
    assert directory.send("PUT", path, {"displayName": "Sales", "members": []}).json()["members"] == []


def test_an_empty_attribute_is_not_present(directory: Directory, world: World) -> None:
    """RFC 7644, 3.4.2.2: `pr` means a value that is neither missing nor empty."""
    directory.create("Group", displayName="Sales", externalId="g1")
    directory.create("Group", displayName="Support")
    names = {
        attribute: [group["displayName"] for group in directory.get(f"/Groups?filter={attribute}%20pr")["Resources"]]
        for attribute in ("externalId", "displayName", "id", "members")
    }
    both = ["Sales", "Support"]
    assert names == {"externalId": ["Sales"], "displayName": both, "id": both, "members": []}
    world.users["member"].memberships.update(is_active=False)
    people = directory.get("/Users")["totalResults"]
    totals = [directory.get(f"/Users?filter={name}%20pr")["totalResults"] for name in ("active", "externalId")]
    assert totals == [people, 0]


def test_the_team_of_a_renamed_group_keeps_its_name(directory: Directory, world: World) -> None:
    group = directory.create("Group", displayName="Sales & Co", externalId="g1", members=[])
    rename = {"op": "replace", "value": {"id": group["id"], "displayName": "Sales"}}
    assert directory.patch(f"/Groups/{group['id']}", rename).json()["displayName"] == "Sales"
    assert Team.objects.get(scim_group=ScimGroup.objects.get()).name == "sales-co"


def test_groups_are_found_and_deleted_and_their_teams_stay(directory: Directory, world: World) -> None:
    group = directory.create("Group", displayName="Support")
    team = Team.objects.get(name="support")
    assert group["members"] == [], "the directory decides about the members"
    source = world.source("desk", visibility="team")
    Grant.objects.create(source=source, team=team, granted_by=world.users["owner"])
    assert directory.send("POST", "/Groups", {"displayName": "support"}).json()["scimType"] == "uniqueness"
    assert directory.create("Group", displayName="販売")["displayName"] == "販売"
    matches = directory.get('/Groups?filter=displayName%20eq%20"support"&excludedAttributes=members')
    assert ([entry["id"] for entry in matches["Resources"]], "members" in matches["Resources"][0]) == (
        [group["id"]],
        False,
    )
    assert directory.send("DELETE", f"/Groups/{group['id']}").status_code == 204
    assert (ScimGroup.objects.count(), DataSource.objects.get().pk, Grant.objects.count()) == (1, source.pk, 1)


@pytest.mark.parametrize("path", ["/Groups", "/.search"])
def test_a_page_of_large_groups_is_short(
    directory: Directory, world: World, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """Nothing is left out: the client asks for the next page until it has `totalResults`."""
    monkeypatch.setattr(resource_lists, "MAX_MEMBERS_OF_PAGE", 3)
    members = [{"value": str(member.pk)} for member in Membership.objects.filter(organization=world.home)]
    created = [
        directory.create("Group", displayName=f"g{number}", members=members[:size])["id"]
        for number, size in enumerate((4, 2, 2, 0))
    ]
    group_ids, sizes, total = list[str](), list[int](), -1
    while len(group_ids) != total:
        query = {"filter": 'displayName sw "g"', "startIndex": len(group_ids) + 1}
        method = "POST" if path == "/.search" else "GET"
        page = directory.send(method, *((path, query) if method == "POST" else (f"{path}?{urlencode(query)}",))).json()
        group_ids += [entry["id"] for entry in page["Resources"]]
        sizes.append(page["itemsPerPage"])
        total = page["totalResults"]
    assert (group_ids, sizes) == (created, [1, 2, 1])


def test_an_organisation_reads_one_list_at_a_time(
    directory: Directory, other_directory: Callable[[], Directory], world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Several pages of large groups at once would slow down the requests of others."""
    monkeypatch.setattr(resource_lists.LISTS, "_max_wait_seconds", 0.01)
    other = other_directory()
    with resource_lists.LISTS.slot(world.home.pk):
        refused = Client().get("/scim/v2/Groups", headers={"Authorization": f"Bearer {directory.secret}"})
        assert (refused.status_code, refused.headers["Retry-After"], refused.json()["status"]) == (503, "2", "503")
        assert other.get("/Groups")["totalResults"] == 0
    assert directory.get("/Groups")["totalResults"] == 0


def test_teams_of_deleted_groups_are_bounded(
    directory: Directory, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "MAX_TEAMS", Team.objects.filter(organization=world.home).count() + 1)
    group = directory.create("Group", displayName="First")
    assert directory.send("DELETE", f"/Groups/{group['id']}").status_code == 204
    refused = directory.send("POST", "/Groups", {"displayName": "Second"})
    assert (refused.status_code, refused.json()["scimType"]) == (400, "tooMany")
    assert directory.create("Group", displayName="First")["displayName"] == "First"


def test_members_and_groups_of_other_organisations_do_not_exist(directory: Directory, world: World) -> None:
    foreign = world.users["foreigner"].memberships.get()
    for value in (foreign.pk, uuid.uuid4(), "x"):
        refused = directory.send("POST", "/Groups", {"displayName": "G", "members": [{"value": str(value)}]})
        assert (refused.status_code, refused.json()["scimType"]) == (400, "invalidValue")
    assert not ScimGroup.objects.exists()
    team = Team.objects.create(organization=world.abroad, name="theirs")
    theirs = ScimGroup.objects.create(team=team, display_name="Theirs")
    assert directory.send("GET", f"/Groups/{theirs.pk}").status_code == 404
    assert directory.send("DELETE", f"/Groups/{theirs.pk}").status_code == 404
    assert directory.get("/Groups")["totalResults"] == 0
