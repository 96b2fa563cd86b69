"""Integrations show each caller what the access rule allows: in random worlds, for every user and key."""

import json
import os
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from rest_framework.test import APIRequestFactory, force_authenticate

from orgs.access.caller import Caller
from rag.contracts.mcp.views import Mcp
from rag.contracts.pipeline.documents.views import Documents
from rag.contracts.pipeline.queries.views import Queries
from rag.errors import RagError
from rag.models import DataSource, Document
from rag.services.openai_api import sources_as_models
from ragsite.postgres import identity
from tests.access import check_counts
from tests.access.rule import oracle
from tests.access.rule.test_visible_to import rolled_back
from tests.access.worlds import add_content, build, worlds

pytestmark = pytest.mark.django_db
QUERY = "query"
# Every caller of a world asks twice for an answer.
MCP_WORLDS = max(2, int(os.environ.get("PROVE_WORLDS", "20")) // 10)


@given(world=worlds())
@settings(max_examples=20, deadline=None, phases=set(Phase) - {Phase.explain})
def test_the_models_of_openais_api_are_the_sources_that_a_caller_may_query(world: oracle.World) -> None:
    with rolled_back():
        rows = build(world)
        for user, key, caller in rows.callers():
            if user is None:  # the contracts refuse anonymous requests
                continue
            allowed = {source.name for source in world.sources if oracle.is_allowed(world, user, source, QUERY, key)}
            with identity.run_as(caller.database_identity):
                listed = sources_as_models.list_models(caller)
                visible = {model.source.pk for model in listed if model.source}
                assert visible == {rows.sources[name].pk for name in allowed}
                assert bool(listed) == bool(allowed)
                usable = {name for name, source in rows.sources.items() if is_usable(caller, str(source.pk))}
            assert usable == allowed
            check_counts.count("lists of models compared")


def is_usable(caller: Caller, reference: str) -> bool:
    try:
        sources_as_models.select_sources(caller, f"ragsite/{reference}")
    except RagError:
        return False
    return True


@dataclass(frozen=True)
class Views:
    """Calls the views of MCP and of REST as one caller."""

    caller: Caller

    def post(self, view: Any, body: dict[str, object], **path: str) -> tuple[int, Any]:
        return self._send(view, APIRequestFactory().post("/", body, format="json"), **path)

    def get(self, view: Any, **path: str) -> tuple[int, Any]:
        return self._send(view, APIRequestFactory().get("/"), **path)

    def _send(self, view: Any, request: Any, **path: str) -> tuple[int, Any]:
        force_authenticate(request, self.caller.user, self.caller)  # type: ignore[arg-type]  # any credential
        response = view(request, **path)
        response.render()
        return response.status_code, json.loads(response.content)

    def tool(self, name: str, **arguments: object) -> Any:
        """What a tool returns; None if it, or the whole request, is refused."""
        result = self.rpc("tools/call", name=name, arguments=arguments)
        return None if result is None or result["isError"] else result["structuredContent"]

    def rpc(self, method: str, **params: object) -> Any:
        status, body = self.post(
            Mcp.as_view({"post": "create"}), {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        )
        return body.get("result") if status == 200 else None

    def rest(self, action: str, **body: object) -> Any:
        status, reply = self.post(Queries.as_view({"post": action}), body)
        return reply if status == 200 else None


@given(world=worlds())
@settings(max_examples=MCP_WORLDS, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_the_tools_of_mcp_return_what_rest_returns(world: oracle.World) -> None:
    with rolled_back():
        rows = build(world)
        add_content(DataSource.objects.all())
        documents = {document.source_id: document for document in Document.objects.all()}
        for user, key, caller in rows.callers():
            if user is None:  # the contracts refuse anonymous requests
                continue
            with identity.run_as(caller.database_identity):
                readable = rows.expected(user, key, QUERY)
                compare_tools(Views(caller), readable, documents)
            check_counts.count("callers whose MCP tools were compared with REST")


def compare_tools(views: Views, readable: set[Any], documents: dict[Any, Document]) -> None:
    """Compare every tool and the resources with REST and with the sources that the oracle lets the caller query."""
    ids = {str(documents[source_id].pk) for source_id in readable}
    searched, retrieved = (
        views.tool("search", query="a", top_k=50),
        views.rest("retrieve_passages", query="a", topK=50),
    )
    passages = retrieved["documents"] if retrieved else []
    assert [passage["chunk_id"] for passage in (searched or {"passages": []})["passages"]] == [
        passage["chunkId"] for passage in passages
    ]
    assert {passage["documentId"] for passage in passages} <= ids
    answered, queried = views.tool("ask", question="a"), views.rest("query", query="a", topK=10)
    assert (answered or {}).get("answer") == (queried or {}).get("answer")
    listed = views.tool("list_sources")
    assert {source["id"] for source in (listed or {"sources": []})["sources"]} == {str(pk) for pk in readable}
    resources = views.rpc("resources/list")
    assert {resource["uri"].rpartition("/")[2] for resource in (resources or {"resources": []})["resources"]} == ids
    for source_id, document in documents.items():
        shown = views.tool("get_document", document_id=str(document.pk))
        assert (shown is not None) == (source_id in readable)
        assert (views.rpc("resources/read", uri=f"ragsite://documents/{document.pk}") is not None) == bool(shown)
        if shown:
            status, fields = views.get(
                Documents.as_view({"get": "retrieve"}), reference=str(source_id), document_id=str(document.pk)
            )
            assert (status, fields["id"], fields["path"]) == (200, shown["document_id"], shown["path"])
