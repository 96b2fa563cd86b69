"""Small documents are embedded and written in batches; a failure of one does not fail the others."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document, EmbeddingModel, IngestionDocument, IngestionJob
from rag.models.content.pgvector_tables import ChunkTerms
from rag.providers.stores.binary_copy import MAX_INSERTED_ROWS
from rag.services.ingestion import build_submissions, document_processing
from rag.services.ingestion.queue import claims
from rag.services.jobs.close_and_cancel import cancel_job
from rag.services.jobs.create_job import create_job
from rag.types import ChunkingOptions, Submission
from ragsite.postgres import identity
from tests.support.factories import World, process_queue
from tests.support.servers.provider_server import ProviderServer

State = IngestionDocument.State


def submit(
    world: World, source: DataSource, texts: dict[str, str], *, options: ChunkingOptions | None = None
) -> IngestionJob:
    submissions = [Submission(path=path.split("#")[0], title="T", text=text) for path, text in texts.items()]
    return create_job(
        source=source,
        submissions=submissions,
        options=options or build_submissions.default_chunking_options(),
        actor=world.users["editor"],
    )


def statements(world: World, source: DataSource, count: int) -> int:
    submit(world, source, {f"{count}-{number}": f"Zebra {number}." for number in range(count)})
    with CaptureQueriesContext(connection) as queries:
        assert process_queue(at_once=count) == count
    return len(queries)


def test_the_number_of_statements_does_not_grow_with_the_batch(world: World) -> None:
    """A few chunks are written with fewer statements than many, which go through temporary tables."""
    source, few = world.source(), MAX_INSERTED_ROWS + 1
    alone, together = statements(world, source, 1), statements(world, source, MAX_INSERTED_ROWS)
    assert together <= alone < statements(world, source, few)
    assert statements(world, source, 24) <= statements(world, source, few + 1)
    assert Document.objects.count() == 1 + MAX_INSERTED_ROWS + few + 24 + few + 1


def test_chunks_of_new_documents_are_not_read_again_for_their_terms(world: World) -> None:
    source = world.source()
    submit(world, source, {"a": "Zebras sleep.", "b": "Zebra number two."})
    with CaptureQueriesContext(connection) as queries:
        assert process_queue() == 2
    assert ChunkTerms.objects.count() == Chunk.objects.count() == 2
    assert not [query["sql"] for query in queries if 'FROM "rag_chunk"' in query["sql"]]


@pytest.mark.parametrize(("is_remote", "batches"), [(False, 2), (True, 1)])
def test_a_batch_is_larger_if_a_remote_model_embeds_it(world: World, is_remote: bool, batches: int) -> None:
    """The local model is so much slower that a batch of that size would show no progress for a while."""
    source, text = world.source(), " ".join(f"Zebra {number} sleeps." for number in range(50))
    with ProviderServer(dimensions=384).running() as provider, CaptureQueriesContext(connection) as queries:
        if is_remote:
            values = {"name": "remote", "provider": "openai", "dimensions": 384, "base_url": provider.base_url}
            source = world.source("remote", embedding_model=EmbeddingModel.objects.create(**values))
        submit(world, source, {f"{number}": text for number in range(14)}, options=ChunkingOptions(32, 0))
        assert process_queue(at_once=14) == 14
    assert 128 < Chunk.objects.count() < 256
    assert sum("rag_lock_statistics" in query["sql"] for query in queries) == batches


def test_a_cancelled_document_does_not_fail_the_batch(world: World) -> None:
    source = world.source()
    cancelled = submit(world, source, {"a": "Alpha.", "b": "Beta."})
    active = submit(world, source, {"c": "Gamma.", "d": "Delta."})
    rows = claims.claim_next(8)
    assert len(rows) == 4
    cancel_job(Caller(world.users["owner"]), cancelled.pk)
    document_processing.process_documents(rows)
    assert sorted(Document.objects.values_list("path", flat=True)) == ["c", "d"]
    assert set(active.documents.values_list("state", flat=True)) == {State.DONE}
    assert set(cancelled.documents.values_list("state", flat=True)) == {State.CANCELLED}


def test_of_two_documents_with_one_path_the_later_one_is_stored(world: World) -> None:
    job = submit(world, world.source(), {"a": "Alpha, alpha.", "b": "Beta.", "a#2": "Gamma."})
    process_queue()
    assert dict(Document.objects.values_list("path", "text")) == {"a": "Gamma.", "b": "Beta."}
    assert not job.documents.exclude(state=State.DONE).exists()


def test_documents_of_a_batch_that_fit_the_quota_are_stored(world: World) -> None:
    world.home.max_chunks = 2
    world.home.save()
    job = submit(world, world.source(), {"a": "Alpha.", "b": "Beta.", "c": "Gamma."})
    process_queue()
    assert Document.objects.count() == 2
    assert list(job.documents.filter(state=State.FAILED).values_list("error_code", flat=True)) == ["INDEX_FULL"]


def test_a_document_that_the_database_refuses_does_not_fail_the_batch(world: World) -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:  # undone with the test's transaction
        cursor.execute("ALTER TABLE rag_document ADD CHECK (path <> 'refused')")
    job = submit(world, world.source(), {"a": "Alpha.", "refused": "Beta.", "c": "Gamma."})
    process_queue()
    assert sorted(Document.objects.values_list("path", flat=True)) == ["a", "c"]
    assert job.documents.get(state=State.FAILED).path == "refused"
