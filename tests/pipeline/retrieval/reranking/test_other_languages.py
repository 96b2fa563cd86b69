"""Passages in other languages get their places by the multilingual model, which compares the English ones as well."""

import uuid

import numpy as np
from django.conf import LazySettings
from hypothesis import given
from hypothesis import strategies as st

from rag.pipeline.retrieval.query.embed_in_scopes import EmbeddedQuestion
from rag.pipeline.retrieval.reranking.other_languages import admit_nearest, find_multilingual, place_other_languages
from rag.types import Filters, Hit, Passage, Question, SearchScope
from tests.support.passages import PASSAGE

PROBABILITY = st.floats(0.05, 0.95)
COSINES = st.floats(-1, 1)


def passage(lang: str, *, relevance: float, cosine: float | None, **fields: object) -> Passage:
    return PASSAGE.copy_with(
        chunk_id=uuid.uuid4(), lang=lang, relevance=relevance, multilingual_cosine=cosine, **fields
    )


def order(*passages: Passage) -> list[int]:
    placed = place_other_languages(passages)
    return sorted(range(len(placed)), key=lambda index: -placed[index].relevance)


def test_a_passage_that_is_more_similar_than_all_english_ones_comes_first() -> None:
    english = [passage("en", relevance=0.9, cosine=0.3), passage("", relevance=0.7, cosine=0.2)]
    assert order(*english, passage("de", relevance=0.1, cosine=0.4)) == [2, 0, 1]


def test_any_other_comes_after_the_english_one_that_is_the_most_similar() -> None:
    english = [passage("en", relevance=0.9, cosine=0.1), passage("en", relevance=0.7, cosine=0.4)]
    others = [passage("de", relevance=0.95, cosine=0.35), passage("fr", relevance=0.2, cosine=0.0)]
    assert order(*english, *others) == [0, 1, 2, 3]


def test_an_english_passage_that_probably_has_the_answer_stays_first() -> None:
    german = passage("de", relevance=0.1, cosine=0.4)
    for evidence in ({"coverage": 0.8}, {"weighted_maxsim": 0.5}):
        assert order(passage("en", relevance=0.9, cosine=0.3, **evidence), german) == [0, 1]
    for evidence in ({"coverage": 0.5}, {"weighted_maxsim": 0.4}):
        assert order(passage("en", relevance=0.9, cosine=0.3, **evidence), german) == [1, 0]


@given(st.lists(st.tuples(st.sampled_from(["en", "de", ""]), PROBABILITY, COSINES | st.none()), max_size=8))
def test_only_passages_in_other_languages_that_were_compared_are_moved(values: list[tuple[str, float, float]]) -> None:
    passages = [passage(lang, relevance=relevance, cosine=cosine) for lang, relevance, cosine in values]
    placed = place_other_languages(passages)
    assert [one.copy_with(relevance=0) for one in placed] == [one.copy_with(relevance=0) for one in passages]
    for before, after in zip(passages, placed, strict=True):
        assert 0 <= after.relevance <= 1
        if before.lang != "de" or before.multilingual_cosine is None:
            assert after.relevance == before.relevance


def test_the_nearest_in_other_languages_are_reranked_however_many_hits_come_first() -> None:
    hits = [Hit(uuid.uuid4(), 0.5) for _ in range(100)]
    ids = [hit.chunk_id for hit in hits]
    nearest = [ids[3], *ids[80:95]]
    admitted = [hit.chunk_id for hit in admit_nearest(hits, nearest, 50)]
    assert admitted == [*ids[:41], *ids[80:89], *ids[41:80], *ids[89:]]
    assert admit_nearest(hits[:40], nearest, 50) == hits[:40]


def test_the_nearest_are_those_in_other_languages_even_if_some_sources_have_the_multilingual_model(
    settings: LazySettings,
) -> None:
    """The scope of sources whose own model it is comes first, and has English passages."""
    model_id, vector = uuid.uuid4(), np.ones(1, np.float32)
    embedded = [
        EmbeddedQuestion(SearchScope((), model_id, filters), settings.RAG_MULTILINGUAL_MODEL, vector)
        for filters in (Filters(), Filters(langs=("de", "fr")))
    ]
    english = EmbeddedQuestion(SearchScope((), uuid.uuid4()), settings.RAG_EMBEDDING_MODEL, vector)
    question = Question(text="How often is the bell cleaned?", top_k=5, rerank=True)
    assert find_multilingual(question, [embedded[0], english, embedded[1]]) == 2
    assert find_multilingual(question, [embedded[0], english]) == 0
    assert find_multilingual(question, [english]) is None
