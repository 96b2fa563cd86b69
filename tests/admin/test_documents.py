"""The admin pages of documents: what they show, filter by and delete."""

import pytest

from orgs.access.permissions import Visibility
from rag.models import DataSource, Usage
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


def test_document_text_is_not_shown_to_managers_who_may_not_query(world: World) -> None:
    """Shared rules: nothing widens querying, "not being organisation owner"."""
    source = world.source("secret", visibility=Visibility.PERSONAL, owner=world.users["editor"])
    outcome = ingest_text(source, "diary", "Zebras have stripes.")
    reply = staff_browser(world.users["owner"]).get(f"/admin/rag/document/{outcome.document_id}/change/")
    assert reply.status_code == 200
    assert "stripes" not in reply.content.decode()


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


def test_names_of_a_document_look_like_what_they_are(world: World) -> None:
    """Beside the button that downloads the original: `fdp.exe` would be read as the end of a PDF's name."""
    source = world.source()
    outcome = ingest_text(source, "a\u202efdp.exe", "Text.", title="A \u202efdp.exe", tags=["\u202ea", "b"])
    reply = staff_browser(world.users["owner"]).get(f"/admin/rag/document/{outcome.document_id}/change/")
    page = reply.content.decode().partition(">Details<")[0]
    assert "<h1>A ‹U+202E›fdp.exe</h1>" in page
    assert "a‹U+202E›fdp.exe" in page
    assert page.count("\u202e") == page.count("<bdi>\u202ea</bdi>, <bdi>b</bdi>") == 1
