"""The headings within passages, and how well they match a question."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import section_beginning
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion, is_negated
from rag.text.markup.titles.cited_sections import section_number
from rag.text.words import content_words, is_function_word, stem

from .sentence_similarity import SentenceSimilarity

# "24. May I sell it?"
_NUMBER = re.compile(r"\A\d{1,3}[.)]\s+")
_DIGITS = re.compile(r"(?<![\w.])\d+(?![\w.]*\w)")
# Weight of shared words beside the similarity of meaning, which has 1.
_WORDS_WEIGHT = 0.5
# "How do I add a member without an invitation?" has the words of "How do I invite a member?" and says the opposite.
_NEGATION_PENALTY = 0.25


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """A heading within a passage, or a question on a line of its own.

    Attributes:
        passage_number: The passage's number in the prompt, from 1.
        index: The heading's index in the passage's structure.
        match: How well the heading matches the question, 0…1.
    """

    passage_number: int
    index: int
    match: float


def find_headings(
    structures: Sequence[PassageStructure],
    question: AnalysedQuestion,
    weights: Mapping[str, float],
    similarity: SentenceSimilarity,
) -> list[SectionHeading]:
    """Return the headings and questions within the passages that have a text below them.

    Args:
        structures: The structures of the numbered passages.
        question: The question.
        weights: The weights of those stems of the question that the passages have.
        similarity: The similarity of the passages' parts to the question; it may have no scores.
    """
    headings = []
    for number, structure in enumerate(structures, start=1):
        for index in range(len(structure.parts)):
            if structure.is_heading(index) and section_beginning(structure, index, 1):
                match = _match(structure, index, _match_words(structure, index, question.words, weights), similarity)
                if is_negated(structure.visible_text(index)) != question.is_negated:
                    match = max(0.0, match - _NEGATION_PENALTY)
                if _has_other_number(structure.visible_text(index), question):
                    match = 0.0
                if section_number(structure.visible_text(index)) in question.cited_sections:
                    match = 1.0
                headings.append(SectionHeading(number, index, match))
    return headings


def _has_other_number(heading: str, question: AnalysedQuestion) -> bool:
    """Return whether question and heading name numbers, and none is the same: "What does 409 mean?"."""
    numbers = {word for word in question.words if word.isdigit()}
    others = set(_DIGITS.findall(_NUMBER.sub("", heading.lstrip("#= "), count=1)))
    return bool(numbers and others) and numbers.isdisjoint(others)


def is_in_section(structure: PassageStructure, index: int) -> bool:
    """Return whether a part is below a heading that is not the title of the document."""
    heading = structure.heading_index(index)
    inner = [] if heading is None or structure.is_title(heading) else [structure.visible_text(heading)]
    title = _plain(structure.passage.title)
    return any(_plain(text) != title for text in [*inner, *structure.passage.headings])


def _plain(heading: str) -> str:
    return " ".join(heading.strip("#=* \n").lower().split())


def section_match(
    structures: Sequence[PassageStructure], passage_number: int, index: int, headings: Sequence[SectionHeading]
) -> float:
    """Return how well the heading above a part matches the question, 0…1; 0 if the passage has no heading above it."""
    above = structures[passage_number - 1].heading_index(index)
    return next((item.match for item in headings if (item.passage_number, item.index) == (passage_number, above)), 0.0)


def _match(structure: PassageStructure, index: int, shared: float, similarity: SentenceSimilarity) -> float:
    """Return how well a heading matches, 0…1: by the words that it shares and, if known, by its meaning."""
    score = similarity.score_both_ways(structure.passage.document_id, *structure.visible_span(index))
    if score is None:
        return shared
    match = min(1.0, max(0.0, _WORDS_WEIGHT * shared + score))
    # A title names what most questions about a document name: it has to have their other words, too.
    return min(match, shared) if structure.is_title(index) else match


def _match_words(
    structure: PassageStructure, index: int, question_words: Sequence[str], weights: Mapping[str, float]
) -> float:
    """Return the harmonic mean of the shares of words that the heading and the question have in common, 0…1.

    Words of the document's title say which document is meant, so the heading need not repeat them.
    """
    lang = structure.passage.lang
    text = _NUMBER.sub("", structure.visible_text(index), count=1)
    stems = {stem(word, lang) for word in content_words(text, lang)}
    # "Making coffee" is about coffee
    heading_stems = frozenset(item for item in stems if not is_function_word(item, lang)) or frozenset(stems)
    question_stems = frozenset(stem(word, lang) for word in question_words)
    shared = question_stems & heading_stems
    expected = question_stems - (structure.title_stems - heading_stems) if shared else question_stems
    # A word that no passage has is as important as the rarest one.
    unknown_weight = max(weights.values(), default=0.0)

    def total(stems: frozenset[str]) -> float:
        # fsum does not depend on the order of a set, which differs from process to process.
        return math.fsum(weights.get(item, unknown_weight) for item in stems)

    both = total(expected) + total(heading_stems)
    return 2 * total(shared) / both if both else 0.0
