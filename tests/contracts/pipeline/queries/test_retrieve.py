"""The pipeline contract, sub-contract 2, and its data sources, over HTTP."""

import datetime
from collections.abc import Callable
from typing import Any

import pytest

from orgs.access.permissions import Visibility
from orgs.creation import add_member
from rag.models import EmbeddingModel, Grant
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text, ingest_texts
from tests.support.http import Client
from tests.support.servers.provider_server import ProviderServer

Api = Callable[..., Client]


def test_only_queries_sources_the_user_has_access_to(api: Api, live_world: World) -> None:
    """Guarantee: "Only queries data sources user has access to (RBAC enforced)", for all five visibilities."""
    roles, teams = live_world.home.roles, live_world.home.teams
    grants: dict[Visibility, dict[str, Any]] = {
        Visibility.PUBLIC: {},
        Visibility.ROLE: {"role": roles.get(name="admin")},
        Visibility.TEAM: {"team": teams.get(name="support")},
        Visibility.PRIVATE: {"user": live_world.users["editor"]},
        Visibility.PERSONAL: {},
    }
    for visibility, grant in grants.items():
        source = live_world.source(visibility.value, visibility=visibility)
        ingest_text(source, visibility.value, "Zebras have stripes.")
        if grant:
            Grant.objects.create(source=source, **grant)

    def seen(name: str) -> set[str]:
        reply = api(name).post("/api/rag/retrieve", {"query": "zebra", "topK": 50})
        return (
            {document["path"] for document in reply.body["documents"]} if reply.status == 200 else {reply.body["error"]}
        )

    assert seen("owner") == {"public", "personal"}
    assert seen("admin") == {"public", "role"}
    assert seen("editor") == {"public", "private"}
    assert seen("supporter") == {"public", "team"}
    assert seen("member") == {"public"}
    assert seen("foreigner") == {"NO_ACCESSIBLE_SOURCES"}


def test_a_named_source_must_be_visible(api: Api, live_world: World) -> None:
    ingest_text(live_world.source("open"), "a", "Zebras have stripes.")
    ingest_text(live_world.source("closed", visibility=Visibility.PRIVATE), "b", "Zebras have stripes.")
    member = api("member")
    assert member.post("/api/rag/retrieve", {"query": "zebra", "dataSources": ["open"]}).status == 200
    for hidden in ("closed", "nowhere"):
        reply = member.post("/api/rag/retrieve", {"query": "zebra", "dataSources": ["open", hidden]})
        assert (reply.status, reply.body["error"]) == (404, "SOURCE_NOT_FOUND")
        assert reply.body["details"] == {"reference": hidden, "request_id": reply.headers["x-request-id"]}


def test_no_results(api: Api, live_world: World) -> None:
    live_world.source("empty")
    reply = api("member").post("/api/rag/retrieve", {"query": "zebra"})
    assert (reply.status, reply.body["error"]) == (404, "NO_RESULTS")


def test_filters(api: Api, live_world: World) -> None:
    source = live_world.source()
    day = datetime.datetime(2025, 6, 1, tzinfo=datetime.UTC)
    ingest_text(source, "old", "Zebras have stripes.", tags=("a",), lang="en", date=day)
    ingest_text(source, "new", "Zebras have stripes.", tags=("b",), lang="fr", date=day + datetime.timedelta(days=30))
    ingest_text(source, "mail", "Zebras have stripes.", source_type="email")
    member = api("member")

    def paths(*filters: dict[str, Any]) -> set[str]:
        reply = member.post("/api/rag/retrieve", {"query": "zebra", "filters": list(filters)})
        return {document["path"] for document in reply.body.get("documents", [])}

    assert paths() == {"old", "new", "mail"}
    assert paths({"field": "tags", "value": ["a", "b"]}) == {"old", "new"}
    assert paths({"field": "tags", "value": "a"}) == {"old"}
    assert paths({"field": "lang", "value": "fr"}) == {"new"}
    assert paths({"field": "sourceType", "value": "email"}) == {"mail"}
    assert paths({"field": "dateFrom", "value": "2025-06-02T00:00:00Z"}) == {"new"}
    assert paths({"field": "dateTo", "value": "2025-06-02T00:00:00Z"}) == {"old"}
    assert paths({"field": "tags", "value": "a"}, {"field": "lang", "value": "fr"}) == set()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"query": " "}, "query"),
        ({"topK": 0}, "topK"),
        ({"topK": 101}, "topK"),
        ({"dataSources": []}, "dataSources"),
        ({"dataSources": "library"}, "dataSources"),
        ({"dataSources": [7]}, "dataSources[0]"),
        ({"filters": [{"field": "owner", "value": "x"}]}, "filters[0].field"),
        ({"filters": [{"field": "dateFrom", "value": 7}]}, "filters[0].value"),
        ({"filters": [{"field": "sourceType", "value": "tweet"}]}, "filters[0].value[0]"),
        ({"rerank": "yes"}, "rerank"),
        ({"rerankModel": "unknown"}, "rerankModel"),
    ],
)
def test_validation(api: Api, live_world: World, change: dict[str, Any], field: str) -> None:
    ingest_text(live_world.source(), "a", "Zebras have stripes.")
    reply = api("member").post("/api/rag/retrieve", {"query": "zebra", **change})
    assert (reply.status, reply.body["error"]) == (400, "INVALID_REQUEST"), reply
    assert reply.body["details"]["field"] == field


def test_embedding_endpoint_that_is_down(api: Api, live_world: World, settings: Any) -> None:
    settings.RAG_EMBEDDING_MAX_RETRIES = 0
    model = EmbeddingModel.objects.create(
        name="down", provider="openai", dimensions=768, base_url="http://127.0.0.1:9/v1"
    )
    live_world.source(embedding_model=model)
    reply = api("member").post("/api/rag/retrieve", {"query": "zebra"})
    assert (reply.status, reply.body["error"]) == (503, "EMBEDDING_FAILED")
    assert "127.0.0.1" not in reply.body["message"]
    document = {"source": "library", "path": "a", "title": "A", "text": "Alpha."}
    sent = api("editor").post("/api/rag/ingest", document)
    assert (sent.status, sent.body["error"]) == (503, "Service unavailable")


def test_sources_of_two_embedding_models(api: Api, live_world: World, model_provider: ProviderServer) -> None:
    """Shared rules: "a query over sources of several models embeds once per model and merges"."""
    model = EmbeddingModel.objects.create(
        name="far", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    ingest_text(live_world.source("local"), "a", "Zebras have stripes.")
    for slug in ("far", "farther"):
        ingest_text(live_world.source(slug, embedding_model=model), slug, "Zebras have stripes.")
    model_provider.requests.clear()
    results = api("member").post("/api/rag/retrieve", {"query": "zebras have stripes", "rerank": False}).body
    assert {document["path"] for document in results["documents"]} == {"a", "far", "farther"}
    assert results["scores"] == sorted(results["scores"], reverse=True)
    assert [request["input"] for request in model_provider.requests] == [["zebras have stripes"]]


def test_a_slug_in_two_organisations_is_ambiguous(api: Api, live_world: World) -> None:
    """docs/contracts/access.md: a 400 asks for X-Organization or the id, and either of them selects one source."""
    sources = [live_world.source(), live_world.source(organization=live_world.abroad)]
    for source in sources:
        ingest_text(source, source.organization.slug, "Zebras have stripes.")
    add_member(user=live_world.users["member"], organization=live_world.abroad)
    member, body = api("member"), {"query": "zebra", "dataSources": ["library"]}

    def paths(client: Client, body: dict[str, Any]) -> set[str]:
        results = client.post("/api/rag/retrieve", body).body
        assert set(results["dataSources"]) == {document["dataSourceId"] for document in results["documents"]}
        return {document["path"] for document in results["documents"]}

    assert paths(member, {"query": "zebra"}) == {"home", "abroad"}
    refused = member.post("/api/rag/retrieve", body)
    assert (refused.status, refused.body["error"]) == (400, "INVALID_REQUEST")
    assert "X-Organization" in refused.body["message"]
    assert paths(member.with_headers(X_Organization="abroad"), body) == {"abroad"}
    assert paths(member, {**body, "dataSources": [str(sources[0].pk)]}) == {"home"}


def test_top_k_is_10_unless_given_and_total_found_counts_before_it(api: Api, live_world: World) -> None:
    """Inputs: `topK` "default 10"; outputs: `totalFound` "Total matches before topK"; "Maximum `topK` results"."""
    source = live_world.source()
    ingest_texts(source, {f"n{number}": f"Zebra number {number}." for number in range(12)})
    member = api("member")
    for options, count in (({}, 10), ({"topK": 1}, 1), ({"topK": 100}, 12)):
        results = member.post("/api/rag/retrieve", {"query": "zebra", **options}).body
        assert (len(results["documents"]), len(results["scores"]), results["totalFound"]) == (count, count, 12)
        assert results["scores"] == sorted(results["scores"], reverse=True)
        assert all(0 <= score <= 1 for score in results["scores"])


def test_sources_are_listed_for_those_who_may_see_them(api: Api, live_world: World) -> None:
    for slug in ("a", "b", "c"):
        live_world.source(slug)
    live_world.source("hidden", visibility=Visibility.PRIVATE)
    listed = api("member").get("/api/rag/sources?pageSize=2&page=2").body
    assert [source["slug"] for source in listed["sources"]] == ["c"]
    assert (listed["total"], listed["page"], listed["pageSize"]) == (3, 2, 2)
    snapshots.assert_matches("pipeline-sources", listed)
    assert api("owner").get("/api/rag/sources").body["total"] == 4
    assert api("foreigner").get("/api/rag/sources").body["total"] == 0
    source = api("member").get("/api/rag/sources/a").body
    assert source["visibility"] == "public"
    snapshots.assert_matches("pipeline-source", source)
    assert api("member").get("/api/rag/sources/hidden").status == 404
    for unusual in ("a%00b", "%F0%9F%A6%93", "..%2F..", "a'--", "%FF"):
        assert api("member").get(f"/api/rag/sources/{unusual}").status == 404
    assert api("member").get("/api/rag/sources?page=0").status == 400
    assert api("member").get("/api/rag/sources?page=999").body["sources"] == []


def test_x_organization_narrows(api: Api, live_world: World) -> None:
    ingest_text(live_world.source(), "a", "Zebras have stripes.")
    member = api("member")
    for reference in ("home", str(live_world.home.pk)):
        named = member.with_headers(X_Organization=reference)
        assert named.post("/api/rag/retrieve", {"query": "zebra"}).status == 200
    foreign = member.with_headers(X_Organization="abroad").post("/api/rag/retrieve", {"query": "zebra"})
    assert (foreign.status, foreign.body["details"]["field"]) == (400, "X-Organization")
