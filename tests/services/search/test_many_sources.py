"""The number of data sources has no influence on the number of a search's statements."""

from typing import Any

from django.db import connection

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel
from rag.services.search import permitted_queries
from rag.services.search.permitted_queries import SourceSelection
from rag.types import Question
from tests.support.factories import World, ingest_text

# The tests run in a transaction, where those of the code are savepoints.
_TRANSACTION = ("SAVEPOINT", "RELEASE SAVEPOINT")
# A search of the caller's sources: permissions, other sources, models of public sources, the model; frequencies of
# terms, candidates, passages, token signatures.
MAX_STATEMENTS = 8


def create_sources(world: World, count: int) -> list[str]:
    """Create public sources, the first of them with a document, and return their slugs."""
    slugs = [f"source-{number}" for number in range(count)]
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default()}
    sources = DataSource.objects.bulk_create([DataSource(slug=slug, name=slug, **fields) for slug in slugs])
    ingest_text(sources[0], "zebras", "Zebras have stripes.")
    return slugs


def count_statements(world: World, data_sources: list[str]) -> int:
    caller = Caller(world.users["member"])
    statements: list[str] = []

    def record(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        if not str(sql).startswith(_TRANSACTION):
            statements.append(str(sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(record):
        retrieval = permitted_queries.search(
            Question("zebra", 5, rerank=True), SourceSelection(caller, data_sources=data_sources)
        )
    assert [passage.title for passage in retrieval.passages] == ["zebras"]
    return len(statements)


def test_naming_many_sources_costs_no_more_statements(world: World) -> None:
    slugs = create_sources(world, 200)
    count_statements(world, slugs[:1])  # the first search also loads the model and stems its words
    unnamed = count_statements(world, [])
    assert count_statements(world, slugs[:1]) == count_statements(world, slugs) == unnamed <= MAX_STATEMENTS
