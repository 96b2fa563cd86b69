"""Row-level security of searches in PostgreSQL: searches do not find hidden rows, whatever scope the query has."""

import pytest

from orgs.access.caller import Caller
from rag.models import DataSource
from rag.pipeline.embed_question import embed_question
from rag.providers.stores.pgvector import bm25_query, search
from rag.types import Filters, Mode, SearchScope
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity
from tests.support.factories import World, ingest_text


@pytest.fixture
def source(world: World) -> DataSource:
    """A source that only its owner may query."""
    source = world.source("personal", visibility="personal")
    ingest_text(source, "a", "It is kept in the blue cabinet of the cellar.", tags=("plants",))
    return source


def reader(world: World, name: str) -> Identity:
    return Caller(world.users[name]).database_identity


@pytest.mark.parametrize("exact_limit", [20_000, 0])
@pytest.mark.parametrize("tags", [(), ("plants",)])
@pytest.mark.parametrize(("user", "count"), [("owner", 1), ("member", 0)])
def test_chunks_of_a_hidden_source_are_not_found(
    world: World, source: DataSource, tags: tuple[str, ...], user: str, count: int, exact_limit: int
) -> None:
    """The table of terms has no policy, and the index of tags is read with another role: RLS of chunks still holds."""
    scope = SearchScope((source.pk,), source.embedding_model_id, Filters(tags=tags))
    query = bm25_query.build_query("cellar", [scope])
    vector = embed_question("cellar", model=source.embedding_model)
    with identity.run_as(reader(world, user)):
        result = search.find(
            scope, vector, query, mode=Mode.HYBRID, limit=10, exact_limit=exact_limit, chunk_count=None
        )
        assert (len(result.dense_ids), len(result.lexical_ids), len(result.chunks)) == (count, count, count)
