"""A question whose words are all common: chunks that have two of them are read, not all that have the rarest one."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection
from django.db.models import F

from rag.models import Chunk, DataSource
from rag.models.content.pgvector_tables import SourceConfig, SourceTerm
from rag.providers.stores.pgvector import search as pgvector_search
from rag.types import Filters, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World

from .bm25_documents import scope, search, write_document

BOTH, RAREST, OTHER = 20, 60, 80
# As if so many more chunks had each word: more than are looked up by a word without another.
MORE = 6_000


@pytest.fixture
def source(world: World, settings: Any) -> DataSource:
    """A source with 20 chunks that have both words, 60 with the rarer word alone, and 80 with the other one."""
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 10
    source = world.source()
    texts = ["okapi lemur"] * BOTH + ["okapi"] * RAREST + ["lemur"] * OTHER
    write_document(source, texts, tags=["animals"])
    add_to_statistics()
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        # PostgreSQL reads small tables as a whole. With this setting it does so only where it has no other way.
        cursor.execute("SET LOCAL enable_seqscan = off")
    return source


def add_to_statistics() -> None:
    SourceTerm.objects.update(chunks=F("chunks") + MORE)
    SourceConfig.objects.update(chunks=F("chunks") + 4 * MORE)


def rows_read() -> int:
    """How many rows with a chunk's terms were read in this transaction."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'rag_chunkterms'"
        )
        return int(cursor.fetchone()[0])


def texts_of(hits: Sequence[tuple[Any, float]]) -> list[str]:
    texts = dict(Chunk.objects.values_list("pk", "text"))
    return [texts[key] for key, _ in hits]


@pytest.mark.parametrize("filters", [Filters(), Filters(tags=("animals",))])
def test_only_chunks_with_two_of_the_words_are_read(
    world: World, source: DataSource, monkeypatch: pytest.MonkeyPatch, filters: Filters
) -> None:
    monkeypatch.setattr(pgvector_search, "_MAX_MATCHING_DOCUMENTS", 0)
    within = SearchScope((), source.embedding_model_id, filters, public_in=(world.home.pk,))
    before = rows_read()
    hits = search("okapi lemur", within, k=10)
    read = rows_read() - before
    assert texts_of(hits) == ["okapi lemur"] * 10
    assert read <= BOTH + 10  # those found, and once more the best of them


@pytest.mark.parametrize("filters", [{}, {"tags": ("animals",)}])
def test_other_chunks_are_read_if_too_few_have_two_of_the_words(source: DataSource, filters: dict[str, Any]) -> None:
    hits = search("okapi lemur", scope(source, **filters), k=30)
    assert texts_of(hits) == ["okapi lemur"] * BOTH + ["okapi"] * 10


def test_a_single_common_word_is_looked_up(source: DataSource) -> None:
    assert len(search("okapi", scope(source), k=100)) == BOTH + RAREST


def test_a_filter_that_excludes_chunks_with_two_of_the_words_finds_others(source: DataSource) -> None:
    write_document(source, ["okapi", "lemur"], tags=["wanted"])
    assert len(search("okapi lemur", scope(source, tags=("wanted",)))) == 2
