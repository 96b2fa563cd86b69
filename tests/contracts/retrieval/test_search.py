"""The retrieval contract, Endpoint 1, over HTTP: POST /api/rag/search with `query_text`, /functions/v1/rag-search."""

import datetime
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from orgs.creation import add_member
from rag.models import Chunk
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text, ingest_texts
from tests.support.http import Client, Reply

Api = Callable[..., Client]
PATH, FUNCTION = "/api/rag/search", "/functions/v1/rag-search"


def titles(reply: Reply) -> list[str]:
    assert reply.status == 200, reply
    results = reply.body["results"]
    assert reply.body["total_found"] == len(results)
    assert [result["rank"] for result in results] == list(range(1, len(results) + 1))
    return [result["source_title"] for result in results]


@pytest.mark.parametrize("path", [PATH, PATH + "/", FUNCTION, FUNCTION + "/"])
def test_exactly_the_contracts_fields(api: Api, live_world: World, path: str) -> None:
    """Response Schema, on both paths ("Edge Function Structure")."""
    outcome = ingest_text(
        live_world.source(source_type="transcript"), "/call", "The customer said that the pricing is fair.",
        title="Call 7", uri="https://example.com/call", metadata={"call_sid": "CA7", "org_id": "forged"},
        date=datetime.datetime(2025, 1, 2, 3, 4, 5, tzinfo=datetime.UTC),
    )  # fmt: skip
    reply = api("member").post(path, {"query_text": "What did the customer say about pricing?"})
    assert reply.status == 200
    snapshots.assert_matches("retrieval-search", {**reply.body, "processing_time_ms": 0})
    score, elapsed = reply.body["results"][0].pop("score"), reply.body.pop("processing_time_ms")
    assert 0.3 < score <= 1
    assert type(elapsed) is int
    assert 0 <= elapsed < 60_000
    assert reply.body == {
        "status": "success",
        "query_text": "What did the customer say about pricing?",
        "results": [
            {
                "chunk_id": str(Chunk.objects.get().pk),
                "source_id": str(outcome.document_id),
                "snippet": "The customer said that the pricing is fair.",
                "source_type": "transcript",
                "source_title": "Call 7",
                "source_uri": "https://example.com/call",
                "meta": {"call_sid": "CA7", "org_id": str(live_world.home.pk), "date": "2025-01-02T03:04:05Z"},
                "rank": 1,
            }
        ],
        "total_found": 1,
    }


def test_missing_attributes_of_a_document(api: Api, live_world: World) -> None:
    """Response Schema: "source_uri": "string|null"; a document without a date has that of its metadata."""
    source = live_world.source()
    ingest_text(source, "a", "Nodes compute.")
    ingest_text(source, "b", "Nodes compute.", metadata={"date": "last May"})
    results = api("member").post(PATH, {"query_text": "nodes"}).body["results"]
    home = str(live_world.home.pk)
    assert {result["source_title"]: (result["source_uri"], result["meta"]) for result in results} == {
        "a": (None, {"org_id": home, "date": None}),
        "b": (None, {"org_id": home, "date": "last May"}),
    }


def test_a_snippet_is_the_first_200_characters(api: Api, live_world: World) -> None:
    """Response Schema: "first 200 chars of chunk.text"; characters, not bytes."""
    text = "Zébras 🦓 ont des rayures. " * 20
    ingest_text(live_world.source(), "a", text)
    (result,) = api("member").post(PATH, {"query_text": "zebra"}).body["results"]
    chunk = Chunk.objects.get()
    assert len(chunk.text) > 200
    assert result["snippet"] == chunk.text[:200]


def test_top_k_is_8_unless_given_and_results_are_ranked_by_the_cosine(api: Api, live_world: World) -> None:
    """Request Schema: "default=8, range: 1-50"; Behavior 3: "Order by score descending"."""
    source = live_world.source()
    ingest_texts(source, {f"n{number}": f"Node number {number} computes." for number in range(52)})
    ingest_text(source, "zebra", "Zebras have stripes.")
    member = api("member")
    for options, count in (({}, 8), ({"top_k": 1}, 1), ({"top_k": 50}, 50)):
        reply = member.post(PATH, {"query_text": "What stripes do zebras have?", **options})
        assert len(titles(reply)) == count
        assert titles(reply)[0] == "zebra"
        scores = [result["score"] for result in reply.body["results"]]
        assert scores == sorted(scores, reverse=True)


def test_filters(api: Api, live_world: World) -> None:
    """Request Schema, filters: all of them must hold; the dates are inclusive; unknown ones are ignored."""
    source = live_world.source(source_type="faq")
    day = datetime.datetime(2025, 6, 1, tzinfo=datetime.UTC)
    ingest_text(source, "old", "Nodes compute.", source_type="email", lang="en", date=day)
    ingest_text(source, "new", "Nodes compute.", source_type="email", lang="fr", date=day + datetime.timedelta(days=30))
    ingest_text(source, "undated", "Nodes compute.", lang="fr")
    member = api("member")

    def find(**filters: Any) -> set[str]:
        return set(titles(member.post(PATH, {"query_text": "nodes", "filters": filters})))

    assert find() == find(unknown=["x"]) == {"old", "new", "undated"}
    assert find(source_type="email") == {"old", "new"}
    assert find(source_type="faq") == {"undated"}
    assert find(source_type="web") == set()
    assert find(lang="fr") == {"new", "undated"}
    assert find(source_type="email", lang="fr") == {"new"}
    assert find(date_from="2025-06-01T00:00:00Z") == {"old", "new"}
    assert find(date_from="2025-06-01T00:00:01Z") == {"new"}
    assert find(date_to="2025-06-01T02:00:00+02:00") == {"old"}
    assert find(date_from="2025-06-02T00:00:00", date_to="2025-06-30T00:00:00Z") == set()


def test_org_id_narrows_and_reveals_nothing_of_other_organisations(api: Api, live_world: World) -> None:
    """Request Schema: "org_id": "filters by organization"."""
    ingest_text(live_world.source(), "home", "Nodes compute.")
    ingest_text(live_world.source(organization=live_world.abroad), "abroad", "Nodes compute.")
    add_member(user=live_world.users["editor"], organization=live_world.abroad)
    home, abroad = str(live_world.home.pk), str(live_world.abroad.pk)
    editor, member = api("editor"), api("member")

    def find(client: Client, org_id: str) -> list[str]:
        return titles(client.post(PATH, {"query_text": "nodes", "filters": {"org_id": org_id}}))

    assert (find(editor, home), find(editor, abroad)) == (["home"], ["abroad"])
    assert find(editor.with_headers(X_Organization="home"), abroad) == []
    assert find(member, home) == ["home"]
    assert find(member, abroad) == find(member, str(uuid.uuid4())) == []


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query_text": ""}, "query_text"),
        ({"query_text": " "}, "query_text"),
        ({"query_text": None}, "query_text"),
        ({"query_text": 7}, "query_text"),
        ({"query_text": "x" * 501}, "query_text"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 51}, "top_k"),
        ({"top_k": 8.5}, "top_k"),
        ({"filters": "email"}, "filters"),
        ({"filters": {"source_type": "tweet"}}, "filters.source_type"),
        ({"filters": {"source_type": ["email"]}}, "filters.source_type"),
        ({"filters": {"lang": "x" * 21}}, "filters.lang"),
        ({"filters": {"org_id": "home"}}, "filters.org_id"),
        ({"filters": {"org_id": 7}}, "filters.org_id"),
        ({"filters": {"date_from": "yesterday"}}, "filters.date_from"),
        ({"filters": {"date_from": 1735689600}}, "filters.date_from"),
        ({"filters": {"date_from": "2025-01-31T00:00:00Z\0"}}, "filters.date_from"),
        ({"filters": {"date_to": "0001-01-01T00:00:00+14:00"}}, "filters.date_to"),
        ({"filters": {"date_to": "2025-13-01T00:00:00Z"}}, "filters.date_to"),
    ],
)
def test_invalid_fields_are_named(api: Api, change: dict[str, Any], field: str) -> None:
    """Behavior 4: "400: Invalid query_text (empty, too long)"; the other fields likewise."""
    reply = api("member").post(PATH, {"query_text": "nodes", **change})
    assert (reply.status, reply.body["details"]["field"]) == (400, field), reply
    assert (reply.body["status"], reply.body["error"]) == ("error", "Validation error")
    assert set(reply.body) == {"status", "error", "message", "details"}


def test_query_text_may_have_500_characters(api: Api, live_world: World) -> None:
    ingest_text(live_world.source(), "a", "Nodes compute.")
    assert titles(api("member").post(PATH, {"query_text": "é" * 500})) == ["a"]


def test_the_body_selects_the_contract_of_the_shared_path(api: Api) -> None:
    """Shared rules: "`query_text` → retrieval; otherwise v3 … Both present is a 400 that says so"."""
    member = api("member")
    assert "resultCount" in member.post(PATH, {"query": "nodes"}).body
    assert member.post(PATH, {}).body["message"] == "query is required"
    both = member.post(PATH, {"query": "nodes", "query_text": "nodes"})
    assert both.status == 400
    assert both.body["message"] == "send either query or query_text, not both"
    assert member.post(PATH, {"query_text": "nodes"}).body["status"] == "success"
    # The other path is retrieval's alone.
    reply = member.post(FUNCTION, {"query": "nodes"})
    assert (reply.status, reply.body["status"]) == (400, "error")
    details = {"field": "query_text", "message": "query_text is required", "request_id": reply.headers["x-request-id"]}
    assert reply.body["details"] == details


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"nodes"'])
def test_a_body_that_is_not_an_object(api: Api, body: bytes) -> None:
    reply = api("member").post(FUNCTION, body)
    assert (reply.status, reply.body["status"], reply.body["error"]) == (400, "error", "Validation error")


def test_a_caller_sees_only_what_they_may_query(api: Api, live_world: World) -> None:
    """RLS Enforcement: "User can only see chunks from sources their org owns"; no sources give no results."""
    ingest_text(live_world.source(), "open", "Nodes compute.")
    ingest_text(live_world.source("closed", visibility=Visibility.PERSONAL), "closed", "Nodes compute.")
    assert titles(api("member").post(PATH, {"query_text": "nodes"})) == ["open"]
    assert set(titles(api("owner").post(PATH, {"query_text": "nodes"}))) == {"open", "closed"}
    assert titles(api("foreigner").post(FUNCTION, {"query_text": "nodes"})) == []


def test_a_token_is_required(api: Api) -> None:
    """Behavior 4: "401: Missing/invalid JWT"."""
    for client in (api(), api().with_headers(Authorization="Bearer nonsense")):
        reply = client.post(FUNCTION, {"query_text": "nodes"})
        assert (reply.status, reply.body["status"], reply.body["error"]) == (401, "error", "Unauthorized")
