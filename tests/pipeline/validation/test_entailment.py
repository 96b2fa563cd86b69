"""Validation with an entailment model: what is sent to it, and how its probabilities count."""

from collections.abc import Sequence

import pytest

from rag.errors import EntailmentFailed, TooManyLongRequests
from rag.pipeline.validation.entailment import AnswerValidator
from rag.pipeline.validation.validate import validate_answer

CONTEXT = "Guests give keys to the porter.\n\nBicycles are parked in the yard behind the house."
REVERSED = "The porter gives keys to guests."


class Model:
    """Entails everything but what it doubts, and records the calls."""

    name = "test-nli"

    def __init__(self, doubted: str = "", failure: Exception | None = None) -> None:
        self.calls: list[Sequence[tuple[str, str]]] = []
        self._doubted, self._failure = doubted, failure

    def entail(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.calls.append(pairs)
        if self._failure:
            raise self._failure
        return [0.05 if self._doubted and self._doubted in hypothesis else 0.9 for _, hypothesis in pairs]


def test_only_a_model_notices_a_reversed_relation() -> None:
    assert validate_answer(REVERSED, CONTEXT).is_valid
    assert AnswerValidator(None).validate(REVERSED, CONTEXT) == validate_answer(REVERSED, CONTEXT)
    validation = AnswerValidator(Model("porter")).validate(REVERSED, CONTEXT)
    assert not validation.is_valid
    assert validation.score == pytest.approx(0.05)
    assert AnswerValidator(Model()).validate(REVERSED, CONTEXT).score == pytest.approx(0.9)


def test_a_model_accepts_other_words() -> None:
    other_words = "Visitors hand their door openers to a man at reception."
    assert not validate_answer(other_words, CONTEXT).is_valid
    assert AnswerValidator(Model()).validate(other_words, CONTEXT).is_valid


def test_an_unknown_number_stays_unsupported() -> None:
    validation = AnswerValidator(Model()).validate("Guests give 7 keys to the porter.", CONTEXT)
    assert not validation.is_valid
    assert not validation.sentences[0].is_supported


def test_quoted_sentences_are_not_sent() -> None:
    model = Model("porter")
    validator = AnswerValidator(model)
    assert validator.validate("Guests give keys to the porter [1].", CONTEXT).score == 1
    assert model.calls == []
    assert validator.warnings == ()


def test_the_highest_probability_of_the_parts_counts() -> None:
    class Reader(Model):
        def entail(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            self.calls.append(pairs)
            return [0.8 if "yard" in premise else 0.1 for premise, _ in pairs]

    model = Reader()
    context = "\n\n".join([CONTEXT, *(f"Paragraph {name} says nothing. " * 40 for name in ("one", "two", "three"))])
    validation = AnswerValidator(model).validate("A yard behind the house is for bicycles.", context)
    (pairs,) = model.calls
    assert len(pairs) == 3
    assert validation.score == pytest.approx(0.8)


def test_the_premises_are_the_parts_that_are_nearest() -> None:
    """The part around the most similar sentence comes first. Parts end with paragraphs, if those are not too long."""
    model = Model()
    fillers = [f"{word} {'is written here. ' * 55}".strip() for word in ("Alpha", "Beta", "Gamma", "Delta")]
    context = "\n\n".join([*fillers, "Guests give keys to the porter.", "The porter has keys. " * 90])
    AnswerValidator(model).validate(REVERSED, context)
    ((premises, hypotheses),) = [tuple(zip(*pairs, strict=True)) for pairs in model.calls]
    assert set(hypotheses) == {REVERSED}
    assert "Guests give keys" in premises[0]
    assert all("porter" in premise for premise in premises[1:])
    assert all(len(premise) <= 1_200 for premise in premises)
    assert len(premises) == 3


def test_the_model_is_called_once_for_an_answer() -> None:
    model = Model("Emperors")
    validator = AnswerValidator(model)
    answer = f"{REVERSED} Emperors drink tea."
    assert not validator.validate(answer, CONTEXT).is_valid
    assert validator.validate(REVERSED, CONTEXT).score == pytest.approx(0.9), "its score is kept"
    assert len(model.calls) == 1


def test_markers_are_not_sent() -> None:
    model = Model()
    AnswerValidator(model).validate("The porter [2] gives keys to guests [1].", CONTEXT)
    assert {hypothesis for _, hypothesis in model.calls[0]} == {REVERSED}


def test_at_most_fifty_different_sentences_are_sent() -> None:
    model = Model("porter")
    names = [f"{first}{second}" for first in "bdfghklm" for second in "aeiouyäö"][:60]
    answer = " ".join(f"The porter {name} gives keys to guests." for name in names for _ in range(2))
    validation = AnswerValidator(model).validate(answer, CONTEXT)
    assert len({hypothesis for _, hypothesis in model.calls[0]}) == 50
    scores = [sentence.score for sentence in validation.sentences]
    assert scores[:100] == [0.05] * 100
    assert min(scores[100:]) > 0.05, "further sentences keep the score of their words"


@pytest.mark.parametrize("failure", [EntailmentFailed("test-nli did not answer in time."), TooManyLongRequests()])
def test_without_the_model_words_and_numbers_decide(failure: Exception) -> None:
    model = Model(failure=failure)
    validator = AnswerValidator(model)
    validation, local = validator.validate(REVERSED, CONTEXT), validate_answer(REVERSED, CONTEXT)
    assert (validation.is_valid, validation.score) == (local.is_valid, local.score)
    assert validation.details.startswith(local.details)
    assert "entailment model did not answer" in validation.details
    assert validator.warnings == ("ENTAILMENT_FAILED",)
    validator.validate(REVERSED, CONTEXT)
    assert len(model.calls) == 1, "it is not asked again"


def test_an_empty_context_is_not_sent() -> None:
    model = Model()
    assert not AnswerValidator(model).validate(REVERSED, " \n\n ").is_valid
    assert model.calls == []
