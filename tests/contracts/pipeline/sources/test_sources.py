"""The pipeline contract's data sources over HTTP: creating, changing and listing them, and who may do so."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from orgs.models import Role
from rag.models import DataSource, Document, EmbeddingModel, Grant, IngestionDocument
from tests.support import factories
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client, Reply

Api = Callable[..., Client]
SOURCE_FIELDS = {
    "id", "slug", "name", "description", "organization", "visibility", "sourceType", "embeddingModel", "ocr",
    "createdAt", "updatedAt",
}  # fmt: skip
MANAGER_FIELDS = {"roles", "teams", "users", "owner"}


def patch(client: Client, reference: str, body: dict[str, Any]) -> Reply:
    return client.send("PATCH", f"/api/rag/sources/{reference}", json.dumps(body).encode())


def delete(client: Client, reference: str) -> Reply:
    return client.send("DELETE", f"/api/rag/sources/{reference}")


def test_a_source_is_created_with_defaults(api: Api, live_world: World) -> None:
    live_world.home.default_visibility = Visibility.PERSONAL
    live_world.home.save()
    reply = api("editor").post("/api/rag/sources", {"name": "Board papers"})
    assert (reply.status, set(reply.body)) == (201, SOURCE_FIELDS | MANAGER_FIELDS), reply
    snapshots.assert_matches("pipeline-source-created", reply.body)
    assert (reply.body["slug"], reply.body["visibility"]) == ("board-papers", "personal")
    assert (reply.body["sourceType"], reply.body["embeddingModel"]) == ("doc", "all-MiniLM-L6-v2")
    source = DataSource.objects.get(pk=reply.body["id"])
    assert (source.owner, source.organization) == (live_world.users["editor"], live_world.home)


def test_a_name_that_changes_the_direction_of_writing_is_refused(api: Api, live_world: World) -> None:
    """The name reordered the words around it, for example on the page that says who can query the source."""
    source = live_world.source("library")
    for name in ("Library \u202egpj.exe", "Library \u2066"):
        reply = api("owner").post("/api/rag/sources", {"name": name, "slug": "papers"})
        assert (reply.status, reply.body["message"]) == (400, "name must not change the direction of writing")
        assert patch(api("owner"), str(source.pk), {"name": name}).status == 400
    assert patch(api("owner"), str(source.pk), {"name": "مكتبة क्षेत्र‍"}).status == 200


def test_a_source_is_created_with_the_given_fields(api: Api, live_world: World) -> None:
    EmbeddingModel.objects.create(name="other", provider="openai", dimensions=768)
    body = {
        "name": "Fragen", "slug": "faq_1", "description": "What people ask", "visibility": "team", "sourceType": "faq",
        "embeddingModel": "other", "ocr": False, "teams": ["support"],
    }  # fmt: skip
    owner = api("owner")
    reply = owner.post("/api/rag/sources", body)
    assert reply.status == 201
    assert {**reply.body, **body, "roles": [], "users": []} == reply.body
    changed = owner.send("PATCH", "/api/rag/sources/faq_1", b'{"name": "Answers"}')
    assert changed.status == 200
    snapshots.assert_matches("pipeline-source-changed", changed.body)
    assert owner.send("PATCH", "/api/rag/sources/faq_1/", b'{"name": "Fragen"}').status == 200
    reply.body["updatedAt"] = owner.get("/api/rag/sources/faq_1").body["updatedAt"]
    assert owner.get("/api/rag/sources/faq_1").body == reply.body


def test_who_may_create_change_and_delete(api: Api, live_world: World) -> None:
    """Shared rules: "Managing … is a permission of organisation roles"; 404 if the source is hidden, else 403."""
    clients = {name: api(name) for name in ("owner", "admin", "editor", "member", "foreigner")}
    created = {name: client.post("/api/rag/sources", {"name": f"of {name}"}) for name, client in clients.items()}
    assert {name: reply.status for name, reply in created.items()} == {
        "owner": 201, "admin": 201, "editor": 201, "member": 403, "foreigner": 201,
    }  # fmt: skip
    assert created["member"].body["error"] == "PERMISSION_DENIED"
    assert created["foreigner"].body["organization"] == "abroad"
    live_world.source("open")
    live_world.source("closed", visibility=Visibility.PRIVATE)
    allowed = {"owner": 200, "admin": 200}
    statuses = {
        "open": {**allowed, "editor": 403, "member": 403, "foreigner": 404},
        "closed": {**allowed, "editor": 403, "member": 404, "foreigner": 404},
        # Its creator owns it.
        "of-editor": {**allowed, "editor": 200, "member": 403, "foreigner": 404},
    }
    for slug, expected in statuses.items():
        changed = {name: patch(client, slug, {"description": name}).status for name, client in clients.items()}
        assert changed == expected, slug
        refused = {name: delete(client, slug).status for name, client in clients.items() if expected[name] != 200}
        assert refused == {name: status for name, status in expected.items() if status != 200}, slug
        assert delete(clients["admin"], slug).status == 204
        assert delete(clients["admin"], slug).status == 404
    assert {source.description for source in DataSource.objects.exclude(deleted_at=None)} == {"admin", "editor"}
    # The messages for a hidden and an unknown source are the same.
    live_world.source("closed", visibility=Visibility.PRIVATE)
    for method in (patch, lambda client, slug, _: delete(client, slug)):
        hidden, absent = (method(clients["member"], slug, {}).body for slug in ("closed", "nowhere"))
        assert (hidden["error"], hidden["message"]) == (absent["error"], absent["message"])


def test_access_lists_open_a_source_and_are_shown_to_managers(api: Api, live_world: World) -> None:
    """The pipeline contract, "Data Source Access": role, team, private."""
    editor, owner, member, supporter = (api(name) for name in ("editor", "owner", "member", "supporter"))
    created = editor.post(
        "/api/rag/sources", {"name": "Pay", "visibility": "private", "users": ["Member@home.example"]}
    )
    assert (created.status, set(created.body)) == (201, SOURCE_FIELDS | MANAGER_FIELDS), created
    ingest_text(DataSource.objects.get(), "a", "Zebras have stripes.")
    question = {"query": "zebras"}

    def readers() -> set[str]:
        clients = {"owner": owner, "member": member, "supporter": supporter}
        return {name for name, client in clients.items() if client.post("/api/rag/retrieve", question).status == 200}

    assert readers() == {"member"}
    assert set(member.get("/api/rag/sources/pay").body) == SOURCE_FIELDS
    assert owner.get("/api/rag/sources").body["sources"][0]["users"] == ["member@home.example"]
    grant = Grant.objects.get()
    both = {"users": ["member@home.example", "supporter@home.example"]}
    assert patch(owner, "pay", both).body["users"] == both["users"]
    assert Grant.objects.filter(pk=grant.pk, granted_by=live_world.users["editor"]).exists(), (
        "unchanged grants are kept"
    )
    assert readers() == {"member", "supporter"}
    changed = patch(owner, "pay", {"visibility": "team", "teams": ["support"], "users": []}).body
    assert (changed["visibility"], changed["teams"], changed["users"]) == ("team", ["support"], [])
    assert readers() == {"supporter"}
    assert patch(owner, "pay", {"visibility": "role", "roles": ["owner", "admin"]}).body["roles"] == ["admin", "owner"]
    assert readers() == {"owner"}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": 5}, "name"),
        ({"name": "x" * 151}, "name"),
        ({"name": "東京"}, "slug"),
        ({"slug": "a b"}, "slug"),
        ({"slug": "01a2006b-a602-77e9-a653-252a22c5c113"}, "slug"),
        ({"description": None}, "description"),
        ({"visibility": "everybody"}, "visibility"),
        ({"sourceType": "tweet"}, "sourceType"),
        ({"embeddingModel": "unknown"}, "embeddingModel"),
        ({"visibility": "role", "roles": ["boss"]}, "roles"),
        ({"visibility": "role", "roles": "owner"}, "roles"),
        ({"visibility": "role", "roles": ["foreign-role"]}, "roles"),
        ({"visibility": "team", "teams": ["x"] * 201}, "teams"),
        ({"visibility": "private", "users": ["foreigner@abroad.example"]}, "users"),
        ({"visibility": "public", "users": ["member@home.example"]}, "users"),
    ],
)
def test_invalid_fields_are_named(api: Api, live_world: World, change: dict[str, Any], field: str) -> None:
    live_world.source("library")
    Role.objects.create(organization=live_world.abroad, name="foreign-role")
    owner = api("owner")
    created = owner.post("/api/rag/sources", {"name": "New", **change})
    assert (created.status, created.body["error"], created.body["details"]["field"]) == (400, "INVALID_REQUEST", field)
    live_world.source("other")
    if change != {"name": "東京"}:  # a source that has a slug keeps it
        changed = patch(owner, "other", change)
        assert (changed.status, changed.body["details"]["field"]) == (400, field)
    assert sorted(DataSource.objects.values_list("name", flat=True)) == ["library", "other"]
    assert not Grant.objects.exists()


def test_the_organisation_of_a_new_source(api: Api, live_world: World) -> None:
    """Shared rules: "the header's, else the user's only one; if that is not decidable, 400 naming the choices"."""
    live_world.abroad.memberships.create(user=live_world.users["editor"])
    editor = api("editor")
    undecided = editor.post("/api/rag/sources", {"name": "New"})
    assert (undecided.status, undecided.body["details"]["field"]) == (400, "X-Organization")
    assert editor.with_headers(X_Organization="abroad").post("/api/rag/sources", {"name": "New"}).status == 403
    assert editor.with_headers(X_Organization="home").post("/api/rag/sources", {"name": "New"}).status == 201


def test_the_list_has_a_search_and_filters(api: Api, live_world: World) -> None:
    live_world.source("minutes", name="Board minutes")
    live_world.source("faq", name="Questions", description="What the BOARD is asked", source_type="faq")
    live_world.source("mine", visibility=Visibility.PERSONAL, owner=live_world.users["member"])
    live_world.source("secret-board", visibility=Visibility.PRIVATE)
    live_world.source("elsewhere", organization=live_world.abroad)
    live_world.abroad.memberships.create(user=live_world.users["member"])
    member = api("member")

    def slugs(query: str) -> set[str]:
        return {source["slug"] for source in member.get(f"/api/rag/sources?{query}").body["sources"]}

    assert slugs("search=board") == {"minutes", "faq"}
    assert slugs("search=minut&visibility=public") == {"minutes"}
    assert slugs("search=%25") == set()
    assert slugs("sourceType=faq") == {"faq"}
    assert slugs("visibility=personal") == {"mine"}
    assert slugs("organization=abroad") == {"elsewhere"}
    assert slugs(f"organization={live_world.home.pk}&visibility=public") == {"minutes", "faq"}
    for wrong, field in (
        ("visibility=x", "visibility"),
        ("sourceType=x", "sourceType"),
        ("organization=nowhere", "organization"),
        ("search=%00", "search"),
        ("search=" + "x" * 201, "search"),
    ):
        reply = member.get(f"/api/rag/sources?{wrong}")
        assert (reply.status, reply.body["details"]["field"]) == (400, field)
    assert api("foreigner").get("/api/rag/sources?organization=home").status == 400


def test_the_embedding_model_cannot_change_once_there_are_documents(api: Api, live_world: World) -> None:
    EmbeddingModel.objects.create(name="other", provider="openai", dimensions=768)
    source = live_world.source()
    owner = api("owner")
    assert patch(owner, "library", {"embeddingModel": "other"}).body["embeddingModel"] == "other"
    assert patch(owner, "library", {"embeddingModel": "all-MiniLM-L6-v2"}).status == 200
    owner.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"path": "a", "text": "Alpha."}]})
    refused = patch(owner, "library", {"embeddingModel": "other"})
    assert (refused.status, refused.body["details"]["field"]) == (400, "embeddingModel")
    assert "unfinished job" in refused.body["message"]
    factories.process_documents(ids=[IngestionDocument.objects.get().pk])
    assert Document.objects.filter(source=source).exists()
    refused = patch(owner, "library", {"embeddingModel": "other"})
    assert refused.status == 400
    assert "has documents" in refused.body["message"]
    assert patch(owner, "library", {"embeddingModel": "all-MiniLM-L6-v2", "name": "Same"}).status == 200
