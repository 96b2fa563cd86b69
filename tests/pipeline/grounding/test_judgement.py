"""What is judged before and after an answer, and what the figures mean."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from rag.pipeline.grounding import calibration
from rag.pipeline.grounding.ground import assess_grounding, passage_evidence
from rag.pipeline.grounding.validate import validate_answer
from rag.pipeline.retrieval.standout_score import contrasted
from rag.services.search.agent import _selected
from rag.types import Context, Passage

QUESTION = "When did Maria Keller open the copper mine in Ulm, and with how many of the 12 engineers?"


def passage(text: str, **figures: Any) -> Passage:
    return dataclasses.replace(_selected(text), **figures)


def test_gaps_are_phrases_in_the_asker_s_words_and_order() -> None:
    found = passage("Maria Huber opened mines near Ulm with 12 men.", score=0.5)
    assert assess_grounding(QUESTION, Context("", (found,), 0)).gaps == ("Maria Keller", "copper", "engineers")


def test_names_and_numbers_speak_for_a_passage() -> None:
    right, other = (passage(f"{name} opened the copper mine in Ulm.", coverage=0.5) for name in ("M. Keller", "She"))
    assert passage_evidence(QUESTION, right) > passage_evidence(QUESTION, other)


def test_a_passage_must_stand_out_among_the_candidates() -> None:
    near = [passage("Copper.", score=0.5, maxsim=0.5) for _ in range(30)]
    alike, among_far = contrasted(near)[0], contrasted([near[0], *(passage("Tea.", maxsim=0.2) for _ in range(30))])[0]
    assert alike.standout_score is not None
    assert among_far.standout_score is not None
    assert alike.standout_score < 0.2 < among_far.standout_score


def test_each_sentence_is_traced_to_the_characters_that_carry_it() -> None:
    context = "The mine was opened in 1887. Copper was found by Maria Keller, an engineer."
    answer = "The engineer Maria Keller found copper [1]. It was opened in 1902 by Hans Huber [1]."
    checked = validate_answer(answer, context)
    first, second = checked.sentences
    assert (first.is_supported, second.is_supported, checked.is_valid) == (True, False, False)
    assert first.context_span is not None
    assert context[slice(*first.context_span)] == "Copper was found by Maria Keller, an engineer."
    assert answer[second.start : second.end].startswith("It was opened")
    assert second.unknown_terms == ("1902", "Hans", "Huber")
    assert "1902" in checked.details
    assert "Hans" in checked.details


def test_a_sentence_that_is_quoted_is_beyond_doubt() -> None:
    assert validate_answer("Copper was found.", "In Ulm copper was found early.").score == 1


@pytest.mark.parametrize(
    ("said", "known"), [("1,204.50", "1204.5"), ("the 7th", "on 7 May"), ("2009-12-31", "31.12.2009")]
)
def test_numbers_are_the_same_however_they_are_written(said: str, known: str) -> None:
    checked = validate_answer(f"It costs or happens {said}.", f"It costs or happens {known}.")
    assert "Numbers" not in checked.details


def test_a_curve_gives_back_the_probabilities_it_was_made_from() -> None:
    chance = np.random.default_rng(1)
    evidence = chance.normal(2, 1, 4000)
    right = chance.random(4000) < 1 / (1 + np.exp(-(2 * evidence - 4)))
    curve = calibration.fit_curve(evidence, right)
    assert [curve.slope, curve.offset] == pytest.approx([2, -4], abs=0.4)
    assert curve(curve.evidence_at(0.6)) == pytest.approx(0.6)
    predicted = calibration.cross_validate(evidence, right, np.arange(4000))
    assert calibration.calibration_error(calibration.reliability_table(predicted, right)) < 0.05
    answered, wrong = zip(*calibration.risk_coverage(predicted, right), strict=True)
    assert answered[-1] == 1
    assert wrong[0] < wrong[-1] == pytest.approx(1 - right.mean())


def test_evidence_that_says_nothing_is_no_curve() -> None:
    with pytest.raises(ValueError, match="More evidence"):
        calibration.fit_curve(np.array([3.0, 2.0, 1.0, 0.0] * 9), np.array([False, False, True, True] * 9))
