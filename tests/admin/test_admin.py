"""The admin's pages of data sources, documents and jobs show, offer and accept only what their user may manage."""

import pytest

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.models import ApiKey, Membership, Role, Team
from rag.models import DataSource, EmbeddingModel, Grant, Usage
from rag.services.ingestion import build_submissions
from rag.services.jobs import submit
from rag.types import Submission
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text

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


@pytest.fixture
def foreign(world: World) -> DataSource:
    """A source of another organisation with a role, a team and documents whose names must not leak."""
    Role.objects.create(organization=world.abroad, name="foreign-role")
    Team.objects.create(organization=world.abroad, name="foreign-team")
    world.key("foreigner", organization=world.abroad, name="foreign-key")
    source = world.source("foreign-source", organization=world.abroad, owner=world.users["foreigner"])
    ingest_text(source, "foreign-document", "Zebras.")
    submit.submit_job(
        source=source,
        submissions=[Submission(path="foreign-file", title="Foreign", text="Lions.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["foreigner"],
    )
    return source


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


def test_document_text_is_not_shown_to_managers_who_may_not_query(world: World) -> None:
    """Shared rules: nothing widens querying, "not being organisation owner"."""
    source = world.source("secret", visibility=Visibility.PERSONAL, owner=world.users["editor"])
    outcome = ingest_text(source, "diary", "Zebras have stripes.")
    reply = staff_browser(world.users["owner"]).get(f"/admin/rag/document/{outcome.document_id}/change/")
    assert reply.status_code == 200
    assert "stripes" not in reply.content.decode()


def test_a_duplicate_slug_is_rejected(world: World) -> None:
    world.source("board-papers")
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world))
    assert "already has a data source with this slug" in reply.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "text__startswith=Zebras", "text__contains=stripes", "text__regex=^Z", "content_hash__startswith=a",
        "metadata__a=1", "source__organization__slug=abroad", "source__owner__password__startswith=p", "title__regex=(",
    ],
)  # fmt: skip
def test_query_parameters_cannot_filter_by_hidden_fields(world: World, query: str) -> None:
    """Otherwise a manager could guess texts letter by letter."""
    ingest_text(
        world.source("secret", visibility=Visibility.PERSONAL, owner=world.users["editor"]), "diary", "Zebras: stripes."
    )
    assert staff_browser(world.users["owner"]).get(f"/admin/rag/document/?{query}").status_code in (302, 400)


@pytest.mark.parametrize("query", ["status__exact=%00", "source__id__exact=x", "q=%00", "p=-1", "o=x"])
def test_invalid_query_parameters_are_no_server_error(world: World, query: str) -> None:
    assert staff_browser(world.users["owner"]).get(f"/admin/rag/ingestionjob/?{query}").status_code in (200, 302, 400)


def test_a_duplicate_grant_is_rejected(world: World) -> None:
    duplicate = {"grants-TOTAL_FORMS": 2, "grants-1-grantee": world.users["member"].email}
    reply = staff_browser(world.users["owner"]).post("/admin/rag/datasource/add/", form(world, **duplicate))
    assert "repeats another" in reply.content.decode()


def test_a_key_variable_must_name_an_api_key(world: World) -> None:
    superuser = User.objects.create_superuser("root@home.example", "x")
    values = {"name": "x", "provider": "openai", "dimensions": 384, "api_key_variable": "SECRET_KEY"}
    reply = staff_browser(superuser).post("/admin/rag/embeddingmodel/add/", values)
    assert "ends with _API_KEY" in reply.content.decode()


def test_managers_of_a_source_cancel_its_jobs(world: World, foreign: DataSource) -> None:
    submission = Submission(path="a", title="A", text="Zebras.")
    options, actor = build_submissions.default_chunking_options(), world.users["editor"]
    job = submit.submit_job(source=world.source("domestic"), submissions=[submission], options=options, actor=actor)
    client = staff_browser(world.users["owner"])
    both = {"action": "cancel", "_selected_action": [job.pk, foreign.jobs.get().pk]}
    assert (
        "Cancelled: 1. Already finished: 0."
        in client.post("/admin/rag/ingestionjob/", both, follow=True).content.decode()
    )
    assert (
        "Cancelled: 0. Already finished: 1."
        in client.post("/admin/rag/ingestionjob/", both, follow=True).content.decode()
    )
    job.refresh_from_db()
    assert (job.status, job.documents.get().state) == ("cancelled", "cancelled")
    assert foreign.jobs.get().status == "queued"


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


@pytest.mark.parametrize("by_action", [True, False])
def test_editors_delete_documents(world: World, foreign: DataSource, by_action: bool) -> None:
    """Editors have only sources.ingest. The confirmation shows counts and no text."""
    source = world.source("domestic", visibility=Visibility.PERSONAL)
    ingest_text(source, "a", "Zebras have secret stripes.")
    document, abroad = source.documents.get(), foreign.documents.get()
    client = staff_browser(world.users["editor"])
    if by_action:
        url = "/admin/rag/document/"
        values = {"action": "delete_selected", "_selected_action": [document.pk, abroad.pk]}
    else:
        url, values = f"/admin/rag/document/{document.pk}/delete/", {}
    confirmation = (client.post(url, values) if by_action else client.get(url)).content.decode()
    assert ("the selected documents?" in confirmation) == by_action
    assert ("Documents: 1" in confirmation, "Chunks: 1" in confirmation, "secret" in confirmation) == (
        True,
        True,
        False,
    )
    assert client.post(url, {**values, "post": "yes"}).status_code == 302
    assert not source.documents.filter(deleted_at=None).exists()
    assert foreign.documents.filter(deleted_at=None).exists()
    assert Usage.objects.get(organization=world.home).chunks == 0
    assert client.get(f"/admin/rag/document/{document.pk}/change/").status_code == 302
    assert "rag/datasource" not in client.get("/admin/").content.decode(), "editors do not manage data sources"


def test_members_see_no_documents_in_the_admin(world: World) -> None:
    ingest_text(world.source("domestic"), "a", "Zebras.")
    key = world.home.sources.get().documents.get().pk
    client = staff_browser(world.users["member"])
    assert client.get("/admin/rag/document/").status_code == 403
    assert client.post(f"/admin/rag/document/{key}/delete/", {"post": "yes"}).status_code in (302, 403)
    assert world.home.sources.get().documents.filter(deleted_at=None).exists()
