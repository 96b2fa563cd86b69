"""The admin pages "Access" and "Explain a search": only for managers of the source; document texts are escaped."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from orgs.access.permissions import Visibility
from orgs.models import Team
from rag.models import DataSource
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
HOSTILE = (
    "Zebras sleep. ![x](https://evil.example/a.png?q=1) <img src=https://evil.example/b> <script>alert(1)</script>"
)


@pytest.fixture
def library(world: World) -> DataSource:
    for user in world.users.values():
        user.is_staff = True
        user.save()
    return world.source("library")


def page(name: str, source: DataSource) -> str:
    return reverse(f"admin:rag_datasource_{name}", args=[source.pk])


def signed_in(world: World, name: str) -> Client:
    browser = Client()
    browser.force_login(world.users[name])
    return browser


def test_managers_see_an_explanation_of_access(world: World, library: DataSource) -> None:
    admin = signed_in(world, "admin")
    assert page("access", library) in admin.get(reverse("admin:rag_datasource_change", args=[library.pk])).text
    content = admin.get(page("access", library), {"user": "member@home.example"}).text
    assert "open to every member of the organisation" in content
    assert "holds no role that allows managing" in content
    assert "foreigner@abroad.example" not in content
    for email in ("foreigner@abroad.example", "nobody@nowhere.example"):
        reply = admin.get(page("access", library), {"user": email}).text
        assert reply.count("this person is not a member of the organisation") == 3


@pytest.mark.parametrize("name", ["access", "search_trace"])
def test_only_managers_of_the_source_open_the_pages(world: World, library: DataSource, name: str) -> None:
    abroad = world.source("abroad", organization=world.abroad)
    assert signed_in(world, "admin").get(page(name, library)).status_code == 200
    assert signed_in(world, "admin").get(page(name, abroad)).status_code == 404
    assert signed_in(world, "member").get(page(name, library)).status_code == 403


def test_a_search_is_explained_and_document_texts_are_escaped(world: World, library: DataSource) -> None:
    ingest_text(library, "hostile.md", HOSTILE, title="<b>Zebras</b>")
    admin = signed_in(world, "admin")
    form = {"question": "How do zebras sleep?", "user": "member@home.example", "top_k": 5, "min_score": 0}
    with CaptureQueriesContext(connection) as queries:
        content = admin.post(page("search_trace", library), {**form, "path": "hostile.md"}).text
    assert not [query["sql"] for query in queries if '"rag_document"."text"' in query["sql"]], "it may be very long"
    assert "candidates of the vector search" in content
    assert "Its best relevant chunk has rank 1" in content
    assert "&lt;img src=" in content
    for active in ("<img", "<script>alert", "<b>Zebras", 'href="https://evil', 'src="https://evil'):
        assert active not in content
    ingest_text(library, "marked.md", "Zebras sleep with `zebra --sleep`, **standing**.")
    quoted = admin.post(page("search_trace", library), form).text
    assert "Zebras sleep with zebra --sleep, standing." in quoted, "without the marks of Markdown"
    assert "There is no such document" in admin.post(page("search_trace", library), {**form, "path": "none.md"}).text
    assert "This field is required" in admin.post(page("search_trace", library), {"question": ""}).text
    DataSource.objects.update(visibility=Visibility.PERSONAL)
    restricted = admin.post(page("search_trace", library), form).text
    assert "Zebras" not in restricted
    library.grants.create(team=Team.objects.get(name="support"))
    DataSource.objects.update(visibility=Visibility.TEAM)
    for reply in (
        admin.post(page("search_trace", library), form),
        admin.get(page("access", library), {"user": "member@home.example"}),
    ):
        assert "“support”" in reply.text
        assert "`" not in reply.text, "names are in quotation marks"


@pytest.mark.usefixtures("steady_rate_limits")
def test_explanations_count_as_queries(world: World, library: DataSource, settings: Any) -> None:
    settings.RAG_RATE_LIMITS, settings.RAG_REQUESTS_PER_MINUTE = (
        True,
        {**settings.RAG_REQUESTS_PER_MINUTE, "queries": 1},
    )
    admin = signed_in(world, "admin")
    fields = {"question": "Where do zebras sleep?", "top_k": 5, "min_score": 0}
    replies = [admin.post(page("search_trace", library), fields) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 429]
    assert replies[1].headers["Retry-After"]
