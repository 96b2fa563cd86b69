"""Search traces for managers of the sources, and what they must not reveal to others."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from orgs.access.permissions import Visibility
from orgs.creation import add_member
from rag.models import DataSource, Document
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
QUESTION = "How do zebras sleep?"
TEXTS = {
    "zebras.md": "Zebras sleep standing up. A zebra sleeps for an hour at most.",
    "copy.md": "Zebras sleep standing up. A zebra sleeps for an hour at most.",
    "tea.md": "Tea is brewed with boiling water in a warm pot.",
}


@pytest.fixture
def library(world: World) -> DataSource:
    source = world.source("library")
    for path, text in TEXTS.items():
        ingest_text(source, path, text, title="Animals")
    return source


def explain(world: World, caller: str, *scopes: str, status: int = 200, **fields: Any) -> Any:
    key = world.key(caller, *scopes).secret
    body = {"query": QUESTION, "topK": 1, **fields}
    reply = Client().post("/api/rag/explain", body, content_type="application/json", headers={"X-API-Key": key})
    assert reply.status_code == status, reply.json()
    return reply.json()


def document(path: str) -> str:
    return str(Document.objects.get(path=path).pk)


def test_counts_of_each_step(world: World, library: DataSource) -> None:
    trace = explain(world, "admin", user="member@home.example")
    assert trace["funnel"] == {
        "sources": 1, "chunks": 3, "byMeaning": 3, "byWords": 2, "candidates": 3, "aboveThreshold": 3,
        "distinct": 2, "ranked": 1, "grounded": 1,
    }  # fmt: skip
    assert (trace["isMember"], trace["isGroundable"], trace["dataSources"]) == (True, True, [str(library.pk)])
    (first,) = trace["documents"]
    assert (first["countsForAnswer"], first["text"]) == (True, TEXTS[first["path"]])
    above_threshold = explain(world, "admin", minScore=0.3)["funnel"]
    assert (above_threshold["candidates"], above_threshold["aboveThreshold"]) == (3, 2)
    filtered = explain(world, "admin", filters=[{"field": "tags", "value": "none"}])["funnel"]
    assert (filtered["sources"], filtered["chunks"], filtered["candidates"]) == (1, 0, 0)


def test_outcome_of_a_document_in_each_step(world: World, library: DataSource) -> None:
    outcomes = {path: explain(world, "admin", document=document(path))["document"] for path in TEXTS}
    original = next(path for path, outcome in outcomes.items() if outcome["isFound"])
    copy = ({"zebras.md", "copy.md"} - {original}).pop()
    assert (outcomes[original]["stage"], outcomes[copy]["stage"], outcomes["tea.md"]["stage"]) == (
        "grounded",
        "distinct",
        "ranked",
    )
    assert "repeats the text of a better one" in outcomes[copy]["reason"]
    assert "rank 2 after ranking; the search returns 1" in outcomes["tea.md"]["reason"]
    assert explain(world, "admin", document=document("tea.md"), minScore=0.3)["document"]["stage"] == "aboveThreshold"
    assert explain(world, "admin", document=document("tea.md"), topK=3)["document"]["stage"] == "grounded"
    lexical = explain(world, "admin", document=document("tea.md"), mode="lexical")["document"]
    assert (lexical["stage"], lexical["isFound"]) == ("candidates", False)
    Document.objects.filter(path="tea.md").update(tags=["t"])
    tagged = explain(world, "admin", document=document("zebras.md"), filters=[{"field": "tags", "value": "t"}])
    assert tagged["document"]["stage"] == "chunks"
    DataSource.objects.update(visibility=Visibility.PERSONAL)
    closed = explain(world, "admin", document=document("zebras.md"), user="member@home.example")
    assert (closed["document"]["stage"], closed["funnel"]["sources"]) == ("sources", 0)
    assert explain(world, "admin", document="0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11", status=404)


def test_the_text_of_the_document_is_not_read(world: World, library: DataSource) -> None:
    """It may have hundreds of megabytes."""
    pk = document("tea.md")
    with CaptureQueriesContext(connection) as queries:
        explain(world, "admin", document=pk)
    assert not [query["sql"] for query in queries if '"rag_document"."text"' in query["sql"]]


def test_callers_who_manage_no_source_are_refused(world: World, library: DataSource) -> None:
    for name in ("member", "editor"):
        refused = explain(world, name, status=403)
        assert "library" not in str(refused)
    assert explain(world, "member", dataSources=["library"], status=403)["message"].startswith("You may see")
    DataSource.objects.update(visibility=Visibility.PERSONAL)
    hidden = explain(world, "member", dataSources=["library"], status=404)
    assert hidden["message"] == explain(world, "member", dataSources=["nothing"], status=404)["message"]
    explain(world, "admin", "query", "ingest", status=403)


def test_sources_that_the_caller_does_not_manage_stay_hidden(world: World, library: DataSource) -> None:
    """The user may query a source of another organisation. Its documents do not exist for the caller."""
    abroad = world.source("abroad", organization=world.abroad)
    ingest_text(abroad, "there.md", "Zebras sleep abroad.")
    add_member(user=world.users["member"], organization=world.abroad)
    add_member(user=world.users["admin"], organization=world.abroad)
    trace = explain(world, "admin", user="member@home.example", topK=10)
    assert (trace["funnel"]["sources"], trace["funnel"]["chunks"]) == (1, 3)
    for hidden in ("abroad", str(abroad.pk)):
        assert hidden not in str(trace)
    explain(world, "admin", document=document("there.md"), status=404)


def test_non_members_are_indistinguishable_from_unknown_users(world: World, library: DataSource) -> None:
    foreign, unknown = (
        explain(world, "admin", user=email) for email in ("foreigner@abroad.example", "no@where.example")
    )
    assert foreign == unknown
    assert (foreign["isMember"], set(foreign["funnel"].values()), foreign["documents"]) == (False, {0}, [])
