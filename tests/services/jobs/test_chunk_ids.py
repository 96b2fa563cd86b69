"""The ids of a job's chunks are found by its documents, whatever else is stored."""

import uuid
from collections import Counter

from django.db import connection

from rag.models import Chunk, DataSource, Document
from rag.services.jobs import job_lookup
from ragsite.postgres import identity
from tests.support.factories import World, process_queue
from tests.support.submissions import submit

# Documents of the job with a chunk each, and others with many more.
SMALL, LARGE, CHUNKS = 60, 5, 800


def write_large_documents(source: DataSource) -> None:
    documents = Document.objects.bulk_create(
        Document(
            source=source, path=f"large-{number}", title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
            chunk_count=CHUNKS, revision=uuid.uuid4(), source_type="doc", lang="en",
        )
        for number in range(LARGE)
    )  # fmt: skip
    Chunk.objects.bulk_create(
        Chunk(source=source, document=document, position=position, start=0, end=1, text="a", tokens=1)
        for document in documents
        for position in range(CHUNKS)
    )
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ANALYZE")


def rows_read() -> Counter[str]:
    """The rows that were read in this transaction, by table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname::text, seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables")
        return Counter({name: int(rows or 0) for name, rows in cursor.fetchall()})


def test_chunks_of_other_documents_are_not_read(world: World) -> None:
    source = world.source()
    write_large_documents(source)
    job = submit(world, source, {f"{number}.txt": f"Room {number} is free." for number in range(SMALL)})
    process_queue()
    write_large_documents(world.source("other"))
    expected = sorted(Chunk.objects.filter(document__path__endswith=".txt").values_list("pk", flat=True))
    before = rows_read()
    assert job_lookup.list_chunk_ids(job, 1_000) == expected
    assert (rows_read() - before)["rag_chunk"] <= 2 * SMALL
    assert job_lookup.list_chunk_ids(job, 7) == expected[:7]
    assert len(expected) == SMALL


def test_chunks_of_deleted_documents_are_left_out(world: World) -> None:
    source = world.source()
    job = submit(world, source, {"a.txt": "Room 1 is free.", "b.txt": "Room 2 is free."})
    process_queue()
    deleted = Document.objects.get(path="a.txt")
    Document.objects.filter(pk=deleted.pk).update(deleted_at=deleted.updated_at)
    assert job_lookup.list_chunk_ids(job, 9) == list(
        Chunk.objects.exclude(document=deleted).values_list("pk", flat=True)
    )
