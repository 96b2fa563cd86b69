"""Chunks that were found become passages, as their rows are now."""

from rag.models import Chunk
from rag.pipeline.retrieval.passages import read_passages
from rag.services.sources import documents
from rag.types import Hit
from tests.support.factories import World, ingest_text


def test_passages_come_in_the_order_of_their_hits_without_what_has_gone_since(world: World) -> None:
    """A deleted document's chunks stay until they are purged; a new version has others."""
    source = world.source()
    for path in ("kept", "deleted", "replaced", "first"):
        ingest_text(source, path, f"The {path} one.")
    found = {chunk.document.path: Hit(chunk.pk, 0.5) for chunk in Chunk.objects.select_related("document")}
    hits = [found[path] for path in ("first", "deleted", "replaced", "kept")]
    assert [passage.path for passage in read_passages(hits)] == ["first", "deleted", "replaced", "kept"]
    documents.delete_document(source.documents.get(path="deleted"))
    ingest_text(source, "replaced", "Another one altogether.")
    assert Chunk.objects.filter(pk=found["deleted"].chunk_id).exists()
    assert [passage.path for passage in read_passages(hits)] == ["first", "kept"]
