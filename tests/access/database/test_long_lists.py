"""Lists for a caller to whom many sources are granted one by one: no statement looks up each of them."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from rest_framework_simplejwt.tokens import AccessToken

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel, Grant, UnansweredQuestion
from rag.models.search import granted_scopes
from rag.services.sources import lookup
from ragsite.postgres import identity
from tests.services.queries.test_index_scans import calls
from tests.support.factories import World, ingest_text

SOURCES = 120


@pytest.fixture
def member(world: World) -> Iterator[Caller]:
    """A member with the grants of all these private sources; the block runs as their request."""
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default(), "visibility": "private"}
    names = [f"many-{number:03}" for number in range(SOURCES)]
    sources = DataSource.objects.bulk_create([DataSource(slug=name, name=name, **fields) for name in names])
    user = world.users["member"]
    Grant.objects.bulk_create([Grant(source=source, user=user) for source in sources])
    ingest_text(sources[7], "a.md", "Zebras have stripes.")
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL track_functions = 'all'")
    with identity.run_as(Caller(user).database_identity):
        yield Caller(user)


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", []):
        yield from nodes(part)


def test_no_source_is_looked_up_for_a_row(member: Caller) -> None:
    plan = json.loads(lookup.list_sources(member).explain(analyze=True, format="json"))[0]["Plan"]
    loops = [node["Actual Loops"] for node in nodes(plan) if node.get("Relation Name") == "rag_datasource"]
    assert max(loops) == 1, loops
    assert plan["Actual Rows"] == SOURCES


def test_a_page_and_the_number_of_all_come_from_one_list(member: Caller) -> None:
    before = calls()
    page, total = lookup.read_page(lookup.list_sources(member), 50, 50)
    listed = (calls() - before)["rag_listed_sources"]
    assert ([source.slug for source in page], total) == ([f"many-{number:03}" for number in range(50, 100)], SOURCES)
    assert listed == 2  # for the sources, and for the grants that open them
    assert lookup.read_page(lookup.list_sources(member), SOURCES, 50) == ([], SOURCES)


@pytest.fixture
def client(member: Caller, world: World) -> Client:
    return Client(headers={"Authorization": f"Bearer {AccessToken.for_user(world.users['member'])}"})


def test_what_is_in_one_source_lists_no_others(client: Client) -> None:
    references = "many-007", str(DataSource.objects.get(slug="many-007").pk)
    before = calls()
    for reference in references:
        reply = client.get(f"/api/rag/sources/{reference}/documents")
        assert [document["path"] for document in reply.json()["documents"]] == ["a.md"]
    assert (calls() - before)["rag_listed_sources"] == 0


def test_an_answer_lists_no_sources(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", 0)
    before = calls()
    for path, body in (
        ("/api/rag/query", {"query": "What do zebras have?"}),
        ("/api/rag/query", {"query": "What do zebras have?", "dataSources": ["many-007", "many-008"]}),
        ("/api/rag/answer", {"query_text": "What do zebras have?"}),
    ):
        reply = client.post(path, body, content_type="application/json")
        assert "Zebras have stripes" in reply.content.decode(), path
    assert (calls() - before)["rag_listed_sources"] == 0


def test_a_question_that_is_stored_lists_no_sources(client: Client) -> None:
    before = calls()
    reply = client.post("/api/rag/query", {"query": "Who won the elections?"}, content_type="application/json")
    assert reply.status_code == 200
    assert (calls() - before)["rag_listed_sources"] == 0
    assert UnansweredQuestion.objects.get().question == "Who won the elections?"
