"""Step: a question and the quotes for it -> whether a model that reads both finds that they probably answer it."""

import re

import structlog

from rag.errors import ProviderFailed
from rag.pipeline.answering.extractive.question.question_type import is_yes_or_no, says_yes_or_no
from rag.pipeline.answering.extractive.quotes import Quote, nearest_heading
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.pipeline.grounding.gaps import share_in_quotes
from rag.providers import provider_factory
from rag.providers.entailment.answer_check import AnswerCheck
from rag.providers.entailment.multilingual.check import MultilingualCheck
from rag.text.quantities.years import LIKELY_YEAR
from rag.text.question_language import is_english
from rag.text.sentences.split_sentences import split_sentences
from rag.types import Passage

from .missing_facts.counts import may_lack_count
from .missing_facts.measures import may_lack_measure
from .missing_facts.persons import may_lack_person
from .missing_facts.prices import may_lack_price
from .missing_facts.times_and_weights import may_be_hours_of_other_thing

logger = structlog.get_logger(__name__)

# The logit below which quotes are not shown as an answer (docs/decisions/0087-answer-check.md).
_MIN_LOGIT = -2.6
# The same of the model for other languages (docs/decisions/0089-multilingual-check.md).
_MIN_MULTILINGUAL_LOGIT = -2.4
# The same of both if the quotes lack something that most answers to such a question have.
_MIN_LOGIT_WITHOUT_FACT = 0
# From this probability of the grounding on, passages have the question's words: hardly any of them is a near miss.
_MAX_DOUBTFUL = 0.9
_YEAR = re.compile(rf"(?<!\d){LIKELY_YEAR}(?!\d)")
# The model for other languages reads no more of the quotes. The one for English reads parts of them.
_MAX_CHARACTERS = 500
# How much of the quotes the model for English reads at once, and how many such parts, so that its time is bounded.
_PART_CHARACTERS, _MAX_PARTS = 240, 3


def probably_answer(query: str, generation: PreparedGeneration, probability: float) -> bool:
    """Return False if the quotes of an extractive answer probably do not answer the question.

    Args:
        query: The question.
        generation: The answer with its quotes.
        probability: The probability that the passages contain the answer, 0…1.

    Returns:
        False if a model finds so. True if this is not judged: without the models, if the probability is high (but not
        if a fact seems to be missing), if "Yes" or "No" answers it (in other languages than English, for all questions
        of yes or no), and if quotes and headings in the language of the question have no word of it: then a model
        cannot tell other words from another subject.
    """
    first = generation.first_quote
    if first is None:
        return True
    passage = first.citations[0].passage
    is_between_languages = is_in_other_language(query, [passage])
    may_lack_fact = not is_between_languages and _may_lack_fact(query, generation.quoted_text, passage)
    if probability >= _MAX_DOUBTFUL and not may_lack_fact:
        return True
    is_all_english = is_english(query) and not is_between_languages
    if is_yes_or_no(query) and (not is_all_english or says_yes_or_no(generation.quoted_text)):
        return True
    if not is_between_languages and not share_in_quotes(query, generation.quotes or (), generation.headings):
        return True
    model: AnswerCheck | MultilingualCheck | None = provider_factory.multilingual_check()
    minimum = _MIN_MULTILINGUAL_LOGIT
    if is_all_english:
        model, minimum = provider_factory.answer_check(), _MIN_LOGIT
    if model is None:
        return True
    if may_lack_fact:
        minimum = _MIN_LOGIT_WITHOUT_FACT
    text = generation.quoted_text
    parts = _parts(text) if is_all_english else [text[:_MAX_CHARACTERS]]
    try:
        return max(model.logit(query, _with_headings(query, first, part)) for part in parts) >= minimum
    except ProviderFailed as error:
        logger.warning("answer_check_skipped", reason=error.message)
        return True


def _may_lack_fact(query: str, text: str, passage: Passage) -> bool:
    return (
        may_lack_price(query, text, passage)
        or may_lack_count(query, text, passage.lang)
        or may_lack_person(query, text)
        or may_lack_measure(query, text)
        or may_be_hours_of_other_thing(query, text, passage)
    )


def _parts(text: str) -> list[str]:
    """Return the beginning of the quotes in parts that the model reads whole: sentences and lines, together if short.

    The answer may be in the last of several sentences.
    """
    parts = [""]
    for line in text[: _PART_CHARACTERS * _MAX_PARTS].splitlines():
        for sentence in split_sentences(line):
            if parts[-1] and len(parts[-1]) + len(sentence) > _PART_CHARACTERS:
                parts.append("")
            parts[-1] = f"{parts[-1]} {sentence}".strip()
    return parts[:_MAX_PARTS]


def _with_headings(query: str, first: Quote, text: str) -> str:
    """Return a part of the quotes below the nearest heading, and below others that have a missing year.

    The year of a price list is in its title, or in the name of its file.
    """
    passage = first.citations[0].passage
    shown = "\n".join(filter(None, (nearest_heading(first), text)))
    missing = set(_YEAR.findall(query)) - set(_YEAR.findall(shown))
    above = dict.fromkeys((passage.title, *passage.headings, passage.path))
    return "\n".join([*(line for line in above if not missing.isdisjoint(_YEAR.findall(line))), shown])
