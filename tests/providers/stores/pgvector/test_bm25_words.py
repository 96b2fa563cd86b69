"""Which words a lexical search finds: stems of many languages, identifiers, scripts without spaces."""

import math
from typing import Any

import pytest

from rag.models import Chunk, Document
from rag.providers.stores.pgvector import bm25_index, bm25_query
from rag.providers.stores.pgvector.bm25_terms import hash_stem, split_words_and_parts, stemmer
from tests.support.factories import World, ingest_text

from .bm25_documents import check_statistics, find, scope, search, write_document


def test_a_changed_language_is_stemmed_again(world: World) -> None:
    """The content has not changed, so the chunks keep their rows."""
    document = write_document(world.source(), ["Die Häuser am Fluss", "Ein Haus"], lang="")
    assert len(search("Haus", scope(document.source))) == 1
    Document.objects.filter(pk=document.pk).update(lang="de")
    bm25_index.sync([document.pk])
    check_statistics()
    assert len(search("Haus", scope(document.source))) == 2
    assert len(search("house and Häusern", scope(document.source))) == 2


def test_a_query_finds_texts_of_every_language_in_its_scope(world: World) -> None:
    source = world.source()
    write_document(source, ["He was running there."], lang="en")
    write_document(source, ["Das Running ist ein Sport."], lang="de")
    query = bm25_query.build_query("running", [scope(source)])
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
    query = bm25_query.build_query("the zebras, lions", [scope(source)])
    zebra, lion = math.log(1 + 2.5 / 1.5), math.log(1 + 0.5 / 3.5)
    coverage = {candidate.chunk_id: candidate.coverage for candidate in find(query, scope(source)).chunks}
    assert coverage[complete] == pytest.approx(1.0)
    assert coverage[partial] == pytest.approx(lion / (zebra + lion))
    with_function_words = bm25_query.build_query("may we use the zebras, lions", [scope(source)])
    assert with_function_words == query  # PostgreSQL takes "may" and "use" for content words
    assert bm25_query.build_query("don't zebras, lions, doesn't", [scope(source)]) == query
    write_document(source, ["how to use it"])
    assert len(bm25_query.build_query("may we use the zebras, lions", [scope(source)]).words) == 3
    only_stop_words = bm25_query.build_query("the", [scope(source)])
    assert only_stop_words.coverage([]) == 0
    assert find(only_stop_words, scope(source)).chunks == ()


def test_common_terms_find_no_candidates_if_there_are_rarer_ones(
    world: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = 0
    monkeypatch.setattr(bm25_query, "_MAX_LOOKED_UP_CHUNKS", 4)
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
    monkeypatch.setattr(bm25_query, "_MAX_LOOKED_UP_CHUNKS", 1)
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
