"""BM25 in PostgreSQL: scores follow the formula, statistics are exact, and only the scope has an influence."""

import math
import random
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import connection

from rag.models import Chunk, DataSource, Document
from rag.models.content.pgvector_tables import ChunkTerms, SourceTerm
from rag.providers.stores.pgvector import bm25_index, bm25_query
from rag.providers.stores.pgvector import search as pgvector_search
from rag.providers.stores.pgvector.bm25_terms import stemmer
from tests.support.factories import World

from .bm25_documents import add_chunks, check_statistics, find, scope, search, write_document

K1, B, AVERAGE_LENGTH = 1.2, 0.75, 120
# Words and their stems in PostgreSQL's English configuration.
STEMS = {"zebra": "zebra", "zebras": "zebra", "running": "run", "runs": "run", "the": "", "lion": "lion"}
STEMS |= {f"word{letter}": f"word{letter}" for letter in "abcdefgh"}


def bm25(question: str, texts: dict[uuid.UUID, str]) -> dict[uuid.UUID, float]:
    """The formula in plain Python: the scores of texts that contain a term of the question."""
    stems = {key: [stem for word in text.split() if (stem := STEMS[word])] for key, text in texts.items()}
    document_frequency = Counter(stem for text_stems in stems.values() for stem in set(text_stems))
    scores: dict[uuid.UUID, float] = {}
    for stem in [STEMS[word] for word in question.split() if STEMS[word] in document_frequency]:
        idf = math.log(1 + (len(texts) - document_frequency[stem] + 0.5) / (document_frequency[stem] + 0.5))
        for key, text_stems in stems.items():
            if frequency := text_stems.count(stem):
                length_norm = K1 * (1 - B + B * len(text_stems) / AVERAGE_LENGTH)
                scores[key] = scores.get(key, 0.0) + idf * frequency * (K1 + 1) / (frequency + length_norm)
    return scores


@pytest.mark.parametrize("exact_limit", [20_000, 0], ids=["exact", "by index"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_and_statistics_are_correct_after_random_changes(
    world: World, settings: Any, seed: int, exact_limit: int
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = exact_limit
    generator = random.Random(seed)
    sources = [world.source(name) for name in ("one", "two", "other")]
    documents: list[Document] = []
    for _ in range(25):
        new_texts = [
            " ".join(generator.choices(list(STEMS), k=generator.randint(1, 30))) for _ in range(generator.randint(1, 4))
        ]
        action = generator.choice(["write", "write", "change", "remove"]) if documents else "write"
        if action == "write":
            documents.append(write_document(generator.choice(sources), new_texts, lang=generator.choice(["en", ""])))
        elif action == "change":  # some chunks remain, some are deleted, some are new
            document = generator.choice(documents)
            removed = Chunk.objects.filter(document=document, position__gte=generator.randint(0, 3))
            removed._raw_delete(using=connection.alias)
            add_chunks(document, new_texts)
        else:
            document = documents.pop(generator.randrange(len(documents)))
            bm25_index.delete(list(Chunk.objects.filter(document=document).values_list("pk", flat=True)))
            document.delete()
        check_statistics()
    texts = dict(Chunk.objects.filter(source__in=sources[:2]).values_list("pk", "text"))
    for _ in range(10):
        question = " ".join(generator.choices(list(STEMS), k=generator.randint(1, 5)))
        expected = bm25(question, texts)
        results = search(question, scope(*sources[:2]))
        scores = dict(results)
        assert scores == pytest.approx(expected, rel=1e-5)
        assert [key for key, _ in results] == sorted(scores, key=lambda key: (-round(scores[key], 5), key))


def test_other_sources_do_not_influence_a_search(world: World) -> None:
    """Neither results, nor scores, nor coverage: document frequencies are those of the sources in scope."""
    visible, secret = world.source("visible"), world.source("secret")
    write_document(visible, ["zebra runs", "lion", "running lion worda", "wordb"])
    question = "zebra running lion wordc"

    def query_and_results() -> tuple[Any, ...]:
        query = bm25_query.build_query(question, [scope(visible)])
        return query, find(query, scope(visible))

    visible_ids = Chunk.objects.filter(source=visible).order_by("pk").values_list("pk", flat=True)
    before = query_and_results()
    write_document(secret, ["zebra zebra", "wordc", "lion wordc"] * 5, lang="de")
    assert query_and_results() == before
    of_both = find(bm25_query.build_query(question, [scope(visible, secret)]), scope(visible))
    assert set(of_both.lexical_ids) <= set(visible_ids)


@pytest.mark.parametrize("hidden_count", [1, 120])
def test_frequencies_in_many_sources_are_exact(world: World, hidden_count: int) -> None:
    """Whether they are summed, or the other sources are subtracted from the totals of the organisation."""
    fields = {"organization": world.home, "visibility": "private", "embedding_model": world.source().embedding_model}
    slugs = [f"private-{number}" for number in range(110 + hidden_count)]
    sources = DataSource.objects.bulk_create([DataSource(slug=slug, name=slug, **fields) for slug in slugs])
    readable, with_texts = sources[:110], sources[:2]
    for source in (*with_texts, sources[-1]):
        write_document(source, ["zebra runs", "lion", "running lion worda"], lang="de" if source is sources[0] else "")
    query = bm25_query.build_query("zebra lion wordb", [scope(*readable)])
    assert query == bm25_query.build_query("zebra lion wordb", [scope(*with_texts)])
    assert query.chunk_count == 6


def test_no_lock_is_held_while_texts_are_stemmed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stemming a long document does not block the source's other writers; updating its statistics does, shortly."""
    lock_counts: list[int] = []

    def terms_of_texts(texts: Sequence[str], configs: Sequence[str]) -> list[list[int]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            lock_counts.append(cursor.fetchone()[0])
        return type(stemmer).terms(stemmer, texts, configs)

    monkeypatch.setattr(stemmer, "terms", terms_of_texts)
    write_document(world.source(), ["zebra runs", "lion"])
    assert lock_counts[0] == 0
    check_statistics()


def test_searches_read_little_that_is_not_in_the_index_yet(world: World) -> None:
    """With PostgreSQL's 4 MB, each search took up to 10 ms longer until the next vacuum."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT reloptions FROM pg_class WHERE relname = 'terms_words'")
        assert cursor.fetchone() == (["gin_pending_list_limit=256"],)


def test_deleted_chunks_leave_no_statistics(world: World) -> None:
    document = write_document(world.source(), ["zebra", "lion"])
    bm25_index.delete(list(Chunk.objects.values_list("pk", flat=True)))
    assert not ChunkTerms.objects.exists()
    assert not SourceTerm.objects.exists()
    assert bm25_query.build_query("zebra", [scope(document.source)]).chunk_count == 0
    assert search("zebra", scope(document.source)) == []


@pytest.mark.parametrize("max_tagged", [0, 2_000])
def test_every_filter_restricts_the_search(world: World, monkeypatch: pytest.MonkeyPatch, max_tagged: int) -> None:
    monkeypatch.setattr(pgvector_search, "_MAX_MATCHING_DOCUMENTS", max_tagged)
    source = world.source()
    write_document(source, ["zebra worda"], lang="en", tags=["a"], content_type="text/plain")
    other = write_document(source, ["zebra wordb"], lang="de", tags=["b", "c"], content_type="text/html")
    (chunk_id,) = Chunk.objects.filter(document=other).values_list("pk", flat=True)
    for conditions in ({"langs": ("de",)}, {"tags": ("c", "x")}, {"content_types": ("text/html",)}):
        assert [key for key, _ in search("zebra", scope(source, **conditions))] == [chunk_id]
    for other_conditions in ({"source_types": ("faq",)}, {"langs": ("fr",)}, {"langs": ("de",), "tags": ("a",)}):
        assert search("zebra", scope(source, **other_conditions)) == []
