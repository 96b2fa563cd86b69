"""Rows are stored alike in both ways to write them: a few by one statement, more through a temporary table."""

import uuid
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from django.db import ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document
from rag.providers.stores.binary_copy import MAX_INSERTED_ROWS, copy_with_rls
from ragsite.postgres import identity
from tests.support.factories import World, ingest_text

COLUMNS = {
    "id": "uuid", "source_id": "uuid", "document_id": "uuid", "position": "int4", "start": "int4", "end": "int4",
    "text": "text", "headings": "text[]", "tokens": "int4", "first_page": "int4", "last_page": "int4", "digest": "uuid",
}  # fmt: skip
VECTOR_COLUMNS = {
    "chunk_id": "uuid", "source_id": "uuid", "document_id": "uuid", "model_id": "uuid", "source_type": "text",
    "content_type": "text", "lang": "text", "tags": "text[]", "date": "timestamptz", "embedding": "bytea",
}  # fmt: skip
FIRST_POSITION = 10
BOTH_WAYS = pytest.mark.parametrize("count", [MAX_INSERTED_ROWS, MAX_INSERTED_ROWS + 1])


@pytest.fixture
def source(world: World) -> DataSource:
    source = world.source()
    ingest_text(source, "a", "tea")
    return source


def chunk_rows(document: Document, count: int) -> list[tuple[object, ...]]:
    texts: list[tuple[str, list[str], int | None]] = [("tea é\n🦓", ["A", 'b "c", {d}'], 7), ("", [], None)]
    return [
        (uuid.uuid4(), document.source_id, document.pk, number, 2 * number, 70_000 + number, text, headings, 9, page,
         page, uuid.uuid4() if page else None)
        for number, (text, headings, page) in enumerate((texts * count)[:count], start=FIRST_POSITION)
    ]  # fmt: skip


def staged(queries: CaptureQueriesContext) -> bool:
    return any("staging" in query["sql"] for query in queries)


def as_text(rows: Iterable[Sequence[object]]) -> list[str]:
    return sorted(map(repr, rows))


@BOTH_WAYS
def test_rows_are_stored_as_given(source: DataSource, count: int) -> None:
    rows = chunk_rows(Document.objects.get(), count)
    with CaptureQueriesContext(connection) as queries:
        copy_with_rls("rag_chunk", COLUMNS, iter(rows))
    assert staged(queries) == (count > MAX_INSERTED_ROWS)
    stored = Chunk.objects.filter(position__gte=FIRST_POSITION).values_list(*COLUMNS)
    assert as_text(stored) == as_text(rows)


@BOTH_WAYS
def test_values_in_the_binary_format_of_a_type_are_stored(source: DataSource, count: int) -> None:
    document, vectors = Document.objects.get(), np.linspace(-1, 1, count * 384, dtype=">f2").reshape(count, 384)
    rows = chunk_rows(document, count)
    copy_with_rls("rag_chunk", COLUMNS, rows)
    shared = (source.pk, document.pk, source.embedding_model_id, "", "text/plain", "en", ["a", "b"], document.date)
    header = b"\x01\x80\x00\x00"  # 384 dimensions
    copy_with_rls(
        "rag_embedding384",
        VECTOR_COLUMNS,
        ((row[0], *shared, header + vector.tobytes()) for row, vector in zip(rows, vectors, strict=True)),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT chunk_id, embedding::real[] FROM rag_embedding384 WHERE chunk_id = ANY(%s)",
            [[row[0] for row in rows]],
        )
        stored = dict(cursor.fetchall())
    for row, vector in zip(rows, vectors, strict=True):
        np.testing.assert_array_equal(np.array(stored[row[0]], np.float16), vector)


@BOTH_WAYS
def test_rows_of_a_foreign_source_are_refused(source: DataSource, world: World, count: int) -> None:
    rows = chunk_rows(Document.objects.get(), count)
    with (
        identity.run_as(Caller(world.users["foreigner"]).database_identity),
        pytest.raises(ProgrammingError, match="row-level security"),
        transaction.atomic(),
    ):
        copy_with_rls("rag_chunk", COLUMNS, rows)


def test_nothing_is_sent_for_no_rows(world: World) -> None:
    with CaptureQueriesContext(connection) as queries:
        copy_with_rls("rag_chunk", COLUMNS, [])
    assert not queries.captured_queries
