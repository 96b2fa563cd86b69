"""Headings that say what the question asks, in other words, raise their passages."""

import json
import uuid
from typing import Any

import pytest

from rag.pipeline.retrieval.reranking.rerank import rerank
from rag.pipeline.retrieval.reranking.title_and_heading_similarity import prefer_similar_headings
from rag.providers import provider_factory
from rag.text.indexed_text import embedded_text
from rag.types import Passage, Question
from tests.support.passages import PASSAGE
from tests.support.servers.provider_server import ProviderServer

QUESTION = "Does it work in Safari and on old Internet Explorer?"
SIMILAR = "Which browsers are supported?"
TEXT = "Current versions of the large ones, and the last two of each."


def section(heading: str, text: str = TEXT, relevance: float = 0.5, maxsim: float | None = 0.3) -> Passage:
    """A passage below a heading, with the signatures that ingestion stores."""
    headings = (heading,) if heading else ()
    _, (signatures,) = provider_factory.local_embedder().embed_with_token_signatures(
        [embedded_text(text, headings, "Manual")]
    )
    return PASSAGE.copy_with(
        chunk_id=uuid.uuid4(), title="Manual", headings=headings, text=text, relevance=relevance, maxsim=maxsim,
        signatures=signatures,
    )  # fmt: skip


def headings(passages: list[Passage]) -> list[str]:
    return [passage.headings[0] if passage.headings else "" for passage in passages]


OTHERS = ["How do I install it?", "Which languages are supported?", "What does a licence cost?"]


@pytest.mark.parametrize(
    "text", [TEXT, f"## {SIMILAR}\n\n{TEXT}", f"# Manual\n\n## {SIMILAR}\n\nBrowsers are supported."]
)
def test_the_section_with_the_similar_heading_comes_first(text: str) -> None:
    """The text may begin with the heading, or repeat its words."""
    ranked = prefer_similar_headings(QUESTION, [*map(section, OTHERS), section(SIMILAR, text)])
    assert headings(ranked)[0] == SIMILAR
    relevances = [passage.relevance for passage in ranked]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 < relevance < 1 for relevance in relevances)


def test_a_much_better_passage_stays_first() -> None:
    ranked = prefer_similar_headings(
        QUESTION, [section(OTHERS[0], relevance=0.97), *map(section, (OTHERS[1], SIMILAR))]
    )
    assert headings(ranked) == [OTHERS[0], SIMILAR, OTHERS[1]]


def test_passages_without_a_heading_or_a_comparison_count_as_the_mean() -> None:
    without, foreign = section(""), section("Welche Browser werden unterstützt?", maxsim=None)
    ranked = prefer_similar_headings(QUESTION, [without, foreign, section(OTHERS[0]), section(SIMILAR)])
    assert headings(ranked) == [SIMILAR, "", "Welche Browser werden unterstützt?", OTHERS[0]]
    assert [passage.relevance for passage in ranked][1:3] == pytest.approx([0.5, 0.5])
    assert all(passage.signatures is not None for passage in ranked), "they would be read again"


def test_only_the_best_ten_are_compared() -> None:
    best = [section(f"{OTHERS[n % 3]} {n}", relevance=0.9 - n / 100) for n in range(10)]
    rest = [section(SIMILAR, relevance=0.8), section(SIMILAR, relevance=0.1)]
    ranked = prefer_similar_headings(QUESTION, [*best, *rest])
    assert headings(ranked)[-2:] == [SIMILAR, SIMILAR]
    relevances = [passage.relevance for passage in ranked]
    assert relevances == sorted(relevances, reverse=True)
    assert relevances[-1] == pytest.approx(0.1)


def test_the_order_of_another_reranker_stays(model_provider: ProviderServer, settings: Any) -> None:
    """The other reranker has read the headings with the text."""
    settings.RAG_RERANK_MODEL, settings.RAG_RERANK_BASE_URL = "test-rerank", model_provider.base_url
    results = [{"index": index, "relevance_score": 0.6 - index / 10} for index in range(3)]
    model_provider.fail(200, body=json.dumps({"results": results}).encode())
    ranked, warnings = rerank(Question(QUESTION, top_k=3, rerank=True), [*map(section, OTHERS[:2]), section(SIMILAR)])
    assert (headings(ranked), warnings) == ([*OTHERS[:2], SIMILAR], ())
    assert [passage.relevance for passage in ranked] == pytest.approx([0.6, 0.5, 0.4])


def test_the_built_in_reranker_prefers_similar_headings() -> None:
    ranked, _ = rerank(Question(QUESTION, top_k=3, rerank=True), [*map(section, OTHERS[:2]), section(SIMILAR)])
    assert headings(ranked)[0] == SIMILAR


def test_a_single_passage_and_none_stay_as_they_are() -> None:
    (alone,) = prefer_similar_headings(QUESTION, [section(SIMILAR)])
    assert alone.relevance == pytest.approx(0.5)
    assert prefer_similar_headings(QUESTION, []) == []


def test_titles_and_headings_in_another_language_are_compared_by_the_multilingual_model() -> None:
    vector = provider_factory.multilingual_embedder().embed_question("Wo lasse ich mein Rad stehen?")
    titles = ["Gäste bewirten", "Pakete verschicken", "Schlüssel verloren", "Fahrräder abstellen"]
    passages = [
        PASSAGE.copy_with(chunk_id=uuid.uuid4(), title=title, headings=(), relevance=0.5, lang="de") for title in titles
    ]
    ranked = prefer_similar_headings("Wo lasse ich mein Rad stehen?", passages, vector)
    assert ranked[0].title == "Fahrräder abstellen"
    assert ranked[0].heading_similarity is not None
    assert prefer_similar_headings("Wo lasse ich mein Rad stehen?", passages[:1], vector) == passages[:1]


def test_headings_that_are_questions_say_more_in_another_language() -> None:
    """As in an FAQ: the passage below such a heading need not resemble the question."""
    query = "Wie lade ich neue Mitglieder ein?"
    vector = provider_factory.multilingual_embedder().embed_question(query)
    titles = ["Invite new members", "Delete old teams", "Change the name", "Count the votes"]

    def first(ending: str) -> str:
        passages = [
            PASSAGE.copy_with(chunk_id=uuid.uuid4(), headings=(title + ending,), relevance=0.95 if number else 0.5)
            for number, title in enumerate(titles)
        ]
        return prefer_similar_headings(query, passages, vector)[0].headings[0]

    assert first("?") == "Invite new members?"
    assert first("") != "Invite new members"
