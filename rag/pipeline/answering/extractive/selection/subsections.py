"""What the subsections of a section add to its quote: the section introduces them, and they say how it is done."""

from collections.abc import Mapping, Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.neighbouring_parts import characters_of, section_beginning
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.text.sentences.quotable_units import UnitKind

# The maximum length of what is quoted of all sections together, in characters.
_MAX_TOTAL = 1_500


def with_subsections(
    selected: Mapping[int, set[int]], structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> dict[int, set[int]]:
    """Add the steps of the sections within a section that only introduces them.

    Args:
        selected: For each passage number the indexes of the selected parts.
        structures: The structures of the numbered passages.
        question: The question. Nothing is added if it asks for yes or no, a time or a number.

    Returns:
        The selected parts, with those of the best ranked sections that fit.
    """
    result = {number: set(parts) for number, parts in selected.items()}
    if not question.is_open or question.answer_type is not None or len(result) != 1:
        return result
    ((number, parts),) = result.items()
    structure = structures[number - 1]
    if any(structure.parts[part].kind in (UnitKind.CODE, UnitKind.ROW) or structure.is_step(part) for part in parts):
        return result
    free = _MAX_TOTAL - sum(structure.length(part) for part in parts)
    for other_number, other in enumerate(structures, start=1):
        if not _is_within(other, structure):
            continue
        added = _steps(other, free)
        if added:
            result[other_number] = added
            free -= characters_of(other, [sorted(added)])
    return result


def _is_within(structure: PassageStructure, other: PassageStructure) -> bool:
    """Return whether a passage is of a section within the section of another passage."""
    passage, outer = structure.passage, other.passage
    is_deeper = len(passage.headings) > len(outer.headings) > 1  # all of the document is within its title
    is_same = passage.document_id == outer.document_id
    return is_same and is_deeper and passage.headings[: len(outer.headings)] == outer.headings


def _steps(structure: PassageStructure, max_characters: int) -> set[int]:
    """Return the beginning of a passage's section if it has steps or commands and fits."""
    heading = next((index for index in range(len(structure.parts)) if structure.is_heading(index)), None)
    if heading is None:
        return set()
    parts = section_beginning(structure, heading, max_characters)
    fits = bool(parts) and sum(structure.length(part) for part in parts) <= max_characters
    return parts if fits and any(structure.is_step_or_code(part) for part in parts) else set()
