"""Hits become passages with the current data of their rows."""

from rag.models import Chunk
from rag.pipeline.retrieval.load_passages import read_passages
from rag.services.sources import documents
from rag.types import Hit
from tests.support.factories import World, ingest_text


def test_passages_have_the_order_of_their_hits_and_omit_deleted_documents(world: World) -> None:
    """A deleted document's chunks remain until the purge; a new version has other chunks."""
    source = world.source()
    for path in ("kept", "deleted", "replaced", "first"):
        ingest_text(source, path, f"The {path} one.")
    hits_by_path = {chunk.document.path: Hit(chunk.pk, 0.5) for chunk in Chunk.objects.select_related("document")}
    hits = [hits_by_path[path] for path in ("first", "deleted", "replaced", "kept")]
    assert [passage.path for passage in read_passages(hits)] == ["first", "deleted", "replaced", "kept"]
    documents.delete_document(source.documents.get(path="deleted"))
    ingest_text(source, "replaced", "Another one altogether.")
    assert Chunk.objects.filter(pk=hits_by_path["deleted"].chunk_id).exists()
    assert [passage.path for passage in read_passages(hits)] == ["first", "kept"]
