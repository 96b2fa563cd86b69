"""The owner of a data source over HTTP: what they may change, and transferring the ownership."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import AuditEvent
from orgs.access.permissions import Scope, Visibility
from orgs.models import Membership, Organization
from rag.models import DataSource, Grant
from tests.support.factories import World, ingest_text
from tests.support.http import Client, Reply

Api = Callable[..., Client]
SOURCES = "/api/rag/sources"


def patch(client: Client, reference: str, **body: Any) -> Reply:
    return client.send("PATCH", f"{SOURCES}/{reference}", json.dumps(body).encode())


def delete(client: Client, reference: str) -> Reply:
    return client.send("DELETE", f"{SOURCES}/{reference}")


def owned_by(world: World, name: str, slug: str = "mine", **fields: Any) -> DataSource:
    return world.source(slug, owner=world.users[name], **fields)


def test_who_creates_a_source_may_change_and_delete_it(api: Api) -> None:
    editor, member = api("editor"), api("member")
    created = editor.post(SOURCES, {"name": "Mine"})
    assert created.body["owner"] == "editor@home.example"
    assert (created.body["roles"], created.body["teams"], created.body["users"]) == ([], [], [])
    changed = patch(editor, "mine", name="Still mine", visibility="private", users=["member@home.example"])
    assert (changed.status, changed.body["name"], changed.body["users"]) == (
        200, "Still mine", ["member@home.example"],
    )  # fmt: skip
    assert patch(member, "mine", name="Taken").status == 403
    assert delete(member, "mine").status == 403
    assert "owner" not in member.get(f"{SOURCES}/mine").body
    assert delete(editor, "mine").status == 204
    assert editor.get(f"{SOURCES}/mine").status == 404


def test_an_owner_manages_no_other_source(api: Api, live_world: World) -> None:
    owned_by(live_world, "editor")
    live_world.source("library")
    assert patch(api("editor"), "library", name="x").status == 403
    assert delete(api("editor"), "library").status == 403


@pytest.mark.parametrize(
    "change", [{"is_active": False}, None], ids=["the membership is inactive", "the membership has ended"]
)
def test_an_owner_who_is_no_active_member_manages_nothing(
    api: Api, live_world: World, change: dict[str, bool] | None
) -> None:
    owned_by(live_world, "editor")
    editor = api("editor")
    membership = Membership.objects.filter(user=live_world.users["editor"])
    membership.delete() if change is None else membership.update(**change)
    assert [patch(editor, "mine", name="x").status, delete(editor, "mine").status] == [404, 404]


@pytest.mark.parametrize(("scopes", "status"), [((Scope.QUERY, Scope.INGEST), 403), ((Scope.MANAGE,), 200)])
def test_the_scopes_of_an_owners_key_apply(api: Api, live_world: World, scopes: tuple[Scope, ...], status: int) -> None:
    owned_by(live_world, "editor")
    key = live_world.key("editor", *(scope.value for scope in scopes)).secret
    assert patch(api().with_headers(X_API_Key=key), "mine", name="x").status == status


def test_a_key_restricted_to_other_sources_does_not_manage_an_owned_one(api: Api, live_world: World) -> None:
    owned_by(live_world, "editor")
    key = live_world.key("editor", sources=[live_world.source("library").pk]).secret
    assert patch(api().with_headers(X_API_Key=key), "mine", name="x").status == 404


@pytest.mark.parametrize(
    "change",
    [
        {"visibility": "private", "users": ["supporter@home.example"]},
        {"visibility": "public"},
        {"users": ["supporter@home.example"]},
        {"embeddingModel": "all-MiniLM-L6-v2"},
    ],
    ids=lambda change: "-".join(change),
)
def test_an_owner_who_may_not_create_sources_does_not_decide_who_queries_them(
    api: Api, live_world: World, change: dict[str, Any]
) -> None:
    """Creating chooses the visibility, the access lists and the model, and needs sources.create."""
    source = owned_by(live_world, "member", visibility=Visibility.PERSONAL)
    reply = patch(api("member"), "mine", **change)
    assert (reply.status, reply.body["error"]) == (403, "PERMISSION_DENIED")
    assert "sources.create" in reply.body["message"]
    source.refresh_from_db()
    assert source.visibility == Visibility.PERSONAL
    assert not Grant.objects.exists()
    unchanged = patch(api("member"), "mine", name="Renamed", visibility="personal")
    assert (unchanged.status, unchanged.body["name"]) == (200, "Renamed")
    assert delete(api("member"), "mine").status == 204


def test_an_owner_cannot_move_a_source_to_another_organisation(api: Api, live_world: World) -> None:
    source = owned_by(live_world, "editor")
    Membership.objects.create(user=live_world.users["editor"], organization=live_world.abroad)
    editor = api("editor").with_headers(X_Organization="home")
    patch(editor, "mine", organization="abroad", organizationId=str(live_world.abroad.pk))
    assert patch(api("editor").with_headers(X_Organization="abroad"), "mine", name="x").status == 404
    source.refresh_from_db()
    assert source.organization == live_world.home


def test_an_owner_learns_nothing_about_what_others_may_do(api: Api, live_world: World) -> None:
    """The explanation names roles and teams of other members, which needs sources.manage."""
    owned_by(live_world, "editor")
    path = f"{SOURCES}/mine/access?user="
    reply = api("editor").get(f"{path}editor@home.example")
    assert reply.status == 200
    reasons = {verdict["action"]: verdict["reason"] for verdict in reply.body["access"]}
    assert reasons["manage"] == "May manage: editor@home.example is the owner of the source."
    others = [api("editor").get(f"{path}{person}") for person in ("member@home.example", "nobody@home.example")]
    assert [reply.status for reply in others] == [403, 403]
    assert others[0].body["message"] == others[1].body["message"]
    assert api("admin").get(f"{path}member@home.example").status == 200


def test_ownership_is_transferred_to_an_active_member(api: Api, live_world: World) -> None:
    source = owned_by(live_world, "editor", visibility=Visibility.PERSONAL)
    ingest_text(source, "a", "Zebras have stripes.")
    editor, member = api("editor"), api("member")
    reply = patch(editor, "mine", owner="Member@home.example", name="Given away")
    assert (reply.status, reply.body["name"]) == (200, "Given away"), reply
    assert "owner" not in reply.body, "who has given it away does not manage it any more"
    source.refresh_from_db()
    assert source.owner == live_world.users["member"]
    assert patch(editor, "mine", name="x").status == 403
    assert editor.post("/api/rag/retrieve", {"query": "zebras"}).status != 200
    assert patch(member, "mine", name="Received").body["owner"] == "member@home.example"
    assert member.post("/api/rag/retrieve", {"query": "zebras"}).status == 200
    event = AuditEvent.objects.get(object_id=str(source.pk), action="changed", after__has_key="owner")
    assert event.actor_id == live_world.users["editor"].pk
    assert event.after["owner"] == str(live_world.users["member"].pk)


def test_a_transfer_with_other_changes_is_made_completely_or_not_at_all(api: Api, live_world: World) -> None:
    source = owned_by(live_world, "editor")
    reply = patch(api("editor"), "mine", owner="member@home.example", visibility="team", teams=["support"])
    assert reply.status == 200
    source.refresh_from_db()
    assert (source.owner, source.visibility) == (live_world.users["member"], "team")
    assert [grant.team.name for grant in source.grants.select_related("team") if grant.team] == ["support"]
    refused = patch(api("admin"), "mine", owner="editor@home.example", visibility="role", roles=["nobody"])
    assert refused.status == 400
    source.refresh_from_db()
    assert (source.owner, source.visibility) == (live_world.users["member"], "team")


def test_a_manager_transfers_and_still_manages(api: Api, live_world: World) -> None:
    live_world.source("library", owner=None)
    reply = patch(api("admin"), "library", owner="member@home.example", visibility="personal")
    assert (reply.status, reply.body["owner"]) == (200, "member@home.example")


@pytest.mark.parametrize(
    "owner", ["foreigner@abroad.example", "nobody@home.example", "supporter@home.example", "", None, 7, "x" * 300]
)
def test_only_an_active_member_can_become_the_owner(api: Api, live_world: World, owner: object) -> None:
    source = owned_by(live_world, "editor")
    Membership.objects.filter(user=live_world.users["supporter"]).update(is_active=False)
    reply = patch(api("editor"), "mine", owner=owner, name="Changed")
    assert (reply.status, reply.body["details"]["field"]) == (400, "owner")
    source.refresh_from_db()
    assert (source.owner, source.name) == (live_world.users["editor"], "mine")


def test_who_does_not_manage_a_source_cannot_take_it(api: Api, live_world: World) -> None:
    source = live_world.source("library")
    assert patch(api("editor"), "library", owner="editor@home.example").status == 403
    assert patch(api("foreigner"), "library", owner="foreigner@abroad.example").status == 404
    source.refresh_from_db()
    assert source.owner == live_world.users["owner"]


def test_a_new_source_belongs_to_its_creator_whatever_the_body_says(api: Api, live_world: World) -> None:
    created = api("editor").post(SOURCES, {"name": "Mine", "owner": "member@home.example"})
    assert (created.status, created.body["owner"]) == (201, "editor@home.example")


def test_a_closed_organisation_is_closed_to_owners(api: Api, live_world: World) -> None:
    owned_by(live_world, "editor")
    editor = api("editor")
    Organization.objects.filter(pk=live_world.home.pk).update(is_active=False)
    assert delete(editor, "mine").status in (403, 404)


def test_sources_of_people_who_have_left_can_be_managed(api: Api, live_world: World) -> None:
    """Managers do not see such an owner any more, whom the audit trail names: each change was a 500."""
    editor = live_world.users["editor"]
    owned_by(live_world, "editor", visibility=Visibility.PRIVATE)
    shared = live_world.source("shared", visibility=Visibility.PRIVATE)
    shared.grants.create(user=editor)
    Membership.objects.filter(user=editor, organization=live_world.home).delete()
    admin = api("admin")
    assert patch(admin, "mine", visibility="personal").body["message"] == (
        "A personal source needs an owner, and this one has none."
    )
    renamed = patch(admin, "mine", name="Left")
    assert (renamed.status, renamed.body["name"], renamed.body["owner"]) == (200, "Left", None)
    assert DataSource.objects.get(slug="mine").owner == editor, "who comes back owns it again"
    assert patch(admin, "shared", users=["member@home.example"]).body["users"] == ["member@home.example"]
    ended = AuditEvent.objects.get(kind="grant", action="deleted")
    assert (ended.subject_id, ended.subject_email) == (editor.pk, editor.email)
    assert patch(admin, "mine", owner="owner@home.example").body["owner"] == "owner@home.example"
    moved = AuditEvent.objects.filter(kind="source", action="changed").latest("at")
    assert moved.before == {"owner": str(editor.pk)}
    DataSource.objects.filter(slug="mine").update(owner=editor)
    assert delete(admin, "mine").status == 204
