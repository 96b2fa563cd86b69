"""A search reads hardly more rows if the same chunks are divided among many sources, whatever opens these.

PostgreSQL counts the rows that were read, so the test guards the growth of the time without measuring time.
"""

from collections import Counter
from typing import Any

import pytest
from django.db import connection, transaction

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel, Grant
from rag.models.search import granted_scopes
from rag.services.access import access_rechecks
from rag.services.search import permitted_queries
from rag.services.search.permitted_queries import SourceSelection
from rag.types import Mode, Question
from ragsite.postgres import identity
from tests.support.factories import World

from .test_index_scans import fill_each

CHUNKS = 600
# Rows of a search in many sources, at most so many times those of a search in few.
MAX_RATIO = 1.2


def divide_chunks(world: World, visibility: str, count: int) -> None:
    """Divide the chunks among sources that the member may query, and build the index of their vectors."""
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default()}
    names = [f"source-{number}" for number in range(count)]
    sources = DataSource.objects.bulk_create(
        [DataSource(slug=name, name=name, visibility=visibility, **fields) for name in names]
    )
    if visibility == "private":
        Grant.objects.bulk_create([Grant(source=source, user=world.users["member"]) for source in sources])
    fill_each([sources[number * count // CHUNKS] for number in range(CHUNKS)])
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("CREATE INDEX test_hnsw ON rag_embedding384 USING hnsw (embedding halfvec_cosine_ops)")
        cursor.execute("ANALYZE")
        # PostgreSQL reads small tables as a whole. With this setting it does so only where it has no other way.
        cursor.execute("SET LOCAL enable_seqscan = off")


def count_rows() -> Counter[str]:
    """The rows that were read in this transaction, by table."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname::text, seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables")
        return Counter({name: int(rows or 0) for name, rows in cursor.fetchall()})


def rows_read(world: World, visibility: str, count: int, mode: Mode) -> tuple[Counter[str], ...]:
    """Of a search, and of the check that its caller may still query five sources: by the rule alone, by both layers."""
    caller = Caller(world.users["member"])
    with transaction.atomic():
        divide_chunks(world, visibility, count)
        checked = list(DataSource.objects.order_by("pk").values_list("pk", flat=True)[:5])
        with identity.run_as(caller.database_identity):
            for _ in range(2):  # the first search also loads the model, and PostgreSQL's catalogue
                before = count_rows()
                retrieval = permitted_queries.search(Question("Which zebra?", 10, mode=mode), SourceSelection(caller))
            of_search = count_rows() - before
        before = count_rows()
        access_rechecks.require_access(caller, checked)
        of_check = count_rows() - before
        with identity.run_as(caller.database_identity):
            before = count_rows()
            access_rechecks.require_access(caller, checked)
            of_both = count_rows() - before
        assert len(retrieval.passages) == 10
        transaction.set_rollback(True)
    return of_search, of_check, of_both


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.HYBRID])
def test_the_number_of_sources_hardly_matters(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, visibility: str, mode: Mode
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", 0)
    in_few, in_many = (rows_read(world, visibility, count, mode) for count in (5, 600))
    for few, many in zip(in_few, in_many, strict=True):
        assert 0 < many.total() <= MAX_RATIO * few.total(), (few, many)
