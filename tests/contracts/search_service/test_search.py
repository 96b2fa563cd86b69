"""The search service contract, section 1: POST /api/v1/search, over HTTP."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from rag.models import Chunk
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text, ingest_texts
from tests.support.http import Client, Reply

Api = Callable[..., Client]
PATH = "/api/v1/search"


def paths(reply: Reply) -> list[str]:
    assert reply.status == 200, reply
    assert reply.body["total_results"] == len(reply.body["results"])
    return [result["source_file_path"] for result in reply.body["results"]]


def test_exactly_the_contracts_fields(api: Api, live_world: World) -> None:
    """1, Response (Success)."""
    ingest_text(
        live_world.source(), "/docs/nodes.md", "A node in robotics computes.", title="Understanding Nodes",
        uri="https://Example.com:8080/docs/nodes", content_type="documentation", tags=("robotics", "nodes"),
    )  # fmt: skip
    reply = api("member").post(PATH, {"query": "What is a node?"})
    assert reply.status == 200
    body = reply.body
    snapshots.assert_matches("search-service-search", body)
    query_id, score, elapsed = body.pop("query_id"), body["results"][0].pop("score"), body.pop("search_time_ms")
    assert query_id == str(uuid.UUID(query_id))
    assert 0.3 < score <= 1
    assert isinstance(elapsed, float)
    assert elapsed > 0
    assert elapsed == round(elapsed, 1)
    assert body == {
        "results": [
            {
                "id": str(Chunk.objects.get().pk),
                "content": "A node in robotics computes.",
                "source_url": "https://Example.com:8080/docs/nodes",
                "source_file_path": "/docs/nodes.md",
                "chunk_index": 0,
                "metadata": {
                    "title": "Understanding Nodes",
                    "source_domain": "example.com",
                    "content_type": "documentation",
                    "tags": ["robotics", "nodes"],
                },
            }
        ],
        "total_results": 1,
        "message": "Search completed successfully",
    }


def test_a_document_without_a_link_has_empty_strings(api: Api, live_world: World) -> None:
    """docs/contracts/search-service.md: the contract's `source_url` is a string."""
    source = live_world.source()
    ingest_text(source, "plain", "Nodes compute.")
    ingest_text(source, "http://[broken", "Nodes compute.", uri="http://[broken")
    results = api("member").post(PATH, {"query": "nodes"}).body["results"]
    links = {
        result["source_file_path"]: (result["source_url"], result["metadata"]["source_domain"]) for result in results
    }
    assert links == {"plain": ("", ""), "http://[broken": ("http://[broken", "")}


def test_top_k_is_5_unless_given_and_results_are_ordered_by_the_cosine(api: Api, live_world: World) -> None:
    """1, Request Parameters: "top_k … (default: 5, max: 10)"."""
    source = live_world.source()
    ingest_texts(source, {f"n{number}": f"Node number {number} computes." for number in range(12)})
    ingest_text(source, "zebra", "Zebras have stripes.")
    member = api("member")
    for options, count in (({}, 5), ({"top_k": 1}, 1), ({"top_k": 10}, 10)):
        reply = member.post(PATH, {"query": "What stripes do zebras have?", **options})
        assert len(paths(reply)) == count
        assert paths(reply)[0] == "zebra"
        scores = [result["score"] for result in reply.body["results"]]
        assert scores == sorted(scores, reverse=True)


def test_filters(api: Api, live_world: World) -> None:
    """1, Request Parameters: "filters"; tags are alternatives, both filters must hold."""
    source = live_world.source()
    ingest_text(source, "a", "Nodes compute.", content_type="documentation", tags=("tutorial",))
    ingest_text(source, "b", "Nodes compute.", content_type="documentation", tags=("beginner", "x"))
    ingest_text(source, "c.md", "Nodes compute.", tags=("tutorial",))
    ingest_text(source, "d", "Nodes compute.")
    member = api("member")

    def find(**filters: Any) -> set[str]:
        return set(paths(member.post(PATH, {"query": "nodes", "filters": filters})))

    assert find() == {"a", "b", "c.md", "d"}
    assert find(content_type="documentation") == {"a", "b"}
    assert find(tags=["tutorial", "beginner"]) == {"a", "b", "c.md"}
    assert find(content_type="documentation", tags=["tutorial", "beginner"]) == {"a", "b"}
    assert find(content_type="documentation", tags=["tutorial"]) == {"a"}
    assert find(content_type="text/markdown") == {"c.md"}
    assert find(content_type="text/plain") == {"d"}
    assert find(content_type="Documentation") == set()


def test_the_content_type_is_as_given_or_the_mime_type(api: Api, live_world: World) -> None:
    """Shared rules: "its content type as given (`documentation`, …) or its MIME type". It can change alone."""
    source = live_world.source()
    member = api("member")

    def types(**filters: Any) -> set[tuple[str, str]]:
        results = member.post(PATH, {"query": "nodes", "filters": filters}).body["results"]
        return {(result["source_file_path"], result["metadata"]["content_type"]) for result in results}

    ingest_text(source, "readme.MD?raw=1", "Nodes compute.")
    assert types(content_type="text/markdown") == {("readme.MD?raw=1", "text/markdown")}
    assert ingest_text(source, "readme.MD?raw=1", "Nodes compute.", content_type="documentation").status == "unchanged"
    assert types(content_type="documentation") == {("readme.MD?raw=1", "documentation")}
    assert types(content_type="text/markdown") == set()
    assert ingest_text(source, "readme.MD?raw=1", "Nodes compute.").status == "unchanged"
    assert types(content_type="text/markdown") == {("readme.MD?raw=1", "text/markdown")}


@pytest.mark.parametrize("body", [b"", {}, {"query": ""}, {"query": " \n"}, {"query": None}])
def test_an_empty_query(api: Api, body: Any) -> None:
    """1, Response (Error)."""
    reply = api("member").post(PATH, body)
    assert reply.status == 400
    assert (reply.body["error"], reply.body["message"]) == ("invalid_query", "Query must not be empty")
    assert set(reply.body) == {"error", "message", "details"}


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"query": 7}, "invalid_query", "query"),
        ({"query": "x" * 2001}, "invalid_query", "query"),
        ({"top_k": 0}, "invalid_request", "top_k"),
        ({"top_k": 11}, "invalid_request", "top_k"),
        ({"top_k": "5"}, "invalid_request", "top_k"),
        ({"top_k": None}, "invalid_request", "top_k"),
        ({"filters": []}, "invalid_request", "filters"),
        ({"filters": {"content_type": ["documentation"]}}, "invalid_request", "filters.content_type"),
        ({"filters": {"content_type": ""}}, "invalid_request", "filters.content_type"),
        ({"filters": {"content_type": "x" * 201}}, "invalid_request", "filters.content_type"),
        ({"filters": {"tags": "tutorial"}}, "invalid_request", "filters.tags"),
        ({"filters": {"tags": ["x"] * 51}}, "invalid_request", "filters.tags"),
    ],
)
def test_wrong_parameters_are_named(api: Api, change: dict[str, Any], code: str, field: str) -> None:
    """1, HTTP Status Codes: "400: Invalid request parameters"; Common Error Codes."""
    reply = api("member").post(PATH, {"query": "nodes", **change})
    assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (400, code, field), reply


def test_an_unknown_filter_is_rejected_with_the_supported_ones(api: Api) -> None:
    reply = api("member").post(PATH, {"query": "nodes", "filters": {"tag": ["x"], "tags": ["x"]}})
    assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (400, "invalid_request", "filters")
    assert "content_type, tags" in reply.body["message"]


@pytest.mark.parametrize("body", [b"{", b"[]", b'"nodes"'])
def test_a_body_that_is_not_an_object(api: Api, body: bytes) -> None:
    reply = api("member").post(PATH, body)
    assert (reply.status, reply.body["error"]) == (400, "invalid_request")


def test_only_what_the_caller_may_query(api: Api, live_world: World) -> None:
    """A caller who may query nothing gets no results and no error (docs/contracts/search-service.md)."""
    ingest_text(live_world.source(), "open", "Nodes compute.")
    ingest_text(live_world.source("closed", visibility=Visibility.PERSONAL), "closed", "Nodes compute.")
    assert paths(api("member").post(PATH, {"query": "nodes"})) == ["open"]
    assert set(paths(api("owner").post(PATH, {"query": "nodes"}))) == {"open", "closed"}
    reply = api("foreigner").post(PATH, {"query": "nodes"})
    assert paths(reply) == []
    assert reply.body["message"] == "Search completed successfully"


def test_authentication_is_required(api: Api, live_world: World) -> None:
    """Authentication: "All endpoints require authentication using API key", by either of two headers."""
    for reply in (api().post(PATH, {"query": "nodes"}), api().get(f"{PATH}/{uuid.uuid4()}")):
        assert (reply.status, reply.body["error"]) == (401, "unauthorized")
        assert reply.headers["www-authenticate"]
    secret = live_world.key("member").secret
    for headers in ({"Authorization": f"Bearer {secret}"}, {"X-API-Key": secret}):
        assert api().with_headers(**headers).post(PATH, {"query": "nodes"}).status == 200
        wrong = api().with_headers(**{name: value[:-1] for name, value in headers.items()})
        assert wrong.post(PATH, {"query": "nodes"}).body["error"] == "unauthorized"


def test_the_path_works_with_a_slash_and_only_by_post(api: Api, live_world: World) -> None:
    ingest_text(live_world.source(), "a", "Nodes compute.")
    member = api("member")
    assert paths(member.post(PATH + "/", {"query": "nodes"})) == ["a"]
    assert member.get(PATH).status == 405
    assert member.get(PATH + "/").status == 405
