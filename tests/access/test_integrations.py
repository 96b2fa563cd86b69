"""Integrations show each caller what the access rule allows: in random worlds, for every user and key."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from django.urls import resolve
from hypothesis import Phase, given, settings
from ragsite_client import Client, RagsiteError
from rest_framework.test import APIRequestFactory, force_authenticate

from orgs.access.caller import Caller
from rag.contracts.mcp.views import Mcp
from rag.contracts.openai_api.views import ChatCompletions, Embeddings, Models
from rag.contracts.pipeline.documents.views import Documents
from rag.contracts.pipeline.queries.views import Queries
from rag.errors import RagError
from rag.models import DataSource, Document
from rag.services.openai_api import sources_as_models
from ragsite.postgres import identity
from tests.access import check_counts
from tests.access.rule import oracle
from tests.access.rule.test_visible_to import rolled_back
from tests.access.worlds import Rows, add_content, build, worlds

pytestmark = pytest.mark.django_db
QUERY = "query"
# Every caller of a world asks for several answers.
COMPARED_WORLDS = max(2, int(os.environ.get("PROVE_WORLDS", "20")) // 10)


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

    def client(self) -> Client:
        """The Python client, whose requests go to the views."""
        return Client("http://testserver", "any key", max_retries=0, transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        match, address = resolve(request.url.path), request.url.raw_path.decode()
        content_type = request.headers.get("Content-Type", "application/json")
        sent = APIRequestFactory().generic(request.method, address, request.content.decode(), content_type)
        force_authenticate(sent, self.caller.user, self.caller)  # type: ignore[arg-type]  # any credential
        response = match.func(sent, **match.kwargs)
        response.render()
        return httpx2.Response(response.status_code, headers=dict(response.items()), content=response.content)

    def rest(self, action: str, **body: object) -> Any:
        status, reply = self.post(Queries.as_view({"post": action}), body)
        return reply if status == 200 else None


@given(world=worlds())
@settings(max_examples=COMPARED_WORLDS, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
def test_integrations_return_what_rest_returns(world: oracle.World) -> None:
    with rolled_back():
        rows = build(world)
        add_content(DataSource.objects.all())
        documents = {document.source_id: document for document in Document.objects.all()}
        for user, key, caller in rows.callers():
            if user is None:  # the contracts refuse anonymous requests
                continue
            with identity.run_as(caller.database_identity):
                readable = rows.expected(user, key, QUERY)
                views = Views(caller)
                answered = views.rest("query", query="a", topK=10)
                compare_tools(views, answered, readable, documents)
                compare_openai_api(views, answered, rows, readable, documents)
                compare_python_client(views, answered, readable, documents)
            check_counts.count("callers for whom MCP, OpenAI's API and the Python client were compared with REST")


def compare_tools(views: Views, queried: Any, readable: set[Any], documents: dict[Any, Document]) -> None:
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
    answered = views.tool("ask", question="a")
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


def compare_openai_api(
    views: Views, queried: Any, rows: Rows, readable: set[Any], documents: dict[Any, Document]
) -> None:
    """Compare the models and completions with REST and with the sources that the oracle lets the caller query."""
    status, models = views.get(Models.as_view({"get": "list"}))
    assert len(models["data"]) - 1 == len(readable) if readable else status == 403 or models["data"] == []
    content, cited = complete(views, "ragsite")
    assert content == (queried or {}).get("answer")
    assert cited <= {str(documents[source_id].pk) for source_id in readable}
    # One source that the caller may query, and one that they may not, if there are such.
    ids = {source.pk for source in rows.sources.values()}
    for source_id in [*sorted(readable)[:1], *sorted(ids - readable)[:1]]:
        content, cited = complete(views, f"ragsite/{source_id}")
        of_source = views.rest("query", query="a", topK=10, dataSources=[str(source_id)])
        assert (content is not None) == (source_id in readable) == (of_source is not None)
        assert content == (of_source or {}).get("answer")
        assert cited <= {str(documents[source_id].pk)}
    # Vectors are of no source: the scope of a key decides. An unknown model is a 404 for those who pass.
    status, _ = views.post(Embeddings.as_view({"post": "create"}), {"model": "unknown", "input": "a"})
    key = views.caller.key
    assert status == (404 if key is None or QUERY in key.scopes else 403)


def complete(views: Views, model: str) -> tuple[str | None, set[str]]:
    """The text of a chat completion, and the documents that it cites; None if it is refused."""
    body: dict[str, object] = {"model": model, "messages": [{"role": "user", "content": "a"}]}
    status, completion = views.post(ChatCompletions.as_view({"post": "create"}), body)
    if status != 200:
        return None, set()
    message = completion["choices"][0]["message"]
    return message["content"], {item["url_citation"]["document_id"] for item in message["annotations"]}


def compare_python_client(views: Views, queried: Any, readable: set[Any], documents: dict[Any, Document]) -> None:
    """Compare what the client returns with REST; what REST refuses is an error of the client."""
    retrieved = views.rest("retrieve_passages", query="a", topK=10)
    with views.client() as client:
        passages, answer = or_none(lambda: client.search("a")), or_none(lambda: client.ask("a"))
        assert [passage.chunk_id for passage in passages or []] == [
            passage["chunkId"] for passage in (retrieved or {"documents": []})["documents"]
        ]
        assert (answer and answer.answer) == (queried or {}).get("answer")
        for source_id, document in documents.items():
            listed = or_none(lambda: [item.id for item in client.list_documents(str(source_id))])  # noqa: B023
            if source_id in readable:
                assert listed == [str(document.pk)]


def or_none(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RagsiteError:
        return None
