"""Extends the quote of a chosen part: by what surrounds it, by its section, by the part that answers nearly as well."""

from collections.abc import Mapping, Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import (
    characters_of,
    find_typed_sentence,
    is_typed_answer,
    readable_parts,
    related_paragraphs,
    second_paragraph,
    surrounding_parts,
    without_lone_lead_ins,
)
from rag.pipeline.answering.extractive.parts.repetitions import without_repetitions
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.text.sentences.quotable_units import UnitKind

from .add_section import parts_of_section

# How much is quoted around the best part, in characters: most of what says how something is done, less where yes, no, a
# time or a number is the answer, and least around a second part.
_MAX_PROCEDURE, _MAX_OPEN, _MAX_CLOSED, _MAX_EXPECTED, MAX_SECOND = 1_000, 800, 500, 350, 250
# A list of steps is quoted to its end if it is this long.
_MAX_STEPS = 2_000
# The length of the best part with another one of its section that answers nearly as well.
_MAX_WITH_SECOND = 600


def quote_limit(question: AnalysedQuestion) -> int:
    """Return the maximum number of characters of the best part's surroundings that are quoted."""
    if question.answer_type is not None and not question.asks_about_answer:
        return _MAX_EXPECTED
    if question.is_procedure:
        return _MAX_PROCEDURE
    return _MAX_OPEN if question.is_open else _MAX_CLOSED


def with_surroundings(
    structure: PassageStructure, index: int, question: AnalysedQuestion, max_characters: int
) -> set[int]:
    """Return a part with what people read with it.

    A row is the whole answer. So are an item with a number, a clause of a contract and, if no steps are asked for, an
    item that is a paragraph.
    """
    kind = structure.parts[index].kind
    if structure.is_clause(index):
        return {index}
    is_paragraph = not question.is_procedure and structure.is_paragraph_item(index)
    if kind is UnitKind.ROW or (kind is UnitKind.ITEM and question.answer_type is not None) or is_paragraph:
        return structure.complete(index)
    if is_typed_answer(structure, index, question):
        parts = surrounding_parts(structure, index, max_characters, is_procedure=False)
        return {part for part in parts if structure.parts[part].kind is not UnitKind.CODE} or {index}
    asks_for_steps = question.is_procedure and question.answer_type is None and max_characters > MAX_SECOND
    parts = surrounding_parts(structure, index, max_characters, is_procedure=asks_for_steps)
    parts |= find_typed_sentence(structure, index, parts, question)
    if question.answer_type is None:
        parts |= second_paragraph(structure, index, max_characters)
        if question.is_broad and max_characters > MAX_SECOND:
            parts |= related_paragraphs(structure, index, max_characters, question)
    return without_repetitions(structure, without_lone_lead_ins(structure, parts), index)


def with_all_steps(structure: PassageStructure, parts: set[int], question: AnalysedQuestion) -> set[int]:
    """Return the parts with the rest of a list of steps that they begin, if the question asks how something is done."""
    steps = [part for part in parts if structure.is_step(part)]
    if not steps or not question.is_procedure or question.answer_type is not None:
        return parts
    group = structure.group_of(max(steps))
    first_step = next(part for part in group if structure.is_step(part))
    if first_step not in parts or characters_of(structure, [group]) > _MAX_STEPS:
        return parts
    return parts | readable_parts(structure, group)


def with_section(
    structure: PassageStructure, index: int, parts: set[int], question: AnalysedQuestion, weights: Mapping[str, float]
) -> set[int]:
    """Return the parts with what their section adds to them. A clause of a contract stands alone."""
    added = set() if structure.is_clause(index) else parts_of_section(structure, index, parts, question, weights)
    return without_repetitions(structure, without_lone_lead_ins(structure, parts | added), index) if added else parts


def with_second_part(
    structure: PassageStructure, index: int, parts: set[int], others: Sequence[int], question: AnalysedQuestion
) -> set[int]:
    """Return the parts with the first of the others that fits, and its surroundings.

    Nothing is added if the question asks for a time, a number or the like, which the first part has.
    """
    if question.answer_type is not None:
        return parts
    for other in others:
        both = parts | with_surroundings(structure, other, question, MAX_SECOND)
        if sum(structure.length(part) for part in both) <= _MAX_WITH_SECOND:
            return without_repetitions(structure, without_lone_lead_ins(structure, both), index)
    return parts
