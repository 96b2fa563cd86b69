"""Step: a question and the quotes for it -> whether a model that reads both finds that they probably answer it."""

from dataclasses import dataclass

from rag.pipeline.answering.extractive.question.question_type import is_procedure, is_yes_or_no, says_yes_or_no
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import share_in_quotes
from rag.text.question_language import is_english
from rag.types import Passage

from .missing_facts.counts import may_lack_count
from .missing_facts.measures import may_lack_measure
from .missing_facts.persons import may_lack_person
from .missing_facts.prices import may_lack_price
from .missing_facts.times_and_weights import may_be_hours_of_other_thing
from .read_quotes import PROBABILITY_OF_LOGIT, read_quotes

# The logit below which quotes are not shown as an answer (docs/decisions/0087-answer-check.md).
_MIN_LOGIT = -0.75
# The same of the model for other languages (docs/decisions/0089-multilingual-check.md).
_MIN_MULTILINGUAL_LOGIT = -0.5
# The same of both if the quotes lack something that most answers to such a question have.
_MIN_LOGIT_WITHOUT_FACT = 0
# The same if the question asks how something is done, below a heading as similar as this, and if its words are there as
# probably as this: steps, options and commands have low logits. Such near misses have other headings or fewer words.
_MIN_LOGIT_OF_PROCEDURE, _MIN_HEADING_SIMILARITY, _MIN_PROBABILITY_OF_PROCEDURE = -2.5, 0.4, 0.5
# From this probability of the grounding on, passages have the question's words: hardly any of them is a near miss.
_MAX_DOUBTFUL = 0.9


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model finds of the quotes for a question.

    Attributes:
        is_answer: Whether they probably answer it; True if this is not judged.
        probability: How probable that is, 0…1; None if it is not judged, or not in English.
    """

    is_answer: bool = True
    probability: float | None = None


_NOT_JUDGED = Judgement()


def judge_quotes(query: str, generation: PreparedGeneration, probability: float) -> Judgement:
    """Let a model judge whether the quotes of an extractive answer answer the question.

    This is not judged without the models, if the probability is high (but not if a fact seems to be missing), if "Yes"
    or "No" answers it (in other languages than English, for all questions of yes or no), and if quotes and headings in
    the language of the question have no word of it: then a model cannot tell other words from another subject.

    Args:
        query: The question.
        generation: The answer with its quotes.
        probability: The probability that the passages contain the answer, 0…1.
    """
    first = generation.first_quote
    if first is None:
        return _NOT_JUDGED
    passage = first.citations[0].passage
    is_between_languages = is_in_other_language(query, [passage])
    may_lack_fact = not is_between_languages and _may_lack_fact(query, generation.quoted_text, passage)
    if probability >= _MAX_DOUBTFUL and not may_lack_fact:
        return _NOT_JUDGED
    is_all_english = is_english(query) and not is_between_languages
    if is_yes_or_no(query) and (not is_all_english or says_yes_or_no(generation.quoted_text)):
        return _NOT_JUDGED
    if not is_between_languages and not share_in_quotes(query, generation.quotes or (), generation.headings):
        return _NOT_JUDGED
    logit = read_quotes(query, generation, is_all_english=is_all_english)
    if logit is None:
        return _NOT_JUDGED
    minimum = _MIN_LOGIT if is_all_english else _MIN_MULTILINGUAL_LOGIT
    if may_lack_fact:
        minimum = _MIN_LOGIT_WITHOUT_FACT
    elif is_all_english and _is_described(query, passage, probability):
        minimum = _MIN_LOGIT_OF_PROCEDURE
    return Judgement(logit >= minimum, PROBABILITY_OF_LOGIT(logit) if is_all_english else None)


def _is_described(query: str, passage: Passage, probability: float) -> bool:
    """Return whether a question asks how something is done, and the heading of a passage says the same."""
    similarity = passage.heading_similarity or 0.0
    is_same = similarity >= _MIN_HEADING_SIMILARITY and probability >= _MIN_PROBABILITY_OF_PROCEDURE
    return is_same and is_procedure(query)


def _may_lack_fact(query: str, text: str, passage: Passage) -> bool:
    return (
        may_lack_price(query, text, passage)
        or may_lack_count(query, text, passage.lang)
        or may_lack_person(query, text)
        or may_lack_measure(query, text)
        or may_be_hours_of_other_thing(query, text, passage)
    )
