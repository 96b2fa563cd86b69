"""A search in a large table uses its indexes, and no function decides on access row by row.

PostgreSQL counts the scans and the calls of this transaction, so the tests see what was executed and not only planned.
"""

import uuid
from collections import Counter
from typing import Any

import numpy as np
import pytest
from django.db import connection
from django.db.models import Q

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, Document, EmbeddingModel, Grant
from rag.models.search import granted_scopes
from rag.providers import provider_factory
from rag.providers.stores.pgvector import bm25_query
from rag.providers.stores.search_types import ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import ChunkDraft, Mode, Question, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World

CHUNKS = 300
TABLES = ("rag_chunk", "rag_chunkterms", "rag_embedding384", "rag_chunktokensignatures")
# Functions of a whole search, each of which may be called by several others.
MAX_CALLS = 30


def fill(source: DataSource) -> None:
    """Write chunks with random vectors and many words, one of them rare."""
    model = EmbeddingModel.objects.default()
    vectors = np.random.default_rng(1).standard_normal((CHUNKS, 384)).astype(np.float16)
    document = Document.objects.create(
        source=source, path="load", title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=CHUNKS, revision=uuid.uuid4(), source_type="doc", lang="en",
    )  # fmt: skip
    texts = [f"number {number} zebra" if number % 30 == 0 else f"number {number}" for number in range(CHUNKS)]
    drafts = [ChunkDraft(place, place, place + 1, text, (), 1) for place, text in enumerate(texts)]
    version = DocumentVersion(document, drafts, [uuid.uuid4() for _ in drafts], range(CHUNKS), vectors, is_new=True)
    provider_factory.chunk_store().write([version], model=model)


def fill_each(sources: list[DataSource]) -> None:
    """Write one chunk into each source."""
    model = EmbeddingModel.objects.default()
    vectors = np.random.default_rng(2).standard_normal((len(sources), 384)).astype(np.float16)
    versions = []
    for number, source in enumerate(sources):
        document = Document(
            source=source, path=str(number), title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
            chunk_count=1, revision=uuid.uuid4(), source_type="doc", lang="en",
        )  # fmt: skip
        drafts = [ChunkDraft(0, 0, 1, f"zebra number {number}", (), 1)]
        vector = vectors[number : number + 1]
        versions.append(DocumentVersion(document, drafts, [uuid.uuid4()], range(1), vector, is_new=True))
    Document.objects.bulk_create([version.document for version in versions])
    provider_factory.chunk_store().write(versions, model=model)


def scans(name: str) -> int:
    """How often this index, or the whole of this table, was scanned in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_get_xact_numscans(%s::regclass)", [name])
        return int(cursor.fetchone()[0])


def calls() -> Counter[str]:
    """How often the functions that decide on access were called, in this transaction and in ones just before it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT funcname::text, calls FROM pg_stat_xact_user_functions WHERE funcname ~ '^(rag|orgs|ragsite)_'"
        )
        return Counter(dict(cursor.fetchall()))


@pytest.fixture
def member(world: World, settings: Any) -> Caller:
    """A member who may query a large public source and, by a grant, a large private one."""
    user = world.users["member"]
    private = world.source("private", visibility="private")
    Grant.objects.create(source=private, user=user)
    for source in (world.source("public"), private):
        fill(source)
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with unchecked rows gets no index
        cursor.execute("CREATE INDEX test_hnsw ON rag_embedding384 USING hnsw (embedding halfvec_cosine_ops)")
        cursor.execute("ANALYZE")
        # PostgreSQL reads small tables as a whole. With this setting it does so only where it has no other way.
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL track_functions = 'all'")
    return Caller(user)


@pytest.mark.parametrize("max_listed", [200, 0])
def test_a_search_uses_its_indexes(member: Caller, monkeypatch: pytest.MonkeyPatch, max_listed: int) -> None:
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", max_listed)
    before_calls = calls()
    before = {name: scans(name) for name in (*TABLES, "test_hnsw", "terms_words")}
    with identity.run_as(member.database_identity):
        question = Question("Which zebra?", 10, mode=Mode.HYBRID, rerank=True)
        retrieval = permitted_queries.search(question, SourceSelection(member))
        called = calls() - before_calls
    assert len(retrieval.passages) == 10
    assert "zebra" in retrieval.passages[0].text
    after = {name: scans(name) - count for name, count in before.items()}
    assert after.pop("test_hnsw") > 0
    assert after.pop("terms_words") > 0
    assert after == dict.fromkeys(TABLES, 0)
    assert max(called.values()) <= MAX_CALLS, called


@pytest.fixture
def many(world: World) -> tuple[Caller, list[DataSource]]:
    """A member, and 120 private sources with a chunk each, of which all but the last ten are granted to them."""
    fields = {"organization": world.home, "embedding_model": EmbeddingModel.objects.default(), "visibility": "private"}
    names = [f"many-{number}" for number in range(120)]
    sources = DataSource.objects.bulk_create([DataSource(slug=name, name=name, **fields) for name in names])
    member = world.users["member"]
    Grant.objects.bulk_create([Grant(source=source, user=member) for source in sources[:110]])
    fill_each(sources)
    return Caller(member), sources


@pytest.mark.parametrize("max_listed", [200, 0])
def test_an_exact_search_finds_the_chunks_of_all_sources_with_one_scan(
    many: tuple[Caller, list[DataSource]], monkeypatch: pytest.MonkeyPatch, max_listed: int
) -> None:
    caller, sources = many
    monkeypatch.setattr(granted_scopes, "MAX_LISTED", max_listed)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("SET LOCAL enable_bitmapscan = off")
    names = ("embedding384_scope", "terms_of_document")
    before = {name: scans(name) for name in names}
    with identity.run_as(caller.database_identity):
        retrieval = permitted_queries.search(Question("Which zebra?", 200, mode=Mode.HYBRID), SourceSelection(caller))
    assert {passage.source_id for passage in retrieval.passages} == {source.pk for source in sources[:110]}
    # PostgreSQL counts a scan for each part of the index that it looks up: neighbouring sources are one.
    assert all(0 < scans(name) - count < 10 for name, count in before.items())


@pytest.mark.parametrize("is_listed", [False, True])
@pytest.mark.parametrize(("question", "index"), [("zebra", "terms_words"), ("number", "terms_of_document")])
def test_an_exact_search_looks_up_words_that_few_chunks_have(
    world: World, question: str, index: str, is_listed: bool
) -> None:
    source = world.source("public")
    fill(source)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        cursor.execute("SET LOCAL enable_seqscan = off")
    before = {name: scans(name) for name in ("terms_words", "terms_of_document")}
    scope = SearchScope((), source.embedding_model_id, public_in=(world.home.pk,))
    if is_listed:
        scope = SearchScope((source.pk,), source.embedding_model_id)
    (candidates,) = provider_factory.chunk_store().search(
        question, [ScopeQuery(scope, None)], mode=Mode.LEXICAL, limit=20
    )
    assert [name for name, count in before.items() if scans(name) > count] == [index]
    # The scores are equal but for the lengths of texts: those without the rare word are shorter.
    has_rare_word = Q(text__contains="zebra")
    best = Chunk.objects.filter(has_rare_word if question == "zebra" else ~has_rare_word).order_by("pk")
    assert candidates.lexical_ids == tuple(best.values_list("pk", flat=True)[:20])


def test_words_are_counted_in_the_granted_sources_alone(many: tuple[Caller, list[DataSource]]) -> None:
    """Of 120 sources, 110 are granted: the statistics of the others are subtracted from those of the organisation."""
    caller, sources = many
    queryable = DataSource.objects.queryable_by(caller)
    assert queryable.grants
    scope = SearchScope((), EmbeddingModel.objects.default().pk, grants=queryable.grants)
    with identity.run_as(caller.database_identity):
        query = bm25_query.build_query("zebra 7", [scope])
        assert (query.chunk_count, sorted(word.chunk_count for word in query.words)) == (110, [1, 110])
    Grant.objects.filter(source__in=sources[:60]).delete()
    with identity.run_as(caller.database_identity):
        query = bm25_query.build_query("zebra 117", [scope])  # of fewer than half, the granted ones are added
        assert (query.chunk_count, sorted(word.chunk_count for word in query.words)) == (50, [0, 50])


def test_words_are_counted_in_all_sources_of_one_kind_and_few_of_another(
    world: World, many: tuple[Caller, list[DataSource]]
) -> None:
    """All 100 private sources come from the total of the organisation, and 5 of 20 personal ones are added."""
    caller, sources = many
    personal = DataSource.objects.filter(pk__in=[source.pk for source in sources[100:]])
    personal.update(visibility="personal", owner=world.users["editor"])
    personal.filter(pk__in=[source.pk for source in sources[100:105]]).update(owner=world.users["member"])
    grants = DataSource.objects.queryable_by(caller).grants
    scope = SearchScope((), EmbeddingModel.objects.default().pk, grants=grants)
    with identity.run_as(caller.database_identity):
        query = bm25_query.build_query("zebra 104", [scope])
    assert (query.chunk_count, sorted(word.chunk_count for word in query.words)) == (105, [1, 105])


def test_policies_call_no_function_for_each_row(member: Caller) -> None:
    before = calls()
    with identity.run_as(member.database_identity):
        assert Chunk.objects.count() == 2 * CHUNKS
        assert Document.objects.count() == DataSource.objects.count() == 2
        called = calls() - before
    assert called
    assert max(called.values()) <= MAX_CALLS, called
