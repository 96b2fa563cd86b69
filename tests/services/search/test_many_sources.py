"""The number of data sources has no influence on the number of a search's statements."""

from django.db import connection
from django.test.utils import CaptureQueriesContext

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel
from rag.services.search import queries
from rag.services.search.queries import SourceSelection
from rag.types import Question
from tests.support.factories import World, ingest_text


def create_sources(world: World, count: int) -> list[str]:
    """Create public sources, the first of them with a document, and return their slugs."""
    slugs = [f"source-{number}" for number in range(count)]
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default()}
    sources = DataSource.objects.bulk_create([DataSource(slug=slug, name=slug, **fields) for slug in slugs])
    ingest_text(sources[0], "zebras", "Zebras have stripes.")
    return slugs


def count_statements(world: World, data_sources: list[str]) -> int:
    caller = Caller(world.users["member"])
    with CaptureQueriesContext(connection) as statements:
        retrieval = queries.search(Question("zebra", 5), SourceSelection(caller, data_sources=data_sources))
    assert [passage.title for passage in retrieval.passages] == ["zebras"]
    return len(statements)


def test_naming_many_sources_costs_no_more_statements(world: World) -> None:
    slugs = create_sources(world, 200)
    count_statements(world, slugs[:1])  # the first search also loads the model and stems its words
    unnamed = count_statements(world, [])
    assert count_statements(world, slugs[:1]) == count_statements(world, slugs) == unnamed
