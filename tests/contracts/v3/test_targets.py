"""The v3 contract, 6, "Performance Targets": what must hold for them on any machine. `make bench` measures them."""

from collections.abc import Callable

from rag.models import EmbeddingModel
from rag.providers import provider_factory
from tests.support.http import Client

Api = Callable[..., Client]


def test_a_10_kb_document_is_searchable_when_its_request_returns(api: Api) -> None:
    """ "Ingestion: < 5 seconds for 10KB document": inside one request, without a job."""
    editor = api("editor")
    sentences = [f"Zebra number {number} has stripes of its own, which nobody else has. " for number in range(200)]
    document = {"source": "zoo", "path": "/zebras", "title": "Zebras", "text": "".join(sentences)[:10_000]}
    reply = editor.post("/api/rag/ingest", document)
    assert reply.status == 200
    assert reply.body["chunkCount"] > 5
    assert editor.post("/api/rag/search", {"query": "Which zebra has stripes?"}).body["results"]


def test_ten_texts_are_one_batch(db: None) -> None:
    """ "Embeddings: < 200ms per batch of 10 texts": they are not embedded in several calls."""
    embedder = provider_factory.embedder(EmbeddingModel.objects.default())
    assert embedder.batch_size >= 10
    assert embedder.embed([f"Zebra number {number}." for number in range(10)]).shape == (10, 384)
