"""Reads a question and the quotes for it together, with a small model: how surely do they answer it?"""

import math
import re

import structlog

from rag.errors import ProviderFailed
from rag.pipeline.answering.extractive.quotes import Quote, nearest_heading
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.grounding.calibration_curve import Curve
from rag.providers import provider_factory
from rag.providers.entailment.answer_check import AnswerCheck
from rag.providers.entailment.multilingual.check import MultilingualCheck
from rag.text.quantities.years import LIKELY_YEAR
from rag.text.sentences.split_sentences import split_sentences
from rag.text.sentences.unspaced_scripts import is_mostly_unspaced
from rag.text.words import content_words, stem, stems

logger = structlog.get_logger(__name__)

# From the logit for English to the probability that the quotes are right. Fitted to 947 answers that were not used to
# train, about 28 organisations and of six other sets (docs/decisions/0087-answer-check.md).
PROBABILITY_OF_LOGIT = Curve(0.74, 0.07)
_YEAR = re.compile(rf"(?<!\d){LIKELY_YEAR}(?!\d)")
# How much of the quotes a model reads at once, with and without spaces between words, and how many such parts, so that
# its time is bounded. From this logit on it need not read more of them.
_PART_CHARACTERS, _UNSPACED_PART_CHARACTERS, _MAX_PARTS, _SURE_LOGIT = 240, 100, 3, 0.0


def read_quotes(query: str, generation: PreparedGeneration, *, is_all_english: bool) -> float | None:
    """Return how surely the quotes answer the question: the logit of a model, about -5…5.

    Args:
        query: The question.
        generation: The answer with its quotes, at least one.
        is_all_english: Whether question and quotes are English, and so read by the model for English.

    Returns:
        The highest logit of the parts that were read; None without the model, or if it fails.
    """
    first, text = generation.first_quote, generation.quoted_text
    model: AnswerCheck | MultilingualCheck | None = (
        provider_factory.answer_check() if is_all_english else provider_factory.multilingual_check()
    )
    if model is None or first is None:
        return None
    logit = -math.inf
    try:
        for part in _by_shared_words(query, _parts(text)):
            logit = max(logit, model.logit(query, _with_headings(query, first, part)))
            if logit >= _SURE_LOGIT:
                break
    except ProviderFailed as error:
        logger.warning("answer_check_skipped", reason=error.message)
        return None
    return logit


def _parts(text: str) -> list[str]:
    """Return the beginning of the quotes in parts that a model reads whole: sentences and lines, together if short.

    The answer may be in the last of several sentences.
    """
    size = _UNSPACED_PART_CHARACTERS if is_mostly_unspaced(text) else _PART_CHARACTERS
    parts = [""]
    for line in text[: size * _MAX_PARTS].splitlines():
        for sentence in split_sentences(line):
            if parts[-1] and len(parts[-1]) + len(sentence) > size:
                parts.append("")
            parts[-1] = f"{parts[-1]} {sentence}".strip()
    return parts[:_MAX_PARTS]


def _by_shared_words(query: str, parts: list[str]) -> list[str]:
    """Return the parts with most of the question's words first, so that reading can end early."""
    words = {stem(word) for word in content_words(query)}
    return sorted(parts, key=lambda part: -len(words & stems(part).keys()))


def _with_headings(query: str, first: Quote, text: str) -> str:
    """Return a part of the quotes below the nearest heading, and below others that have a missing year.

    The year of a price list is in its title, or in the name of its file.
    """
    passage = first.citations[0].passage
    shown = "\n".join(filter(None, (nearest_heading(first), text)))
    missing = set(_YEAR.findall(query)) - set(_YEAR.findall(shown))
    above = dict.fromkeys((passage.title, *passage.headings, passage.path))
    return "\n".join([*(line for line in above if not missing.isdisjoint(_YEAR.findall(line))), shown])
