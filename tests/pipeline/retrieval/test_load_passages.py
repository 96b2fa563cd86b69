"""Hits become passages with the current data of their rows."""

from orgs.access.caller import Caller
from rag.models import Chunk, Grant
from rag.pipeline.retrieval.load_passages import read_passages
from rag.services.sources import documents
from rag.types import Hit
from ragsite.postgres import identity
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


def test_passages_are_read_only_of_sources_that_the_caller_may_query(world: World) -> None:
    """Whatever the hits are: the function in the database decides when they are read."""
    grant = Grant.objects.create(source=world.source("private", visibility="private"), user=world.users["member"])
    for source in (world.source("open"), grant.source):
        ingest_text(source, source.slug, "The zebra.")
    hits = [Hit(chunk.pk, 0.5) for chunk in Chunk.objects.order_by("document__path")]

    def read_as(user: str) -> list[str]:
        with identity.run_as(Caller(world.users[user]).database_identity):
            return [passage.path for passage in read_passages(hits)]

    assert [read_as(user) for user in ("member", "supporter", "foreigner")] == [["open", "private"], ["open"], []]
    grant.delete()
    assert read_as("member") == ["open"]
