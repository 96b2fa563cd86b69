"""What tests leave in the database is deleted, and no index keeps entries that later searches examine."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from accounts.audit.events import AuditEvent
from orgs.models import Organization
from rag.models import Document
from ragsite.postgres import identity
from tests.support.data.database import delete_all_rows
from tests.support.factories import World, ingest_text

TABLE = "rag_embedding384"


def execute(statement: str) -> None:
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute(statement)


def size() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_relation_size('{TABLE}')")
        return int(cursor.fetchone()[0])


def file_number() -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT pg_relation_filenode('{TABLE}')")
        return int(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def one_document(transactional_db: None) -> None:
    delete_all_rows()
    ingest_zebras()


def ingest_zebras() -> None:
    ingest_text(World.create().source(), "zebras.md", "Zebras have stripes.")


@pytest.fixture
def no_autovacuum() -> Iterator[None]:
    """Nothing analyses the table meanwhile: then it would not be small any more, as far as its statistics tell."""
    execute(f"ALTER TABLE {TABLE} SET (autovacuum_enabled = false)")
    yield
    execute(f"ALTER TABLE {TABLE} RESET (autovacuum_enabled)")


@pytest.fixture
def vector_index() -> Iterator[None]:
    execute(f"CREATE INDEX of_test ON {TABLE} USING hnsw (embedding halfvec_cosine_ops)")
    yield
    execute("DROP INDEX of_test")


def test_all_rows_are_deleted_but_those_of_migrations() -> None:
    assert AuditEvent.objects.exists()
    delete_all_rows()
    assert not any(model.objects.exists() for model in (AuditEvent, Document, Organization))
    assert Permission.objects.exists()


def test_a_small_table_keeps_its_files(no_autovacuum: None) -> None:
    """Its size does not show it: PostgreSQL may free the empty pages by itself."""
    delete_all_rows()
    ingest_zebras()
    before = file_number()
    delete_all_rows()
    assert file_number() == before


def test_a_table_that_was_analysed_is_as_new() -> None:
    execute(f"ANALYZE {TABLE}")
    delete_all_rows()
    assert size() == 0


def test_a_large_table_is_as_new() -> None:
    execute(f"DO $$ BEGIN FOR number IN 1..150 LOOP UPDATE {TABLE} SET lang = lang; END LOOP; END $$")
    delete_all_rows()
    assert size() == 0


def test_an_index_of_vectors_keeps_no_dead_entries(vector_index: None) -> None:
    delete_all_rows()
    assert size() == 0
