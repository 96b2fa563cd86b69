"""Sentences with what a question asks for: a time, a duration, a price or a number."""

from rag.text.quotable_units import UnitKind

from .answer_types import has_answer_of_type
from .parts.self_contained_parts import PassageStructure
from .question_type import AnalysedQuestion

# What is asked for may be so many sentences below the best one.
_MAX_SKIPPED_SENTENCES = 4


def find_typed_sentence(
    structure: PassageStructure, index: int, parts: set[int], question: AnalysedQuestion
) -> set[int]:
    """Return the next sentences of a paragraph up to one with the number or time that is asked for.

    Args:
        structure: The passage.
        index: The index of the best sentence.
        parts: The parts that are quoted. If one of them has what is asked for, nothing is added.
        question: The question.
    """
    answer_type = question.answer_type
    if answer_type is None or any(has_answer_of_type(structure.text(part), answer_type) for part in parts):
        return set()
    following, skipped = structure.next_sentence(index), set[int]()
    while following is not None and len(skipped) < _MAX_SKIPPED_SENTENCES:
        skipped.add(following)
        if has_answer_of_type(structure.text(following), answer_type):
            return skipped
        following = structure.next_sentence(following)
    return set()


def is_typed_answer(structure: PassageStructure, index: int, question: AnalysedQuestion) -> bool:
    """Return whether a sentence alone has the number or time that is asked for: it introduces nothing."""
    is_whole = structure.parts[index].kind is UnitKind.SENTENCE and not structure.is_lead_in(index)
    answer_type = None if question.asks_on else question.answer_type
    return is_whole and answer_type is not None and has_answer_of_type(structure.text(index), answer_type)
