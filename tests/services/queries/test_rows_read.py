"""A search reads hardly more rows if the same chunks are divided among many sources, whatever opens these.

PostgreSQL counts the rows that were read, so the test guards the growth of the time without measuring time.
"""

import datetime
from collections import Counter
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models.expressions import RawSQL

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document, EmbeddingModel, Grant
from rag.models.content.pgvector_tables import ChunkTerms, Embedding384, SourceTerm
from rag.models.search import granted_scopes
from rag.providers import provider_factory
from rag.providers.stores.pgvector import bm25_query
from rag.providers.stores.pgvector.bm25_terms import hash_stem
from rag.providers.stores.search_types import ScopeQuery
from rag.services.access import access_rechecks
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection, build_search_scopes
from rag.types import Filters, Mode, Question
from ragsite.postgres import identity
from tests.support.factories import World

from .test_index_scans import fill_each

CHUNKS = 300
NEW_YEAR = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
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


def test_writing_into_many_sources_looks_each_of_them_up(world: World) -> None:
    """The totals of term statistics grow by what each source gets, without reading the other sources for it."""
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default()}
    names = [f"source-{number}" for number in range(120)]
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        # As in a new installation, whose sources have not been counted when it is filled.
        cursor.execute("SELECT pg_clear_relation_stats('public', 'rag_datasource')")
        cursor.execute("SELECT pg_clear_attribute_stats('public', 'rag_datasource', 'deleted_at', false)")
    sources = DataSource.objects.bulk_create([DataSource(slug=name, name=name, **fields) for name in names])
    before = count_rows()
    fill_each(sources)
    assert (count_rows() - before)["rag_datasource"] <= 20 * len(sources)


def rows_read(world: World, visibility: str, count: int, mode: Mode) -> tuple[Counter[str], ...]:
    """Count the rows of a search, and of the check of five sources: by the rule alone, and by both layers."""
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


@pytest.mark.parametrize(
    ("filters", "maximum"),
    [(Filters(date_from=NEW_YEAR), 40), (Filters(langs=("en",)), CHUNKS)],
    ids=["few documents", "all documents"],
)
def test_a_filter_does_not_make_a_search_read_all_chunks(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, filters: Filters, maximum: int
) -> None:
    """The chunks of few matching documents are compared; if they are many, only the rare words are looked up."""
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    monkeypatch.setattr(bm25_query, "_MAX_LOOKED_UP_CHUNKS", 50)
    divide_chunks(world, "public", 5)
    dated = Document.objects.order_by("pk").values_list("pk", flat=True)[:3]
    for rows, key in ((Document.objects, "pk"), (Embedding384.objects, "document_id")):
        rows.filter(**{f"{key}__in": list(dated)}).update(date=NEW_YEAR)
    words = ChunkTerms.objects.filter(chunk__in=Chunk.objects.order_by("pk").values("pk")[:30])
    words.update(terms=RawSQL("terms || %s::int", [hash_stem("okapi")]))
    SourceTerm.objects.create(source=world.home.sources.all()[0], term=hash_stem("okapi"), chunks=30)
    caller = Caller(world.users["member"])
    with identity.run_as(caller.database_identity):
        before = count_rows()
        question = Question("Which zebra, which okapi?", 10, filters, mode=Mode.HYBRID)
        retrieval = permitted_queries.search(question, SourceSelection(caller))
        read = count_rows() - before
    assert len(retrieval.passages) == (3 if filters.date_from else 10)
    assert 0 < read["rag_chunkterms"] < maximum, read
    assert 0 < read["rag_embedding384"] < CHUNKS + maximum, read


def test_words_that_are_common_elsewhere_are_looked_up_in_the_scope_alone(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index of words finds the chunks of all sources: those of other sources are not read."""
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    monkeypatch.setattr(bm25_query, "_MAX_LOOKED_UP_CHUNKS", 15)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE rag_chunkterms SET (fillfactor = 10)")  # few rows a page, as if they were many
    divide_chunks(world, "private", 60)
    sources = list(DataSource.objects.order_by("pk"))
    chunks = [Chunk.objects.filter(source=source).order_by("pk")[0].pk for source in sources[::4]]
    ChunkTerms.objects.filter(chunk__in=chunks).update(terms=RawSQL("terms || %s::int", [hash_stem("okapi")]))
    SourceTerm.objects.bulk_create([SourceTerm(source=one, term=hash_stem("okapi"), chunks=1) for one in sources[::4]])
    Grant.objects.filter(source__in=sources[10:]).delete()
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    caller = Caller(world.users["member"])
    (scope,) = build_search_scopes(Question("zebra okapi", 10), SourceSelection(caller))
    with identity.run_as(caller.database_identity):
        before = count_rows()
        (candidates,) = provider_factory.chunk_store().search(
            "zebra okapi", [ScopeQuery(scope, None)], mode=Mode.LEXICAL, limit=20
        )
        read = count_rows() - before
    assert sorted(candidates.lexical_ids) == sorted(chunks[:3])
    assert read["rag_chunkterms"] == 2 * 3, read  # each once more for its score


@pytest.mark.parametrize("visibility", ["public", "private"])
@pytest.mark.parametrize("mode", [Mode.DENSE, Mode.HYBRID])
def test_the_number_of_sources_hardly_matters(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, visibility: str, mode: Mode
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", 0)
    in_few, in_many = (rows_read(world, visibility, count, mode) for count in (5, CHUNKS))
    for few, many in zip(in_few, in_many, strict=True):
        assert 0 < many.total() <= MAX_RATIO * few.total(), (few, many)
