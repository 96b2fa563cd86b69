"""The number of data sources has no influence on the number of a search's statements."""

from typing import Any

import pytest
from django.db import connection

from orgs.access.caller import Caller
from rag.models import DataSource, EmbeddingModel, Grant
from rag.models.search import granted_scopes
from rag.pipeline.embed_question import embed_question
from rag.pipeline.retrieval.query import embed_in_scopes
from rag.providers.base import Vectors
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import Question
from tests.support.factories import World, ingest_text

# The tests run in a transaction, where those of the code are savepoints.
_TRANSACTION = ("SAVEPOINT", "RELEASE SAVEPOINT")
# A search of the caller's sources: permissions, granted sources and models; frequencies of terms,
# candidates, passages, token signatures.
STATEMENTS = 6


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


def test_granted_sources_are_searched_without_listing_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are those of a search that lists them, and so is what may be stored of an unanswered question."""
    member = world.users["member"]
    texts = {
        "granted": "Zebras have stripes.",
        "own": "A zebra sleeps.",
        "foreign": "No zebra.",
        "open": "Zebra",
    }
    sources = {name: world.source(name, visibility="private") for name in ("granted", "foreign")}
    sources |= {"own": world.source("own", visibility="personal", owner=member), "open": world.source("open")}
    Grant.objects.create(source=sources["granted"], user=member)
    for name, text in texts.items():
        ingest_text(sources[name], name, text)
    results = []
    for limit in (200, 0):
        monkeypatch.setattr(granted_scopes, "MAX_LISTED", limit)
        question = Question("Where is a zebra?", 5, rerank=True, names_sources=True)
        retrieval = permitted_queries.search(question, SourceSelection(Caller(member)))
        results.append(
            ([(passage.title, passage.relevance) for passage in retrieval.passages], retrieval.source_ids.ids)
        )
    assert results[0] == results[1]
    assert {title for title, _ in results[0][0]} == {"granted", "own", "open"}
    assert set(results[0][1]) == {sources[name].pk for name in ("granted", "own", "open")}


def test_naming_many_sources_costs_no_more_statements(world: World) -> None:
    slugs = create_sources(world, 200)
    count_statements(world, slugs[:1])  # the first search also loads the model and stems its words
    unnamed = count_statements(world, [])
    assert unnamed == STATEMENTS
    assert count_statements(world, slugs[:1]) == count_statements(world, slugs) == STATEMENTS + 1  # reads the names


def test_a_changed_embedding_model_is_used_at_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Searches keep the models that they have read."""
    slug, *_ = create_sources(world, 1)
    used: list[str] = []

    def embed(text: str, *, model: EmbeddingModel) -> Vectors:
        used.append(model.query_prefix)
        return embed_question(text, model=model)

    monkeypatch.setattr(embed_in_scopes, "embed_question", embed)
    for prefix in ("", "", "query: ", ""):
        EmbeddingModel.objects.update(query_prefix=prefix)
        count_statements(world, [])
        count_statements(world, [slug])
    assert used == ["", "", "", "", "query: ", "query: ", "", ""]
