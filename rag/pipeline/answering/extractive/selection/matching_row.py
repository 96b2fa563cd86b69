"""Finds the one row of a section's table that a question asks for: "What range does the Sport mode have?"."""

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import stem, stems_among


def find_matching_row(structure: PassageStructure, heading: int, question: AnalysedQuestion) -> int | None:
    """Return the index of the only row below a heading that has other words of the question than heading and columns.

    Args:
        structure: The passage.
        heading: The index of a heading that matches the question.
        question: The question.

    Returns:
        None if the section has no such row, or several.
    """
    lang = structure.passage.lang
    section = structure.sections[structure.section_of(heading)]
    parts = [part for group in section for part in group if structure.is_quotable(part)]
    rows = [part for part in parts if structure.parts[part].kind is UnitKind.ROW]
    stems = {stem(word, lang) for word in question.words}
    columns = " ".join(cell for row in rows[:1] for cell in structure.header_cells(row))
    own_stems = stems - stems_among(f"{structure.visible_text(heading)} {columns}", stems, lang).keys()
    matching = [row for row in rows if stems_among(structure.text(row), own_stems, lang)]
    return matching[0] if len(matching) == 1 < len(rows) else None
