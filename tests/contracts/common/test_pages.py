"""Page numbers reach passages, prompts and citations (pipeline contract: "Metadata preserved (source, page, etc.)")."""

import base64
from collections.abc import Callable

from rag.models import IngestionDocument
from tests.parsing import files
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client

PAGES = (
    "Apples are red and grow on trees. " * 8,
    "Bicycles are parked in the yard. " * 8,
    "Tea is made on the second floor. " * 8,
)


def test_a_citation_names_the_page(api: Callable[..., Client], live_world: World) -> None:
    live_world.source("handbook")
    editor = api("editor")
    document = {"path": "guide.pdf", "contentBase64": base64.b64encode(files.pdf(PAGES)).decode()}
    body = {"dataSourceId": "handbook", "documents": [document], "chunkSize": 80, "chunkOverlap": 0}
    assert editor.post("/api/rag/ingest", body).status == 202
    factories.process_documents(ids=list(IngestionDocument.objects.values_list("pk", flat=True)))
    member = api("member")
    answer = member.post("/api/rag/query", {"query": "Where are the bicycles parked?"}).body
    cited, *_ = answer["citationsUsed"]
    assert ("yard" in cited["quote"], cited["page"], cited["lastPage"]) == (True, 2, 2)
    assert ", page 2\n" in answer["prompt"]
    best = answer["documents"][0]
    assert ("yard" in best["text"], best["metadata"]["page"]) == (True, 2)
    result = member.post("/api/rag/search", {"query_text": "Where is tea made?"}).body["results"][0]
    assert result["meta"]["page"] == 3
