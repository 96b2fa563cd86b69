"""Grounding before an answer, validation after it, and the calibration of scores."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from rag.pipeline.grounding import calibration_curve
from rag.pipeline.grounding.assess_grounding import assess_grounding, passage_evidence
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import (
    count_question_words,
    extract_query_parts,
    find_covered_parts,
    find_gaps,
    select_reportable_gaps,
    share_in_quotes,
)
from rag.pipeline.grounding.quote_confidence import QuoteEvidence, confidence_of_quotes
from rag.pipeline.retrieval.relative_similarity import add_relative_similarities
from rag.pipeline.validation.validate import validate_answer
from rag.services.queries.agent import selected_text_passage
from rag.types import Citation, Context, Passage

QUESTION = "When did Maria Keller open the copper mine in Ulm, and with how many of the 12 engineers?"


def passage(text: str, **scores: Any) -> Passage:
    return selected_text_passage(text).copy_with(**scores)


def test_gaps_are_phrases_of_the_question_in_order() -> None:
    incomplete = passage("Maria Huber opened mines near Ulm with 12 men.", score=0.5)
    assert assess_grounding(QUESTION, Context("", (incomplete,), 0)).gaps == ("Maria Keller", "copper", "engineers")


def test_words_that_only_ask_are_no_gaps() -> None:
    context = Context("", (passage("The kettle boils for five minutes."),), 0)
    assert assess_grounding("How long does the kettle boil, and what does E12 mean?", context).gaps == ("E12",)


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("2025年秋季展览在哪里举行？", "秋季展览在市文化馆举行。", ("2025",)),
        ("كم راتب موظف الاستقبال في الشهر؟", "الاستقبال مفتوح.", ("راتب موظف", "الشهر")),
        ("迟到多久就不能进入？", "年卡为5600元。", ()),
        ("農園のパスワードは何ですか。", "農園は7時に開きます。", ("パスワード",)),
    ],
)
def test_whole_clauses_without_spaces_are_no_gaps(question: str, text: str, expected: tuple[str, ...]) -> None:
    assert assess_grounding(question, Context("", (passage(text),), 0)).gaps == expected


def test_names_and_numbers_are_evidence() -> None:
    with_name, without_name = (
        passage(f"{name} opened the copper mine in Ulm.", coverage=0.5) for name in ("M. Keller", "She")
    )
    assert passage_evidence(QUESTION, with_name) > passage_evidence(QUESTION, without_name)


def test_relative_similarity_depends_on_the_other_candidates() -> None:
    similar = [passage("Copper.", score=0.5, maxsim=0.5) for _ in range(30)]
    dissimilar = [passage("Tea.", maxsim=0.2) for _ in range(30)]
    among_similar = add_relative_similarities(similar)[0].relative_similarity
    among_dissimilar = add_relative_similarities([similar[0], *dissimilar])[0].relative_similarity
    assert among_similar is not None
    assert among_dissimilar is not None
    assert among_similar < 0.2 < among_dissimilar


def test_each_sentence_refers_to_its_sentence_in_the_context() -> None:
    context = "The mine was opened in 1887. Copper was found by Maria Keller, an engineer."
    answer = "The engineer Maria Keller found copper [1]. It was opened in 1902 by Hans Huber [1]."
    validation = validate_answer(answer, context)
    first, second = validation.sentences
    assert (first.is_supported, second.is_supported, validation.is_valid) == (True, False, False)
    assert first.context_span is not None
    assert context[slice(*first.context_span)] == "Copper was found by Maria Keller, an engineer."
    assert answer[second.start : second.end].startswith("It was opened")
    assert second.unknown_terms == ("1902", "Hans", "Huber")
    assert "1902" in validation.details
    assert "Hans" in validation.details


def test_a_quoted_sentence_scores_one() -> None:
    assert validate_answer("Copper was found.", "In Ulm copper was found early.").score == 1


@pytest.mark.parametrize(
    "end",
    [
        " [2].",
        "[2].",
        ". [2]",
        " [1, 2].",
        "[1,2].",
        ".[1][2]",
        " [1–2].",
        " [1; 2].",
        " 【2】.",
        " [12345].",
        " [1], [2].",
    ],
)
def test_citations_are_no_numbers_of_a_sentence(end: str) -> None:
    validation = validate_answer(f"Copper was found{end}", "In Ulm copper was found early.")
    assert (validation.is_valid, validation.score) == (True, 1)


@pytest.mark.parametrize(
    ("in_answer", "in_context"), [("1,204.50", "1204.5"), ("the 7th", "on 7 May"), ("2009-12-31", "31.12.2009")]
)
def test_numbers_are_compared_by_value(in_answer: str, in_context: str) -> None:
    validation = validate_answer(f"It costs or happens {in_answer}.", f"It costs or happens {in_context}.")
    assert "Numbers" not in validation.details


@pytest.mark.parametrize(
    ("answer", "context", "lang"),
    [
        ("Die Frist beträgt 12 Monate.", "Die Frist für Anträge beträgt zwölf Monate.", "de"),
        ("Die Frist beträgt zwölf Monate.", "Die Frist für Anträge beträgt 12 Monate.", "de"),
        ("Le délai est de 12 mois.", "Le délai de cette demande est de douze mois.", "fr"),
        ("El plazo es de 12 meses.", "El plazo de esta solicitud es de doce meses.", "es"),
    ],
)
@pytest.mark.parametrize("is_declared", [True, False])
def test_numbers_in_words_of_other_languages_are_numbers(
    answer: str, context: str, lang: str, is_declared: bool
) -> None:
    langs = (lang,) if is_declared else ()
    assert "Numbers" not in validate_answer(answer, context, langs).details
    wrong = validate_answer(answer.replace("12", "13").replace("zwölf", "13"), context, langs)
    assert "Numbers that it does not contain: 13." in wrong.details


def test_an_article_supports_no_number_one() -> None:
    validation = validate_answer("Die Frist beträgt 1 Monat.", "Es gibt eine Frist von einem Monat.", ("de",))
    assert "Numbers that it does not contain: 1." in validation.details


def test_a_question_with_digits_is_covered_by_a_number_in_words() -> None:
    question = "Was kosten 12 Eier?"
    (eggs,) = (part for part in extract_query_parts(question, "de") if part.text == "12")
    covering, other = (
        find_covered_parts([eggs], selected_text_passage(text).copy_with(lang="de"))
        for text in ("Ein Karton mit zwölf Eiern kostet 3 Euro.", "Ein Ei kostet 1 Euro.")
    )
    assert (set(covering), set(other)) == ({eggs}, set())


def test_fitting_recovers_the_curve_that_generated_the_samples() -> None:
    random = np.random.default_rng(1)
    evidence = random.normal(2, 1, 4000)
    is_correct = random.random(4000) < 1 / (1 + np.exp(-(2 * evidence - 4)))
    curve = calibration_curve.fit_curve(evidence, is_correct)
    assert [curve.slope, curve.offset] == pytest.approx([2, -4], abs=0.4)
    assert curve(curve.evidence_at(0.6)) == pytest.approx(0.6)
    predicted = calibration_curve.cross_validate(evidence, is_correct, np.arange(4000))
    assert calibration_curve.calibration_error(calibration_curve.reliability_table(predicted, is_correct)) < 0.05
    coverage, risk = zip(*calibration_curve.risk_coverage(predicted, is_correct), strict=True)
    assert coverage[-1] == 1
    assert risk[0] < risk[-1] == pytest.approx(1 - is_correct.mean())


def test_a_falling_curve_is_an_error() -> None:
    with pytest.raises(ValueError, match="More evidence"):
        calibration_curve.fit_curve(np.array([3.0, 2.0, 1.0, 0.0] * 9), np.array([False, False, True, True] * 9))


def test_quotes_from_passages_other_than_the_best_are_less_probable() -> None:
    best = [confidence_of_quotes(score, QuoteEvidence()) for score in (0, 1 / 3, 1 / 2, 1)]
    assert best == pytest.approx([0, 1.3 / 3.3, 1.3 / 2.3, 1])
    other = [confidence_of_quotes(score, QuoteEvidence(is_in_best_passage=False)) for score in (0, 1 / 3, 1 / 2, 1)]
    assert other == pytest.approx([0, 0.6 / 2.6, 0.6 / 1.6, 0.75])


def test_a_quote_from_a_text_without_sections_never_has_high_confidence() -> None:
    assert confidence_of_quotes(0.99, QuoteEvidence(is_in_section=False)) == 0.75
    assert confidence_of_quotes(0.2, QuoteEvidence(is_in_section=False)) == pytest.approx(1.3 / 5.3)


def test_quotes_without_the_words_of_the_question_never_have_high_confidence() -> None:
    text = "Open the sign-in page and enter your e-mail address."
    quoted = passage(text)
    quotes = [Citation(1, quoted, text, quoted.start, quoted.end)]
    assert share_in_quotes("Where do I enter my e-mail address?", quotes) == 1
    share = share_in_quotes("How do I change the colour of my address?", quotes)
    assert share == pytest.approx(1 / 3)
    assert confidence_of_quotes(0.99, QuoteEvidence(word_share=share)) == 0.75
    assert share_in_quotes("How do I change the colour of my address?", quotes, ["Change the colour"]) == 1
    assert share_in_quotes("Wie ändere ich meine Adresse?", quotes) == 1


def test_the_words_of_a_question_in_the_language_of_its_quotes_are_compared_too() -> None:
    text = "Vereine zahlen keine Kosten. Die Halle öffnet um neun."
    quoted = passage(text, lang="de")
    quotes = [Citation(1, quoted, text, quoted.start, quoted.end)]
    assert share_in_quotes("Babyschwimmen Halle", quotes) == 1 / 2
    assert share_in_quotes("Wann öffnet die Halle?", quotes) == 1
    assert share_in_quotes("Was kostet die Halle?", quotes) == 1, "kostet is a word of the question"
    assert share_in_quotes("When does the hall open?", quotes) == 1, "between languages"
    assert share_in_quotes("À quelle heure ouvre la salle ?", quotes) == 1, "between languages"


def test_two_reasons_to_doubt_quotes_lower_their_confidence_further() -> None:
    assert confidence_of_quotes(0.99, QuoteEvidence(word_count=1, has_answer_type=False)) == 0.67
    assert confidence_of_quotes(0.2, QuoteEvidence(word_count=1, has_answer_type=False)) == pytest.approx(1.3 / 5.3)
    assert confidence_of_quotes(0.99, QuoteEvidence(word_count=1, has_all_words=False)) == 0.67
    assert confidence_of_quotes(0.99, QuoteEvidence(has_all_words=False)) > 0.9
    assert confidence_of_quotes(0.99, QuoteEvidence(has_count=False)) == 0.5
    assert confidence_of_quotes(0.99, QuoteEvidence(says_what_is_sought=False)) == 0.75


def test_one_word_or_a_missing_number_is_too_little_for_high_confidence() -> None:
    assert count_question_words("Who must not take Dolorin?") == 1
    assert count_question_words("Who must not eat green bread?") > 1
    assert confidence_of_quotes(0.99, QuoteEvidence(word_count=1)) == 0.75
    assert confidence_of_quotes(0.99, QuoteEvidence(has_answer_type=False)) == 0.75


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Wie sende ich ein Dokument?", ["sende", "Dokument"]),
        ("¿Cómo se envía un documento a la fuente?", ["envía", "documento", "fuente"]),
        ("How do I send a document?", ["send", "document"]),
    ],
)
def test_function_words_of_a_foreign_question_are_no_gaps(question: str, expected: list[str]) -> None:
    assert [part.text for part in extract_query_parts(question, "en")] == expected


def test_an_answer_names_missing_names_and_clauses_but_no_other_words() -> None:
    """Another word of an answered question may have a synonym in the answer."""
    assert select_reportable_gaps("How far in advance do I book?", ["advance"]) == ()
    assert select_reportable_gaps("Is there a stand for Aldmoor?", ["Aldmoor"]) == ("Aldmoor",)
    assert select_reportable_gaps("Where are the bicycles, and is there a helicopter?", ["helicopter"]) == (
        "helicopter",
    )


def test_a_quote_in_a_language_other_than_the_questions_never_has_high_confidence() -> None:
    for is_for_english, maximum in ((False, 0.5), (True, 0.4)):
        evidence = QuoteEvidence(is_between_languages=True, is_for_english=is_for_english)
        assert confidence_of_quotes(0.99, evidence) == maximum
        assert confidence_of_quotes(0.99, dataclasses.replace(evidence, is_read=True)) == 0.75
        assert confidence_of_quotes(0.3, dataclasses.replace(evidence, is_read=True)) < maximum
    assert confidence_of_quotes(0.99, QuoteEvidence(is_measured=False)) == 0.75
    english = passage("Vaccines are kept cold.").copy_with(lang="en")
    assert is_in_other_language("Bei welcher Temperatur werden die Impfstoffe gelagert?", [english])
    assert not is_in_other_language("At what temperature are vaccines kept?", [english])


def test_general_verbs_and_adverbs_are_no_gaps() -> None:
    query = "How do I stop the scanner from turning pages automatically?"
    parts = extract_query_parts(query, "")
    assert find_gaps(query, parts, [frozenset()]) == ("scanner", "pages")
    llama = "What context length does Llama have?"
    assert "Llama" in find_gaps(llama, extract_query_parts(llama, ""), [frozenset()]), "a word of Spanish questions"


@pytest.mark.parametrize(
    ("query", "lang"),
    [("What is the difference between inks?", "en"), ("Was ist der Unterschied zwischen Tinten?", "de")],
)
def test_what_a_comparison_asks_for_is_no_gap(query: str, lang: str) -> None:
    assert find_gaps(query, extract_query_parts(query, lang), [frozenset()]) in (("inks",), ("Tinten",))
