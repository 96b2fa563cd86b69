"""A search reads hardly more rows if the same chunks are divided among many sources, whatever opens these.

PostgreSQL counts the rows that were read, so the test guards the growth of the time without measuring time.
"""

from typing import Any

import pytest
from django.db import connection

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel, Grant
from rag.services.search import permitted_queries
from rag.services.search.permitted_queries import SourceSelection
from rag.types import Mode, Question
from ragsite.postgres import identity
from tests.support.factories import World

from .test_index_scans import fill_each

CHUNKS, FEW, MANY = 600, 5, 600
# Rows of a search in many sources, at most so many times those of a search in few.
MAX_RATIO = 1.2


def divide(world: World, visibility: str, count: int, user: str) -> Caller:
    """Divide the chunks among sources of one organisation that the user may query, and return the caller."""
    organization = world.home if count == FEW else world.abroad
    fields = {"organization": organization, "embedding_model": EmbeddingModel.objects.default()}
    names = [f"{visibility}-{number}" for number in range(count)]
    sources = DataSource.objects.bulk_create(
        [DataSource(slug=name, name=name, visibility=visibility, **fields) for name in names]
    )
    if visibility == "private":
        Grant.objects.bulk_create([Grant(source=source, user=world.users[user]) for source in sources])
    fill_each([sources[number * count // CHUNKS] for number in range(CHUNKS)])
    return Caller(world.users[user])


def rows_read(caller: Caller, mode: Mode) -> int:
    def count() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables")
            return int(cursor.fetchone()[0] or 0)

    before = count()
    with identity.run_as(caller.database_identity):
        retrieval = permitted_queries.search(Question("Which zebra?", 10, mode=mode), SourceSelection(caller))
        assert len(retrieval.passages) == 10
        return count() - before


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.HYBRID])
def test_the_number_of_sources_hardly_matters(world: World, settings: Any, visibility: str, mode: Mode) -> None:
    few = divide(world, visibility, FEW, "member")
    many = divide(world, visibility, MANY, "foreigner")
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("CREATE INDEX test_hnsw ON rag_embedding384 USING hnsw (embedding halfvec_cosine_ops)")
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")
    for caller in (few, many):
        rows_read(caller, mode)  # loads the model, and PostgreSQL's catalogue
    assert rows_read(many, mode) <= MAX_RATIO * rows_read(few, mode)
