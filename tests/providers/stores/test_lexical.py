"""BM25 in PostgreSQL: the scores of the formula, statistics that are exact, and nothing from outside the scope."""

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
from rag.providers.stores.pgvector import filter_sql, lexical, terms
from rag.providers.stores.pgvector.stemming import hash_stem, split_words, stemmer
from rag.types import Filters, SearchScope
from ragsite.postgres.models import uuid7
from tests.support.factories import World, ingest_text

K1, B, USUAL_LENGTH = 1.2, 0.75, 120
# Words, and what PostgreSQL's English stemmer makes of them.
STEMS = {"zebra": "zebra", "zebras": "zebra", "running": "run", "runs": "run", "the": "", "lion": "lion"}
STEMS |= {f"word{letter}": f"word{letter}" for letter in "abcdefgh"}


def written(source: DataSource, texts: Sequence[str], **fields: Any) -> Document:
    """A document with a chunk of each text."""
    document = Document.objects.create(
        source=source, path=str(uuid7()), title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(texts), revision=uuid7(), source_type="doc", **fields,
    )  # fmt: skip
    add(document, texts)
    return document


def add(document: Document, texts: Sequence[str]) -> list[Chunk]:
    place = Chunk.objects.filter(document=document).order_by("-position").values_list("position", flat=True).first()
    first = -1 if place is None else place
    chunks = [
        Chunk(source_id=document.source_id, document=document, position=first + n, start=0, end=1, text=text, tokens=1)
        for n, text in enumerate(texts, start=1)
    ]
    made = Chunk.objects.bulk_create(chunks)
    follow(document)
    return made


def follow(*documents: Document) -> None:
    terms.sync([document.pk for document in documents])


def scope(*sources: DataSource, **filters: Any) -> SearchScope:
    return SearchScope(tuple(source.pk for source in sources), sources[0].embedding_model_id, Filters(**filters))


def searched(question: str, within: SearchScope, k: int = 100) -> list[tuple[uuid.UUID, float]]:
    wanted = lexical.build_query(question, within.source_ids)
    found = lexical.search(wanted, within, k, exact_limit=django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS)
    scores = lexical.score(wanted, found)
    return [(chunk_id, scores[chunk_id].score) for chunk_id in found]


def bm25(question: str, texts: dict[uuid.UUID, str]) -> dict[uuid.UUID, float]:
    """In plain Python; only what has a word of the question."""
    stemmed = {key: [stem for word in text.split() if (stem := STEMS[word])] for key, text in texts.items()}
    holding = Counter(stem for found in stemmed.values() for stem in set(found))
    scores: dict[uuid.UUID, float] = {}
    for stem in [STEMS[word] for word in question.split() if STEMS[word] in holding]:
        rarity = math.log(1 + (len(texts) - holding[stem] + 0.5) / (holding[stem] + 0.5))
        for key, found in stemmed.items():
            if often := found.count(stem):
                around = K1 * (1 - B + B * len(found) / USUAL_LENGTH)
                scores[key] = scores.get(key, 0.0) + rarity * often * (K1 + 1) / (often + around)
    return scores


def check_statistics() -> None:
    counted = Counter({(row.source_id, row.term): row.chunks for row in SourceTerm.objects.all()})
    rows = list(ChunkTerms.objects.all())
    assert counted == Counter((row.source_id, term) for row in rows for term in row.terms)
    configs = SourceConfig.objects.exclude(chunks=0).values_list("source_id", "config", "chunks")
    assert {(source_id, config): chunks for source_id, config, chunks in configs} == Counter(
        (row.source_id, row.config) for row in rows
    )
    assert {row.chunk_id for row in rows} == set(Chunk.objects.values_list("pk", flat=True))


@pytest.mark.parametrize("exact_limit", [20_000, 0], ids=["one by one", "by index"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_and_statistics_are_those_of_the_formula_whatever_was_written_and_removed(
    world: World, settings: Any, seed: int, exact_limit: int
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = exact_limit
    chance = random.Random(seed)
    sources = [world.source(name) for name in ("one", "two", "other")]
    documents: list[Document] = []
    for _ in range(25):
        some = [" ".join(chance.choices(list(STEMS), k=chance.randint(1, 30))) for _ in range(chance.randint(1, 4))]
        action = chance.choice(["write", "write", "change", "remove"]) if documents else "write"
        if action == "write":
            documents.append(written(chance.choice(sources), some, lang=chance.choice(["en", ""])))
        elif action == "change":  # some chunks stay, some go, some are new
            document = chance.choice(documents)
            gone = Chunk.objects.filter(document=document, position__gte=chance.randint(0, 3))
            gone._raw_delete(using=connection.alias)
            add(document, some)
        else:
            document = documents.pop(chance.randrange(len(documents)))
            terms.delete(list(Chunk.objects.filter(document=document).values_list("pk", flat=True)))
            document.delete()
        check_statistics()
    texts = dict(Chunk.objects.filter(source__in=sources[:2]).values_list("pk", "text"))
    for _ in range(10):
        question = " ".join(chance.choices(list(STEMS), k=chance.randint(1, 5)))
        expected = bm25(question, texts)
        found = searched(question, scope(*sources[:2]))
        assert dict(found) == pytest.approx(expected, rel=1e-5)
        assert [key for key, _ in found] == sorted(dict(found), key=lambda key: (-round(dict(found)[key], 5), key))


def test_a_word_in_another_source_changes_nothing(world: World) -> None:
    """Neither what is found, nor a score, nor a coverage: rarity is looked up in the sources of the scope alone."""
    mine, secret = world.source("mine"), world.source("secret")
    written(mine, ["zebra runs", "lion", "running lion worda", "wordb"])
    question = "zebra running lion wordc"

    def answer() -> tuple[Any, ...]:
        wanted = lexical.build_query(question, [mine.pk])
        return (
            wanted,
            lexical.search(wanted, scope(mine), 10, exact_limit=django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS),
            lexical.score(wanted, list(everything)),
        )

    everything = Chunk.objects.filter(source=mine).order_by("pk").values_list("pk", flat=True)
    before = answer()
    written(secret, ["zebra zebra", "wordc", "lion wordc"] * 5, lang="de")
    assert answer() == before
    assert not set(
        lexical.search(
            lexical.build_query(question, [mine.pk, secret.pk]),
            scope(mine),
            10,
            exact_limit=django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS,
        )
    ) - set(everything)


def test_nobody_waits_while_words_are_stemmed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A very long document keeps the source's other writers waiting for no longer than its words are counted."""
    held: list[int] = []

    def terms_of_texts(texts: Sequence[str], configs: Sequence[str]) -> list[list[int]]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            held.append(cursor.fetchone()[0])
        return type(stemmer).terms(stemmer, texts, configs)

    monkeypatch.setattr(stemmer, "terms", terms_of_texts)
    written(world.source(), ["zebra runs", "lion"])
    assert held[0] == 0
    check_statistics()


def test_what_was_removed_leaves_no_trace_in_the_statistics(world: World) -> None:
    document = written(world.source(), ["zebra", "lion"])
    terms.delete(list(Chunk.objects.values_list("pk", flat=True)))
    assert not ChunkTerms.objects.exists()
    assert not SourceTerm.objects.exists()
    assert lexical.build_query("zebra", [document.source_id]).chunk_count == 0
    assert searched("zebra", scope(document.source)) == []


@pytest.mark.parametrize("max_tagged", [0, 2_000])
def test_every_filter_holds(world: World, monkeypatch: pytest.MonkeyPatch, max_tagged: int) -> None:
    monkeypatch.setattr(filter_sql, "_MAX_TAGGED_DOCUMENTS", max_tagged)
    source = world.source()
    written(source, ["zebra worda"], lang="en", tags=["a"], content_type="text/plain")
    other = written(source, ["zebra wordb"], lang="de", tags=["b", "c"], content_type="text/html")
    (chunk_id,) = Chunk.objects.filter(document=other).values_list("pk", flat=True)
    for conditions in ({"langs": ("de",)}, {"tags": ("c", "x")}, {"content_types": ("text/html",)}):
        assert [key for key, _ in searched("zebra", scope(source, **conditions))] == [chunk_id]
    for nothing in ({"source_types": ("faq",)}, {"langs": ("fr",)}, {"langs": ("de",), "tags": ("a",)}):
        assert searched("zebra", scope(source, **nothing)) == []


def test_another_language_is_stemmed_anew(world: World) -> None:
    """Of a document whose content did not change: its chunks keep their rows."""
    document = written(world.source(), ["Die Häuser am Fluss", "Ein Haus"], lang="")
    assert len(searched("Haus", scope(document.source))) == 1
    Document.objects.filter(pk=document.pk).update(lang="de")
    follow(document)
    check_statistics()
    assert len(searched("Haus", scope(document.source))) == 2
    assert len(searched("house and Häusern", scope(document.source))) == 2


def test_a_question_finds_texts_of_every_language_in_its_scope(world: World) -> None:
    source = world.source()
    written(source, ["He was running there."], lang="en")
    written(source, ["Das Running ist ein Sport."], lang="de")
    wanted = lexical.build_query("running", [source.pk])
    assert len(lexical.search(wanted, scope(source), 10, exact_limit=django_settings.RAG_EXACT_SEARCH_MAX_CHUNKS)) == 2
    assert [(word.chunk_count, word.terms) for word in wanted.words] == [
        (2, frozenset({hash_stem("run"), hash_stem("running")}))
    ]


def test_identifiers_are_found_whole_and_by_their_parts(world: World) -> None:
    source = world.source()
    written(source, ["def parse_http_header(): ...", "new HTTPServerError2()", "std::io::Error", "a.b.config"])
    assert split_words("getUserName HTTPServer2 snake_case_id") == [
        "getusername", "get", "user", "name", "httpserver2", "http", "server", "2", "snake_case_id", "snake", "case",
        "id",
    ]  # fmt: skip
    for question, count in (("header", 1), ("parse_http_header", 2), ("server error", 2), ("io", 1), ("config", 1)):
        assert len(searched(question, scope(source))) == count, question
    best, *_ = searched("parse_http_header", scope(source))
    assert best[0] == Chunk.objects.get(text__startswith="def").pk


def test_coverage_is_the_share_of_the_words_by_their_rarity(world: World) -> None:
    source = world.source()
    written(source, ["zebra lion", "lion", "lion worda"])
    whole, part, _ = Chunk.objects.order_by("position").values_list("pk", flat=True)
    wanted = lexical.build_query("the zebras, lions", [source.pk])
    zebra, lion = math.log(1 + 2.5 / 1.5), math.log(1 + 0.5 / 3.5)
    matches = lexical.score(wanted, [whole, part])
    assert matches[whole].coverage == pytest.approx(1.0)
    assert matches[part].coverage == pytest.approx(lion / (zebra + lion))
    assert lexical.score(lexical.build_query("the", [source.pk]), [whole])[whole] == lexical.LexicalScore(0.0, 0.0)


def test_the_commonest_words_find_no_candidates_where_there_are_rarer_ones(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 0
    monkeypatch.setattr(lexical, "_MAX_LOOKED_UP_CHUNKS", 4)
    source = world.source()
    written(source, ["lion worda"] * 5 + ["lion zebra", "zebra"])
    texts = dict(Chunk.objects.values_list("pk", "text"))
    assert [texts[key] for key, _ in searched("zebra lion", scope(source))] == ["lion zebra", "zebra"]
    assert len(searched("lion", scope(source))) == 6


def test_hostile_texts_have_terms(world: World) -> None:
    """Longer than any word, more different words than a vector holds, and no word at all."""
    source = world.source()
    many = " ".join(f"w{number}" for number in range(8_000))
    written(source, ["x" * 100_000, many, "… !!", "", "ﬁne naïve 東京 Straße"])
    check_statistics()
    for question, count in (("x" * 100_000, 1), ("w7999", 1), ("fine", 1), ("…", 0), ("Straße", 1)):
        assert len(searched(question, scope(source))) == count, question[:10]


def test_a_filter_that_leaves_none_of_the_rarest_words_leaves_the_others(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 0
    monkeypatch.setattr(lexical, "_MAX_LOOKED_UP_CHUNKS", 1)
    source = world.source()
    written(source, ["zebra"], tags=["others"])
    written(source, ["lion", "lion again"], tags=["mine"])
    assert len(searched("zebra lion", scope(source, tags=("mine",)))) == 2


def test_a_new_title_is_found_and_the_old_one_no_more(world: World) -> None:
    source = world.source()
    for title in ("Alpha", "Omega"):
        assert ingest_text(source, "a", "Zebras have stripes.", title=title).status in ("created", "unchanged")
        check_statistics()
    assert [len(searched(word, scope(source))) for word in ("alpha", "omega", "zebras")] == [0, 1, 1]


def test_a_language_that_this_postgresql_does_not_know_is_left_as_it_is(world: World) -> None:
    source = world.source()
    written(source, ["zebra runs"], lang="eo")
    assert stemmer.terms_of_words(["runs"], "klingon") == {"runs": hash_stem("runs")}
    assert len(searched("zebra", scope(source))) == 1


def test_scripts_without_spaces_are_found(world: World) -> None:
    source = world.source()
    written(source, ["東京の天気は晴れです。", "大阪の食べ物"], lang="ja")
    ((_, score),) = searched("東京", scope(source))
    assert score > 0
