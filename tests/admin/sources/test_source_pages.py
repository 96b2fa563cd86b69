"""The admin pages of data sources: creating, changing and deleting one, with its grants."""

import re

import pytest

from orgs.access.permissions import Visibility
from orgs.models import Role
from rag.admin.sources.access import grant_forms
from rag.models import DataSource, EmbeddingModel, Grant
from rag.models.grants import MAX_GRANTS_PER_KIND
from rag.services.sources import deletion
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def form(world: World, **changes: object) -> dict[str, object]:
    values: dict[str, object] = {
        "organization": world.home.pk,
        "name": "Board papers",
        "slug": "board-papers",
        "visibility": Visibility.PRIVATE.value,
        "source_type": "doc",
        "embedding_model": EmbeddingModel.objects.default().pk,
        "grants-TOTAL_FORMS": 1,
        "grants-INITIAL_FORMS": 0,
        "grants-0-grantee": f"Person: {world.users['member'].email}",
    }
    return {name: value for name, value in {**values, **changes}.items() if value is not None}


def test_creating_a_source_with_a_grant(world: World) -> None:
    owner = world.users["owner"]
    reply = staff_browser(owner).post("/admin/rag/datasource/add/", form(world))
    assert reply.status_code == 302, reply.content.decode()
    grant = Grant.objects.get()
    assert (grant.source.slug, grant.user, grant.granted_by) == ("board-papers", world.users["member"], owner)
    page = staff_browser(owner).get(reply.headers["Location"]).content.decode()
    assert "Upload documents" in page
    assert "you cannot query it yourself" in page
    Grant.objects.create(source=grant.source, user=owner)
    assert "you cannot query it yourself" not in staff_browser(owner).get(reply.headers["Location"]).content.decode()


def test_of_two_windows_the_second_does_not_overwrite_what_the_first_has_changed(world: World) -> None:
    source = world.source("papers", name="Papers")
    client = staff_browser(world.users["owner"])
    url = f"/admin/rag/datasource/{source.pk}/change/"
    page = client.get(url).content.decode()
    version = page.partition('name="version" value="')[2].partition('"')[0]
    values = form(world, **{"slug": "papers", "visibility": "public", "grants-TOTAL_FORMS": 0})
    assert client.post(url, {**values, "name": "First", "version": version}).status_code == 302
    reply = client.post(url, {**values, "name": "Second", "version": version}).content.decode()
    assert "was changed after you had opened the page" in reply
    assert f'value="{version}"' in reply, "it is refused again"
    source.refresh_from_db()
    assert source.name == "First"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"organization": "abroad"}, "valid choice"),
        ({"name": "Library \u202egpj.exe\u2066"}, "must not change the direction of writing"),
        ({"grants-0-grantee": "foreigner@abroad.example"}, "has no person, role or team"),
        ({"grants-0-grantee": "Person: nobody@abroad.example"}, "has no person, role or team"),
        ({"visibility": "public"}, "has an effect only with the visibility"),
        ({"grants-0-grantee": "Team: abroad"}, "has no person, role or team"),
        ({"grants-0-grantee": "support"}, "is a role and a team"),
        ({"visibility": "personal", "grants-TOTAL_FORMS": 0}, "needs an owner"),
        ({"slug": "a b"}, "Constraint"),
    ],
)
def test_invalid_sources_are_rejected(world: World, changes: dict[str, object], message: str) -> None:
    world.home.roles.create(name="support")
    world.abroad.teams.create(name="abroad")
    ids = {"abroad": world.abroad.pk}
    values = {name: ids.get(str(value), value) if value is not None else None for name, value in changes.items()}
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world, **values))
    assert reply.status_code == 200
    assert message in reply.content.decode()
    assert not DataSource.objects.exists()


def test_a_duplicate_slug_is_rejected(world: World) -> None:
    world.source("board-papers")
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world))
    assert "already has a data source with this slug" in reply.content.decode()


def test_a_duplicate_grant_is_rejected(world: World) -> None:
    duplicate = {"grants-TOTAL_FORMS": 2, "grants-1-grantee": world.users["member"].email}
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world, **duplicate))
    assert "repeats another" in reply.content.decode()


def test_too_many_grants_of_one_kind_are_rejected(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grant_forms, "MAX_GRANTS_PER_KIND", 1)
    second = {"grants-TOTAL_FORMS": 2, "grants-1-grantee": world.users["editor"].email}
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world, **second))
    assert "at most 1 people, 1 roles and 1 teams" in reply.content.decode()
    assert not DataSource.objects.exists()


def test_few_forms_are_built_however_many_grants_a_request_says_that_it_has(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grant_forms.GrantInline, "max_num", 3)
    values = form(world, **{"grants-TOTAL_FORMS": 10**30})
    content = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", values).content.decode()
    assert "Please submit at most 3 forms." in content
    assert "grants-2-grantee" in content
    assert "grants-3-grantee" not in content


def test_a_source_with_all_the_grants_that_it_may_have_can_be_saved(world: World) -> None:
    source = world.source("papers", name="Papers", visibility=Visibility.ROLE)
    roles = Role.objects.bulk_create(
        Role(organization=world.home, name=f"role {number}") for number in range(MAX_GRANTS_PER_KIND)
    )
    Grant.objects.bulk_create(Grant(source=source, role=role) for role in roles)
    client = staff_browser(world.users["owner"])
    url = f"/admin/rag/datasource/{source.pk}/change/"
    page = client.get(url).content.decode()
    shown = dict(re.findall(r'<input[^>]*? name="(grants-[^"]+)"(?:[^>]*? value="([^"]*)")?', page))
    assert len(shown) > 3 * MAX_GRANTS_PER_KIND
    version = page.partition('name="version" value="')[2].partition('"')[0]
    values = form(world, slug="papers", visibility="role", name="Renamed", version=version) | shown
    assert client.post(url, values).status_code == 302
    source.refresh_from_db()
    assert (source.name, source.grants.count()) == ("Renamed", MAX_GRANTS_PER_KIND)


@pytest.mark.parametrize("by_action", [True, False])
def test_a_source_is_deleted_after_confirmation(world: World, foreign: DataSource, by_action: bool) -> None:
    source = world.source("domestic")
    ingest_text(source, "a", "Zebras.")
    client = staff_browser(world.users["owner"])
    if by_action:
        url = "/admin/rag/datasource/"
        values = {"action": "delete_selected", "_selected_action": [source.pk, foreign.pk]}
    else:
        url, values = f"/admin/rag/datasource/{source.pk}/delete/", {}
    confirmation = client.post(url, values) if by_action else client.get(url)
    assert "<li>Documents: 1</li>" in confirmation.content.decode()
    assert client.post(url, {**values, "post": "yes"}).status_code == 302
    source.refresh_from_db()
    foreign.refresh_from_db()
    assert (source.deleted_at is None, foreign.deleted_at) == (False, None)
    assert client.get(f"/admin/rag/datasource/{source.pk}/change/").status_code == 302


def test_sources_that_somebody_else_deletes_at_the_same_moment(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are deleted, too. The first one was an error, and left them."""
    for slug in ("lions", "zebras"):
        world.source(slug)
    delete_source = deletion.delete_source

    def delete_twice(source: DataSource) -> None:
        delete_source(source)
        delete_source(source)

    monkeypatch.setattr(deletion, "delete_source", delete_twice)
    selected = [str(pk) for pk in DataSource.objects.values_list("pk", flat=True)]
    values = {"action": "delete_selected", "_selected_action": selected, "post": "yes"}
    assert staff_browser(world.users["owner"]).post("/admin/rag/datasource/", values).status_code == 302
    assert not DataSource.objects.filter(deleted_at=None).exists()
