"""All pages of the admin: only rows that their user may manage, and the words of labels and headings."""

from typing import Any

import pytest

from accounts.models import User
from orgs.models import ApiKey, Membership, Role
from rag.admin.embedding_model_admin import EmbeddingModelAdmin
from rag.models import DataSource
from tests.support.browsers import staff_browser
from tests.support.factories import World

PAGES = [
    "/admin/",
    "/admin/orgs/organization/",
    "/admin/orgs/membership/",
    "/admin/orgs/membership/add/",
    "/admin/orgs/role/",
    "/admin/orgs/role/add/",
    "/admin/orgs/team/",
    "/admin/orgs/apikey/",
    "/admin/rag/datasource/",
    "/admin/rag/datasource/add/",
    "/admin/rag/document/",
    "/admin/rag/ingestionjob/",
    "/admin/rag/ingestiondocument/",
]


@pytest.mark.parametrize("page", PAGES)
def test_no_page_shows_anything_of_another_organisation(world: World, foreign: DataSource, page: str) -> None:
    world.source("domestic")
    reply = staff_browser(world.users["owner"]).get(page)
    assert reply.status_code == 200
    text = reply.content.decode().lower()
    for name in ("foreign", "abroad", str(foreign.pk), str(world.abroad.pk)):
        assert name not in text


def test_objects_of_another_organisation_do_not_exist(world: World, foreign: DataSource) -> None:
    client = staff_browser(world.users["owner"])
    for url in (
        f"/admin/rag/datasource/{foreign.pk}/change/",
        f"/admin/rag/document/{foreign.documents.get().pk}/change/",
        f"/admin/rag/ingestionjob/{foreign.jobs.get().pk}/change/",
        f"/admin/orgs/organization/{world.abroad.pk}/change/",
        f"/admin/orgs/membership/{Membership.objects.get(organization=world.abroad).pk}/change/",
        f"/admin/orgs/apikey/{ApiKey.objects.get(organization=world.abroad).pk}/change/",
    ):
        assert client.get(url).status_code == 302, "like an unknown id: a redirect to the index"


def test_an_address_may_have_an_empty_field_of_the_object(world: World) -> None:
    superuser = User.objects.create_superuser("operator@home.example", "a long enough password")
    source = world.source("domestic")
    for user, url in (
        (world.users["owner"], f"/admin/rag/datasource/{source.pk}/change/?_to_field="),
        (superuser, f"/admin/rag/embeddingmodel/{source.embedding_model_id}/change/?_to_field="),
    ):
        assert staff_browser(user).get(url).status_code == 200


def test_filters_by_what_is_no_date_lead_to_the_whole_list(world: World) -> None:
    client = staff_browser(User.objects.create_superuser("operator@home.example", "a long enough password"))
    models = "/admin/rag/embeddingmodel/"
    for year in ("0", "99999"):
        reply = client.get(models, {"created_at__year": year})
        assert (reply.status_code, reply.headers.get("Location")) == (302, f"{models}?e=1")


def test_a_list_that_fails_without_filters_is_no_redirect(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would lead to itself again and again, and nobody would learn of the failure."""

    def fail(*_: object) -> None:
        raise ValueError

    client = staff_browser(User.objects.create_superuser("operator@home.example", "a long enough password"))
    monkeypatch.setattr(EmbeddingModelAdmin, "get_queryset", fail)
    for query in ({}, {"e": "1"}):
        with pytest.raises(ValueError):  # noqa: PT011  # the one above
            client.get("/admin/rag/embeddingmodel/", query)


def test_no_page_suggests_rows(world: World) -> None:
    client = staff_browser(User.objects.create_superuser("operator@home.example", "a long enough password"))
    for model, field, term in (("membership", "user", "\0"), ("organization", "roles", ""), ("membership", "user", "")):
        query = {"app_label": "orgs", "model_name": model, "field_name": field, "term": term}
        assert client.get("/admin/autocomplete/", query).status_code == 404


def test_what_is_no_id_or_text_is_not_found(world: World) -> None:
    client = staff_browser(User.objects.create_superuser("operator@home.example", "a long enough password"))
    users = "/admin/accounts/user/"
    reply = client.post(users, {"action": "remove_second_factor", "_selected_action": ["\0", "x"]})
    assert (reply.status_code, reply.headers["Location"]) == (302, f"{users}?e=1")
    choice = client.get("/admin/orgs/membership/add/?q=\0home").content.decode()
    assert world.home.name in choice
    assert world.abroad.name not in choice


@pytest.mark.parametrize("name", ["editor", "member", "foreigner"])
def test_without_permission_pages_are_hidden_and_forbidden(world: World, name: str) -> None:
    world.source("domestic")
    client = staff_browser(world.users[name])
    index = client.get("/admin/").content.decode()
    assert ("/admin/rag/document/" in index) == (name != "member"), "users who may send documents may delete them"
    assert not any(f"/admin/rag/{page}/" in index for page in ("datasource", "ingestionjob", "embeddingmodel"))
    assert client.get("/admin/rag/datasource/").status_code == 403
    assert client.get("/admin/orgs/membership/").status_code == 403
    assert client.get("/admin/orgs/apikey/").status_code == 403
    assert client.get("/admin/accounts/user/").status_code == 403


def test_a_key_variable_must_name_an_api_key(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    values = {"name": "x", "provider": "openai", "dimensions": 384, "api_key_variable": "SECRET_KEY"}
    reply = staff_browser(superuser).post("/admin/rag/embeddingmodel/add/", values)
    assert "ends with _API_KEY" in reply.content.decode()


def test_page_labels(world: World) -> None:
    """No page for Django's unused groups; British spelling; dimensions as numbers."""
    model = world.source("domestic").embedding_model
    root = staff_browser(User.objects.create_superuser("root@home.example", "x"))
    index = root.get("/admin/").content.decode()
    assert ("Groups" in index, "Organisations" in index, "Organizations" in index) == (False, True, False)
    page = root.get(f"/admin/rag/embeddingmodel/{model.pk}/change/").content.decode()
    assert ("D384" in page, ">384<" in page, "Prefix of questions" in page) == (False, True, True)


def test_names_are_written_as_people_write_them(world: World) -> None:
    owner = staff_browser(world.users["owner"])

    def read(page: str) -> str:
        return owner.get(f"/admin/{page}").content.decode()

    role = Role.objects.get(organization=world.home, name="editor")
    assert "<h1>Sign-in domains</h1>" in read("orgs/signindomain/")
    assert "Is active" not in read("orgs/membership/")
    assert "<h1>editor</h1>" in read(f"orgs/role/{role.pk}/change/"), (
        "whoever sees one organisation needs no name of it"
    )
    assert "send documents to data sources" in read("orgs/role/")
    deletion = read(f"orgs/role/{role.pk}/delete/")
    assert "<li>Roles: 1</li>" in deletion
    assert "relationship" not in deletion
    assert 'the role "editor"?' in deletion


def test_an_empty_list_offers_nothing_to_do_with_its_rows(world: World) -> None:
    page = staff_browser(world.users["owner"]).get("/admin/rag/webhookdelivery/").content.decode()
    assert "Each message to a webhook is listed here" in page
    assert 'name="action"' not in page


def test_requests_that_may_change_something_are_limited(world: World, settings: Any) -> None:
    settings.RAG_RATE_LIMITS = True
    settings.RAG_REQUESTS_PER_MINUTE = {**settings.RAG_REQUESTS_PER_MINUTE, "changes": 1}
    owner, editor = staff_browser(world.users["owner"]), staff_browser(world.users["editor"])
    page = "/admin/rag/datasource/add/"
    replies = [owner.post(page, {}), owner.post(page, {}), owner.get(page), editor.post("/admin/rag/document/", {})]
    assert [reply.status_code for reply in replies] == [200, 429, 200, 200]
    assert replies[1].headers["Retry-After"]
    assert owner.post("/admin/logout/", {}).status_code == 200, "whoever reached the limit can sign out"
