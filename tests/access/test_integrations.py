"""Integrations show each caller what the access rule allows: in random worlds, for every user and key."""

import math
import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from ragsite_client import RagsiteError

from orgs.access.caller import Caller
from rag.errors import RagError
from rag.models import DataSource, Document
from rag.services.openai_api import sources_as_models
from ragsite.postgres import identity
from tests.access import check_counts
from tests.access.calls import Calls
from tests.access.rule import oracle
from tests.access.worlds import Rows, add_content, build, worlds
from tests.support.data.database import rolled_back

pytestmark = pytest.mark.django_db
QUERY = "query"
# Every caller of a world asks for some forty answers. A world has at least six callers who are signed in.
COMPARED_CALLERS = int(os.environ.get("PROVE_WORLDS", "12"))
COMPARED_WORLDS = math.ceil(COMPARED_CALLERS / 6)
# Id of a source → the id of its document, as the APIs write it.
Documents = dict[Any, str]


@given(world=worlds())
@settings(max_examples=8, phases=set(Phase) - {Phase.explain})
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


def test_integrations_return_what_rest_returns(copy_to_index: Callable[[], None]) -> None:
    readers: list[int] = []  # of each caller, how many sources they may query

    @given(world=worlds())
    @settings(max_examples=COMPARED_WORLDS, phases=set(Phase) - {Phase.shrink, Phase.explain})
    def compare_world(world: oracle.World) -> None:
        with rolled_back():
            rows = build(world)
            add_content(DataSource.objects.all())
            copy_to_index()
            documents = {document.source_id: str(document.pk) for document in Document.objects.all()}
            for user, key, caller in rows.callers():
                if user is None:  # the contracts refuse anonymous requests
                    continue
                readable = rows.expected(user, key, QUERY)
                with identity.run_as(caller.database_identity):
                    compare_integrations(Calls(caller), rows, readable, documents)
                readers.append(len(readable))

    compare_world()
    check_counts.count("callers for whom the contracts, MCP, OpenAI's API and the Python client agree", len(readers))
    check_counts.count("of them may query a source", sum(map(bool, readers)))
    assert len(readers) >= COMPARED_CALLERS
    assert 4 * sum(map(bool, readers)) >= len(readers), "most callers may query nothing, which compares little"


def compare_integrations(calls: Calls, rows: Rows, readable: set[Any], documents: Documents) -> None:
    """Compare each integration with REST, and REST with the sources that the oracle lets the caller query."""
    retrieved = calls.answer("/api/rag/retrieve", query="a", topK=50)
    passages = retrieved["documents"] if retrieved else []
    assert {passage["documentId"] for passage in passages} == {documents[source_id] for source_id in readable}
    chunk_ids = [passage["chunkId"] for passage in passages]
    answered = calls.answer("/api/rag/query", query="a", topK=10)
    text = answered["answer"] if answered else None
    compare_contracts(calls, passages, {name for name, source in rows.sources.items() if source.pk in readable})
    compare_tools(calls, chunk_ids, text, readable, documents)
    compare_openai_api(calls, text, rows, readable, documents)
    compare_python_client(calls, chunk_ids, text, readable, documents)


def compare_contracts(calls: Calls, passages: list[Any], names: set[str]) -> None:
    """Compare the search, chat and agent of the other contracts with REST. names: of the readable sources."""
    documents, chunks = ({passage[field] for passage in passages} for field in ("documentId", "chunkId"))
    searched = calls.answer("/api/rag/search", query="a", topK=20)
    assert {result["metadata"]["documentId"] for result in (searched or {"results": []})["results"]} == documents
    searched = calls.answer("/api/rag/search", query_text="a", top_k=50)
    assert {result["chunk_id"] for result in (searched or {"results": []})["results"]} == chunks
    searched = calls.answer("/api/v1/search", query="a", top_k=10)
    assert {result["id"] for result in (searched or {"results": []})["results"]} == chunks
    answered = calls.answer("/api/rag/answer", query_text="a", top_k=50)
    assert {citation["source_id"] for citation in (answered or {"citations": []})["citations"]} <= documents
    assert (answered["context_used"]["unique_sources"] if answered else 0) == len(documents)
    message = {"role": "user", "content": "a"}
    chatted = calls.answer("/api/chat", messages=[message], useRag=True, ragTopK=20)
    assert {source["source"] for source in (chatted or {"ragSources": []})["ragSources"]} == names
    agreed = calls.answer("/agent/respond", query="abc", top_k=50, min_score=0)
    assert {chunk["chunk_id"] for chunk in (agreed or {"retrieved_chunks": []})["retrieved_chunks"]} == chunks


def compare_tools(
    calls: Calls, chunk_ids: list[str], answer: str | None, readable: set[Any], documents: Documents
) -> None:
    """Compare every tool and the resources of MCP with REST."""
    searched = calls.tool("search", query="a", top_k=50)
    assert [passage["chunk_id"] for passage in (searched or {"passages": []})["passages"]] == chunk_ids
    assert (calls.tool("ask", question="a") or {}).get("answer") == answer
    listed = calls.tool("list_sources")
    assert {source["id"] for source in (listed or {"sources": []})["sources"]} == {str(pk) for pk in readable}
    resources = calls.rpc("resources/list")
    assert {resource["uri"].rpartition("/")[2] for resource in (resources or {"resources": []})["resources"]} == {
        documents[source_id] for source_id in readable
    }
    for source_id, document_id in documents.items():
        shown = calls.tool("get_document", document_id=document_id)
        assert (shown is not None) == (source_id in readable)
        assert (calls.rpc("resources/read", uri=f"ragsite://documents/{document_id}") is not None) == bool(shown)
        if shown:
            status, fields = calls.get(f"/api/rag/sources/{source_id}/documents/{document_id}")
            assert (status, fields["id"], fields["path"]) == (200, shown["document_id"], shown["path"])


def compare_openai_api(calls: Calls, answer: str | None, rows: Rows, readable: set[Any], documents: Documents) -> None:
    """Compare the models and completions with REST and with the sources that the oracle lets the caller query."""
    status, models = calls.get("/v1/models")
    assert len(models["data"]) - 1 == len(readable) if readable else status == 403 or models["data"] == []
    content, cited = complete(calls, "ragsite")
    assert content == answer
    assert cited <= {documents[source_id] for source_id in readable}
    # One source that the caller may query, and one that they may not, if there are such.
    ids = {source.pk for source in rows.sources.values()}
    for source_id in [*sorted(readable)[:1], *sorted(ids - readable)[:1]]:
        content, cited = complete(calls, f"ragsite/{source_id}")
        of_source = calls.answer("/api/rag/query", query="a", topK=10, dataSources=[str(source_id)])
        assert (content is not None) == (source_id in readable) == (of_source is not None)
        assert content == (of_source or {}).get("answer")
        assert cited <= {documents[source_id]}
    # Vectors are of no source: the scope of a key decides. An unknown model is a 404 for those who pass.
    status, _ = calls.post("/v1/embeddings", model="unknown", input="a")
    key = calls.caller.key
    assert status == (404 if key is None or QUERY in key.scopes else 403)


def complete(calls: Calls, model: str) -> tuple[str | None, set[str]]:
    """The text of a chat completion, and the documents that it cites; None if it is refused."""
    completion = calls.answer("/v1/chat/completions", model=model, messages=[{"role": "user", "content": "a"}])
    if completion is None:
        return None, set()
    message = completion["choices"][0]["message"]
    return message["content"], {item["url_citation"]["document_id"] for item in message["annotations"]}


def compare_python_client(
    calls: Calls, chunk_ids: list[str], answer: str | None, readable: set[Any], documents: Documents
) -> None:
    """Compare what the client returns with REST; what REST refuses is an error of the client."""
    with calls.client() as client:
        passages, answered = or_none(lambda: client.search("a", top_k=50)), or_none(lambda: client.ask("a"))
        assert [passage.chunk_id for passage in passages or []] == chunk_ids
        assert (answered and answered.answer) == answer
        for source_id in sorted(readable)[:2]:
            listed = or_none(lambda: [item.id for item in client.list_documents(str(source_id))])  # noqa: B023
            assert listed == [documents[source_id]]


def or_none(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except RagsiteError:
        return None
