"""The evaluation of whole answers: what counts as right, readable, declined and overconfident."""

from pathlib import Path

import pytest

from benchmarks.eval.datasets import answers as answer_sets
from benchmarks.eval.datasets.answers import AskedQuestion
from benchmarks.eval.quality_guard import INCLUDED_SETS
from benchmarks.eval.readability import faults
from benchmarks.eval.runner.answers import Given, figures
from benchmarks.support import language_model
from rag.providers.language_models.openai import OpenAILanguageModel
from rag.types import Message


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("Tea is served at five. [1]", ""),
        ("- tea — price: 5 [1]", ""),
        ("Start the kettle:\n```\nkettle --start \\\n  --cups 2\n```\n[1]", ""),
        ("You need:\n- a passport\n- two photographs [1]", ""),
        ("", "empty"),
        ("| drink | price | [1]\n| tea | 5 | [1]", "table row without the names of its columns"),
        ("| --- | --- |", "table row without the names of its columns"),
        ("Opening hours\n=====\nFrom nine to five.", "heading"),
        ("## Tea\nTea is hot.", "heading"),
        ("```\nkettle --start \\\n```", "partial command"),
        ("```\n--cups 2\n```", "partial command"),
        ("It boils two litres. [1]", "subject not shown"),
        ("and then it boils.", "begins within a sentence"),
        ("You need these documents: [1]", "introduction without what it introduces"),
        ("Tea is served in the [1]", "ends within a sentence"),
    ],
)
def test_the_rule_of_readability(answer: str, fault: str) -> None:
    assert (fault in faults(answer)) if fault else not faults(answer)


def test_figures_of_answers() -> None:
    """A fact may be written in several ways; a wrong answer with a high confidence counts, a refusal does not."""
    kettle = AskedQuestion("Where is the kettle?", facts=(("second floor", "2nd  floor"),), forbidden=("cellar",))
    unknown = AskedQuestion("Who is the king?", facts=(), forbidden=())
    measured = figures(
        [kettle, kettle, kettle, unknown, unknown],
        [
            Given("On the 2nd\nfloor. [1]", 0.9, False, kept=1, dropped=1),
            Given("On the second floor or in the cellar. [1]", 0.9, False, kept=1),
            Given("It is here.", 0.6, False),
            Given("The sources do not contain it.", 0.0, True),
            Given("The king is Ed. [1]", 0.7, False, kept=1),
        ],
    )
    assert measured["facts"] == pytest.approx(1 / 3)
    assert measured["readable"] == pytest.approx(3 / 4)
    assert measured["refused"] == 0.5
    assert measured["citations_kept"] == 3 / 4
    assert (measured["wrong_at_high_confidence"], measured["high_confidence"]) == (0.5, 2)
    assert [failure["answer"] for failure in measured["failures"]] == [
        "On the second floor or in the cellar. [1]",
        "It is here.",
    ]


def test_the_stub_language_model_repeats_passages_and_sometimes_adds_an_invention() -> None:
    prompt = "[1] Hall\nDogs bark. Nobody drinks there.\n\n[2] House\nTea is served at five.\n\nQuestion: {}\n\nAnswer."
    answers = [language_model.answer(prompt.format(f"When is tea {verb}?")) for verb in ("served", "sold", "hot")]
    assert all("Tea is served at five [2]." in answer for answer in answers)
    assert [language_model.INVENTION in answer for answer in answers] == [True, False, False]
    with language_model.running() as base_url:
        model = OpenAILanguageModel(name=language_model.NAME, base_url=base_url, api_key="stub", timeout=10)
        message = Message("user", prompt.format("When is tea served?"))
        assert model.complete([message]) == "".join(model.stream([message])) == answers[0]


@pytest.mark.parametrize("name", ["tuning", "held-out", "handbooks"])
def test_the_documents_of_a_set_state_its_facts(name: str) -> None:
    dataset = answer_sets.read(INCLUDED_SETS, name)
    text = answer_sets.normalized("\n".join(document.text for document in dataset.texts))
    facts = [fact for question in dataset.questions for fact in question.facts]
    assert [fact for fact in facts if not any(answer_sets.normalized(item) in text for item in fact)] == []
    assert any(not question.is_answerable for question in dataset.questions)


def test_documents_of_a_set_are_read_as_the_product_reads_them(tmp_path: Path) -> None:
    folder = tmp_path / "answers" / "tea" / "documents"
    folder.mkdir(parents=True)
    (folder.parent / "questions.jsonl").write_text("")
    (folder / "a.html").write_text("<!doctype html><title>Tea</title><nav>Home</nav><h1>Tea</h1><p>It is hot.</p>")
    (folder / "b.csv").write_text("drink,price\ntea,5\nmilk,3\n")
    (folder / "c.md").write_text("# Coffee\n\nIt is hot, too.\n")
    texts = answer_sets.read(tmp_path, "tea").texts
    assert [(text.title, text.text, text.content_type) for text in texts] == [
        ("Tea", "# Tea\n\nIt is hot.", "text/markdown"),
        ("b.csv", "drink: tea | price: 5\ndrink: milk | price: 3", "text/plain"),
        ("Coffee", "# Coffee\n\nIt is hot, too.\n", "text/plain"),
    ]
