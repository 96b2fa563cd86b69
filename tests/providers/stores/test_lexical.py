"""BM25 in PostgreSQL: scores follow the formula, statistics are exact, and only the scope has an influence."""

import math
import random
import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection

from rag.models import Chunk, DataSource, Document
from rag.models.content.pgvector_tables import ChunkTerms, SourceConfig, SourceTerm
from rag.providers.stores.base import Candidates
from rag.providers.stores.pgvector import candidates, lexical, terms
from rag.providers.stores.pgvector.stemming import hash_stem, split_words_and_parts, stemmer
from rag.types import Filters, Mode, SearchScope
from ragsite.postgres.models import uuid7
from tests.support.factories import World, ingest_text

K1, B, AVERAGE_LENGTH = 1.2, 0.75, 120
# Words and their stems in PostgreSQL's English configuration.
STEMS = {"zebra": "zebra", "zebras": "zebra", "running": "run", "runs": "run", "the": "", "lion": "lion"}
STEMS |= {f"word{letter}": f"word{letter}" for letter in "abcdefgh"}


def write_document(source: DataSource, texts: Sequence[str], **fields: Any) -> Document:
    """Create a document with one chunk for each text."""
    document = Document.objects.create(
        source=source, path=str(uuid7()), title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(texts), revision=uuid7(), source_type="doc", **fields,
    )  # fmt: skip
    add_chunks(document, texts)
    return document


def add_chunks(document: Document, texts: Sequence[str]) -> None:
    positions = Chunk.objects.filter(document=document).values_list("position", flat=True)
    last_position = max(positions, default=-1)
    chunks = [
        Chunk(
            source_id=document.source_id,
            document=document,
            position=last_position + n,
            start=0,
            end=1,
            text=text,
            tokens=1,
        )
        for n, text in enumerate(texts, start=1)
    ]
    Chunk.objects.bulk_create(chunks)
    terms.sync([document.pk])


def scope(*sources: DataSource, **filters: Any) -> SearchScope:
    return SearchScope(tuple(source.pk for source in sources), sources[0].embedding_model_id, Filters(**filters))


def search(question: str, within: SearchScope, k: int = 100) -> list[tuple[uuid.UUID, float]]:
    result = find(lexical.build_query(question, [within]), within, k)
    scores = {candidate.chunk_id: candidate.lexical_score for candidate in result.chunks}
    return [(chunk_id, scores[chunk_id]) for chunk_id in result.lexical_ids]


def find(query: lexical.LexicalQuery, within: SearchScope, k: int = 100) -> Candidates:
    exact_limit = django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS
    return candidates.find(within, None, query, mode=Mode.HYBRID, limit=k, exact_limit=exact_limit, chunk_count=None)


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


def check_statistics() -> None:
    """Assert that the statistics count exactly the stored terms."""
    counted = Counter({(row.source_id, row.term): row.chunks for row in SourceTerm.objects.all()})
    rows = list(ChunkTerms.objects.all())
    assert counted == Counter((row.source_id, term) for row in rows for term in row.terms)
    configs = SourceConfig.objects.exclude(chunks=0).values_list("source_id", "config", "chunks")
    assert {(source_id, config): chunks for source_id, config, chunks in configs} == Counter(
        (row.source_id, row.config) for row in rows
    )
    assert {row.chunk_id for row in rows} == set(Chunk.objects.values_list("pk", flat=True))


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
            terms.delete(list(Chunk.objects.filter(document=document).values_list("pk", flat=True)))
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
        query = lexical.build_query(question, [scope(visible)])
        return query, find(query, scope(visible))

    visible_ids = Chunk.objects.filter(source=visible).order_by("pk").values_list("pk", flat=True)
    before = query_and_results()
    write_document(secret, ["zebra zebra", "wordc", "lion wordc"] * 5, lang="de")
    assert query_and_results() == before
    of_both = find(lexical.build_query(question, [scope(visible, secret)]), scope(visible))
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
    query = lexical.build_query("zebra lion wordb", [scope(*readable)])
    assert query == lexical.build_query("zebra lion wordb", [scope(*with_texts)])
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


def test_deleted_chunks_leave_no_statistics(world: World) -> None:
    document = write_document(world.source(), ["zebra", "lion"])
    terms.delete(list(Chunk.objects.values_list("pk", flat=True)))
    assert not ChunkTerms.objects.exists()
    assert not SourceTerm.objects.exists()
    assert lexical.build_query("zebra", [scope(document.source)]).chunk_count == 0
    assert search("zebra", scope(document.source)) == []


@pytest.mark.parametrize("max_tagged", [0, 2_000])
def test_every_filter_restricts_the_search(world: World, monkeypatch: pytest.MonkeyPatch, max_tagged: int) -> None:
    monkeypatch.setattr(candidates, "_MAX_TAGGED_DOCUMENTS", max_tagged)
    source = world.source()
    write_document(source, ["zebra worda"], lang="en", tags=["a"], content_type="text/plain")
    other = write_document(source, ["zebra wordb"], lang="de", tags=["b", "c"], content_type="text/html")
    (chunk_id,) = Chunk.objects.filter(document=other).values_list("pk", flat=True)
    for conditions in ({"langs": ("de",)}, {"tags": ("c", "x")}, {"content_types": ("text/html",)}):
        assert [key for key, _ in search("zebra", scope(source, **conditions))] == [chunk_id]
    for other_conditions in ({"source_types": ("faq",)}, {"langs": ("fr",)}, {"langs": ("de",), "tags": ("a",)}):
        assert search("zebra", scope(source, **other_conditions)) == []


def test_a_changed_language_is_stemmed_again(world: World) -> None:
    """The content has not changed, so the chunks keep their rows."""
    document = write_document(world.source(), ["Die Häuser am Fluss", "Ein Haus"], lang="")
    assert len(search("Haus", scope(document.source))) == 1
    Document.objects.filter(pk=document.pk).update(lang="de")
    terms.sync([document.pk])
    check_statistics()
    assert len(search("Haus", scope(document.source))) == 2
    assert len(search("house and Häusern", scope(document.source))) == 2


def test_a_query_finds_texts_of_every_language_in_its_scope(world: World) -> None:
    source = world.source()
    write_document(source, ["He was running there."], lang="en")
    write_document(source, ["Das Running ist ein Sport."], lang="de")
    query = lexical.build_query("running", [scope(source)])
    assert len(find(query, scope(source)).lexical_ids) == 2
    assert [(word.chunk_count, word.terms) for word in query.words] == [
        (2, frozenset({hash_stem("run"), hash_stem("running")}))
    ]


def test_function_words_of_a_foreign_question_find_nothing(world: World) -> None:
    """English texts contain "de la" in names, where they would be rare words."""
    source = world.source()
    names = write_document(source, ["Maria de la Cruz", "a piano"], lang="en")
    assert search("la Cruz", scope(source))
    assert not search("¿Con qué frecuencia hay que afinar la voz de un coro?", scope(source))
    (hit,) = search("¿Con qué frecuencia hay que afinar un piano?", scope(source))
    assert hit[0] == names.chunks.get(text="a piano").pk


def test_identifiers_are_found_by_name_and_by_part(world: World) -> None:
    source = world.source()
    write_document(source, ["def parse_http_header(): ...", "new HTTPServerError2()", "std::io::Error", "a.b.config"])
    assert split_words_and_parts("getUserName HTTPServer2 snake_case_id") == [
        "getusername", "get", "user", "name", "httpserver2", "http", "server", "2", "snake_case_id", "snake", "case",
        "id",
    ]  # fmt: skip
    for question, count in (("header", 1), ("parse_http_header", 2), ("server error", 2), ("io", 1), ("config", 1)):
        assert len(search(question, scope(source))) == count, question
    best, *_ = search("parse_http_header", scope(source))
    assert best[0] == Chunk.objects.get(text__startswith="def").pk


def test_coverage_is_the_matched_share_of_the_query_weighted_by_idf(world: World) -> None:
    source = world.source()
    write_document(source, ["zebra lion", "lion", "lion worda"])
    complete, partial, _ = Chunk.objects.order_by("position").values_list("pk", flat=True)
    query = lexical.build_query("the zebras, lions", [scope(source)])
    zebra, lion = math.log(1 + 2.5 / 1.5), math.log(1 + 0.5 / 3.5)
    coverage = {candidate.chunk_id: candidate.coverage for candidate in find(query, scope(source)).chunks}
    assert coverage[complete] == pytest.approx(1.0)
    assert coverage[partial] == pytest.approx(lion / (zebra + lion))
    only_stop_words = lexical.build_query("the", [scope(source)])
    assert only_stop_words.coverage([]) == 0
    assert find(only_stop_words, scope(source)).chunks == ()


def test_common_terms_find_no_candidates_if_there_are_rarer_ones(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 0
    monkeypatch.setattr(lexical, "_MAX_LOOKED_UP_CHUNKS", 4)
    source = world.source()
    write_document(source, ["lion worda"] * 5 + ["lion zebra", "zebra"])
    texts = dict(Chunk.objects.values_list("pk", "text"))
    assert [texts[key] for key, _ in search("zebra lion", scope(source))] == ["lion zebra", "zebra"]
    assert len(search("lion", scope(source))) == 6


def test_hostile_texts_are_indexed(world: World) -> None:
    """A very long word, thousands of distinct words, texts without words, and letters outside ASCII."""
    source = world.source()
    many = " ".join(f"w{number}" for number in range(8_000))
    write_document(source, ["x" * 100_000, many, "… !!", "", "ﬁne naïve 東京 Straße"])
    check_statistics()
    for question, count in (("x" * 100_000, 1), ("w7999", 1), ("fine", 1), ("…", 0), ("Straße", 1)):
        assert len(search(question, scope(source))) == count, question[:10]


def test_a_filter_that_excludes_the_rarest_term_does_not_exclude_others(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 0
    monkeypatch.setattr(lexical, "_MAX_LOOKED_UP_CHUNKS", 1)
    source = world.source()
    write_document(source, ["zebra"], tags=["others"])
    write_document(source, ["lion", "lion again"], tags=["wanted"])
    assert len(search("zebra lion", scope(source, tags=("wanted",)))) == 2


def test_a_new_title_replaces_the_old_one(world: World) -> None:
    source = world.source()
    for title in ("Alpha", "Omega"):
        assert ingest_text(source, "a", "Zebras have stripes.", title=title).status in ("created", "unchanged")
        check_statistics()
    assert [len(search(word, scope(source))) for word in ("alpha", "omega", "zebras")] == [0, 1, 1]


def test_an_unknown_language_is_not_stemmed(world: World) -> None:
    source = world.source()
    write_document(source, ["zebra runs"], lang="eo")
    assert stemmer.terms_of_words(["runs"], "klingon") == {"runs": hash_stem("runs")}
    assert len(search("zebra", scope(source))) == 1


def test_scripts_without_spaces_are_found(world: World) -> None:
    source = world.source()
    write_document(source, ["東京の天気は晴れです。", "大阪の食べ物"], lang="ja")
    ((_, score),) = search("東京", scope(source))
    assert score > 0
