"""The documents of a data source over HTTP, an addition to the pipeline contract: listing, showing, deleting."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from orgs.access.permissions import Visibility
from rag.models import Chunk, DataSource, Document, IngestionDocument
from rag.services.sources import documents, purge
from tests.support import factories
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client, Reply

Api = Callable[..., Client]
PATH = "/api/rag/sources/library/documents"
UNKNOWN = "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11"


def delete(client: Client, path: str) -> Reply:
    return client.send("DELETE", path)


@pytest.fixture
def library(live_world: World) -> DataSource:
    """A source with three documents; another source has a document with the same path."""
    source = live_world.source()
    ingest_text(
        source, "animals/zebra.md", "Zebras have stripes.", title="Zebra", lang="en", tags=("animals", "africa")
    )
    ingest_text(source, "animals/löwe.md", "Löwen haben Mähnen.", title="Löwe", lang="de", tags=("animals",))
    ingest_text(
        source, "faq", "Is 100% of it free? Yes_it is.", title="100% free", source_type="faq", metadata={"by": "Ann"}
    )
    ingest_text(live_world.source("other"), "animals/zebra.md", "Zebras have stripes.")
    return source


def test_documents_are_listed_by_path_with_their_counts(api: Api, library: DataSource) -> None:
    reply = api("member").get(PATH)
    assert (reply.status, reply.body["page"], reply.body["pageSize"], reply.body["total"]) == (200, 1, 50, 3)
    assert [document["path"] for document in reply.body["documents"]] == ["animals/löwe.md", "animals/zebra.md", "faq"]
    lion, zebra, _ = reply.body["documents"]
    assert (zebra["chunks"], zebra["bytes"], lion["bytes"]) == (1, 20, 21), "bytes, not characters"
    assert zebra["tags"] == ["animals", "africa"]
    snapshots.assert_matches("pipeline-documents", reply.body)
    member = api("member")
    assert member.get(f"{PATH}/{zebra['id']}").body == zebra
    assert member.get(f"/api/rag/sources/{library.pk}/documents?pageSize=1&page=2").body["documents"] == [zebra]
    assert member.get(f"{PATH}?page=9").body["documents"] == []


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("q=ZEBRA", ["animals/zebra.md"]), ("q=animals", ["animals/löwe.md", "animals/zebra.md"]),
        ("q=100%25", ["faq"]), ("q=%25%25", []), ("lang=de", ["animals/löwe.md"]), ("tag=africa", ["animals/zebra.md"]),
        ("type=faq", ["faq"]), ("tag=animals&lang=en", ["animals/zebra.md"]), ("tag=x", []),
    ],
)  # fmt: skip
def test_filters_narrow_the_list(api: Api, library: DataSource, query: str, expected: list[str]) -> None:
    reply = api("member").get(f"{PATH}?{query}")
    assert ([document["path"] for document in reply.body["documents"]], reply.body["total"]) == (
        expected,
        len(expected),
    )


def test_wrong_parameters_are_named(api: Api, library: DataSource) -> None:
    member, editor = api("member"), api("editor")
    for wrong, field in (("q=%00", "q"), ("q=" + "x" * 201, "q"), ("type=x", "type"), ("pageSize=201", "pageSize")):
        reply = member.get(f"{PATH}?{wrong}")
        assert (reply.status, reply.body["details"]["field"]) == (400, field)
    for wrong in ("", "?path=", "?path=%00", "?path=" + "x" * 2001):
        reply = delete(editor, PATH + wrong)
        assert (reply.status, reply.body["details"]["field"]) == (400, "path")


def test_who_may_see_and_who_may_delete(api: Api, live_world: World) -> None:
    """Querying, ingesting or managing allows seeing; ingesting or managing allows deleting; others get a 404."""
    source = live_world.source(visibility=Visibility.PRIVATE)
    key = ingest_text(source, "a", "Zebras have stripes.").document_id
    source.grants.create(user=live_world.users["supporter"])
    for name in ("member", "foreigner"):
        for reply in (api(name).get(PATH), api(name).get(f"{PATH}/{key}"), delete(api(name), f"{PATH}/{key}")):
            assert (reply.status, reply.body["error"]) == (404, "SOURCE_NOT_FOUND")
    reader = api("supporter")
    assert reader.get(f"{PATH}/{key}").status == 200
    for path in (f"{PATH}/{key}", f"{PATH}?path=a", f"{PATH}/{UNKNOWN}"):
        reply = delete(reader, path)
        assert (reply.status, reply.body["error"]) == (403, "PERMISSION_DENIED")
    assert Document.objects.live().count() == 1
    assert api("editor").get(PATH).body["total"] == 1, "those who may send documents see the documents"
    assert delete(api("editor"), f"{PATH}/{key}").status == 204
    ingest_text(source, "a", "Zebras have stripes.")
    assert delete(api("owner"), f"{PATH}?path=a").status == 204


def test_deleting_a_second_time_is_a_404(api: Api, library: DataSource) -> None:
    editor = api("editor")
    key = Document.objects.get(source=library, path="faq").pk
    assert [delete(editor, f"{PATH}/{key}").status for _ in range(2)] == [204, 404]
    assert [delete(editor, f"{PATH}?path={quote('animals/löwe.md')}").status for _ in range(2)] == [204, 404]
    for path in (f"{PATH}/{UNKNOWN}", f"{PATH}/no-id", f"{PATH}/{key}"):
        for reply in (delete(editor, path), editor.get(path)):
            assert (reply.status, reply.body["error"]) == (404, "DOCUMENT_NOT_FOUND")
    other_document = Document.objects.get(source__slug="other")
    assert delete(editor, f"{PATH}/{other_document.pk}").status == 404, "it belongs to another source"
    assert [document["path"] for document in editor.get(PATH).body["documents"]] == ["animals/zebra.md"]


def read_everywhere(client: Client, query_id: str, job: str) -> dict[str, str]:
    """The replies to every request that returns a document's passages, ids or names."""
    message = [{"role": "user", "content": "Which animals have stripes?"}]
    replies: dict[str, Any] = {
        path: client.post(path, body)
        for path, body in (
            ("/api/rag/search", {"query": "zebra stripes", "topK": 5}),
            ("/functions/v1/rag-search", {"query_text": "zebra stripes"}),
            ("/functions/v1/rag-answer", {"query_text": "zebra stripes"}),
            ("/api/rag/retrieve", {"query": "zebra stripes"}),
            ("/api/rag/query", {"query": "Which animals have stripes?"}),
            ("/agent/respond", {"query": "Which animals have stripes?"}),
            ("/api/v1/search", {"query": "zebra stripes"}),
        )
    }
    replies["chat"] = client.post("/api/chat", {"messages": message, "useRag": True})
    replies["stored results"] = client.get(f"/api/v1/search/{query_id}")
    replies["vectors"] = client.get(f"/api/rag/ingest/{job}")
    replies["list"] = client.get(PATH)
    return {name: str(reply.body) for name, reply in replies.items()}


def test_no_request_returns_a_deleted_document(api: Api, live_world: World, language_model: Any) -> None:
    """Immediately, before it is purged."""
    live_world.source()
    editor = api("editor")
    body = {"dataSourceId": "library", "documents": [{"path": "zebra", "text": "Zebras have gorgeous stripes."}]}
    job = editor.post("/api/rag/ingest", body).body["jobId"]
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    query_id = editor.post("/api/v1/search", {"query": "zebra stripes"}).body["query_id"]
    chunk = str(Chunk.objects.get().pk)

    def containing(texts: dict[str, str]) -> set[str]:
        return {name for name, text in texts.items() if "gorgeous" in text or chunk in text or "'zebra'" in text}

    before = containing(read_everywhere(editor, query_id, job))
    assert before >= {
        "/api/rag/search",
        "/api/rag/retrieve",
        "/api/rag/query",
        "chat",
        "stored results",
        "vectors",
        "list",
    }
    assert delete(editor, f"{PATH}?path=zebra").status == 204
    assert Chunk.objects.exists(), "nothing is purged yet"
    assert containing(read_everywhere(editor, query_id, job)) == set()
    purge.purge_deleted()
    assert not Chunk.objects.exists()
    assert containing(read_everywhere(editor, query_id, job)) == set()


def test_a_deleted_document_that_is_sent_again_is_created_anew(api: Api, live_world: World) -> None:
    source = live_world.source()
    first = ingest_text(source, "a", "Zebras have stripes.")
    documents.delete_document(Document.objects.get())
    reply = api("editor").post(
        "/api/rag/ingest", {"source": "library", "path": "a", "title": "A", "text": "Zebras have stripes."}
    )
    assert (reply.body["status"], reply.body["documentId"] == str(first.document_id)) == ("created", False)
    results = api("member").post("/api/rag/retrieve", {"query": "zebra"}).body["documents"]
    assert [result["documentId"] for result in results] == [reply.body["documentId"]]
    purge.purge_deleted()
    assert Document.objects.live().get().text == "Zebras have stripes."
    assert Chunk.objects.count() == 1


def test_a_key_needs_the_ingest_scope_to_delete(api: Api, library: DataSource, live_world: World) -> None:
    for scope, status in (("query", 403), ("manage", 403), ("ingest", 204)):
        client = api().with_headers(X_API_Key=live_world.key("owner", scope).secret)
        assert client.get(PATH).status == 200
        assert delete(client, f"{PATH}?path=faq").status == status
