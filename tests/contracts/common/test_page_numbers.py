"""Page numbers reach passages, prompts and citations (pipeline contract: "Metadata preserved (source, page, etc.)")."""

import base64
from collections.abc import Callable

from django.test import Client as DjangoClient

from rag.models import Document, IngestionDocument
from tests.parsing import files
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client

PAGES = (
    "Apples are red and grow on trees. " * 8,
    "Bicycles are parked in the yard. " * 8,
    "Tea is made on the second floor. " * 8,
)


def ingest(editor: Client, world: World, chunk_size: int) -> None:
    world.source("handbook")
    document = {"path": "guide.pdf", "contentBase64": base64.b64encode(files.pdf(PAGES)).decode()}
    body = {"dataSourceId": "handbook", "documents": [document], "chunkSize": chunk_size, "chunkOverlap": 0}
    assert editor.post("/api/rag/ingest", body).status == 202
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))


def test_a_citation_names_the_page(api: Callable[..., Client], live_world: World) -> None:
    ingest(api("editor"), live_world, chunk_size=80)
    member = api("member")
    answer = member.post("/api/rag/query", {"query": "Where are the bicycles parked?"}).body
    cited, *_ = answer["citationsUsed"]
    assert ("yard" in cited["quote"], cited["page"], cited["lastPage"]) == (True, 2, 2)
    assert ", page 2\n" in answer["prompt"]
    best = answer["documents"][0]
    assert ("yard" in best["text"], best["metadata"]["page"]) == (True, 2)
    result = member.post("/api/rag/search", {"query_text": "Where is tea made?"}).body["results"][0]
    assert result["meta"]["page"] == 3


def test_a_citation_names_the_page_of_its_quote(api: Callable[..., Client], live_world: World) -> None:
    """The chunk is on three pages. Documents of an earlier version have only the pages of their chunks."""
    ingest(api("editor"), live_world, chunk_size=400)
    browser = DjangoClient()
    browser.force_login(live_world.users["member"])
    for expected in ((2, 2, "page 2"), (1, 3, "pages 1–3")):
        answer = api("member").post("/api/rag/query", {"query": "Where are the bicycles parked?"}).body
        cited, *_ = answer["citationsUsed"]
        assert "yard" in cited["quote"]
        url = f"/documents/{cited['documentId']}?chunk={cited['chunkId']}&start={cited['start']}&end={cited['end']}"
        label = next(label for label in ("pages 1–3", "page 2") if label in browser.get(url).content.decode())
        assert (cited["page"], cited["lastPage"], label) == expected
        Document.objects.update(page_starts=[])
    assert "pages 1–3\n" in answer["prompt"], "a passage names all of its pages"
