"""Leaves out rows of a table that are not the one that a question names: "Mola 75" beside "Mola 75 titanium"."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import cells_by_column, split_cells
from rag.pipeline.answering.extractive.scores.rows_by_amount import rows_by_amount
from rag.text.function_words import ALL_FUNCTION_WORDS
from rag.text.quantities.amounts import Amount, find_amounts
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import as_phrase

from .select_parts import Selection

# Questions about all rows but the one that they name: "Which plans cost more than Pro?"
_ABOUT_OTHERS = re.compile(
    r"\b(?:than|besides|except|compared?|others?|außer|andere[nrs]?|sauf|excepto|(?:más|plus|moins|menos|mehr"
    r"|weniger)\b"
    r".*\b(?:que|als)|altr[aeio]|eccetto|tranne|outr[oa]s?|exceto|behalve|(?:meer|minder)\b.*\bdan)\b",
    re.IGNORECASE,
)
_MAX_CHARACTERS, _MIN_NAME_CHARACTERS = 500, 3


def leave_out_other_rows(selection: Selection, structures: Sequence[PassageStructure], query: str) -> Selection:
    """Return a selection without rows if another selected row of their table has a cell that names what is asked for.

    The words of such a cell are in the question as they are there, single letters and numbers included, and the other
    row has in its place something else that the question does not name. Or its range has an amount of the question, and
    that of the other row does not. If the best part is left out, the first part that stays takes its place.

    Args:
        selection: The selected parts.
        structures: The structures of the numbered passages.
        query: The question.
    """
    question = query[:_MAX_CHARACTERS]
    if _ABOUT_OTHERS.search(question):
        return selection
    question_phrase, amounts = as_phrase(question), find_amounts(question)
    parts = {}
    for number, selected in selection.parts.items():
        indexes = _with_named_row(structures[number - 1], selected, question_phrase)
        kept = indexes - _other_rows(structures[number - 1], indexes, question_phrase)
        parts[number] = kept - _rows_of_other_amounts(structures[number - 1], kept, amounts, question_phrase)
    best = selection.best
    if best and best[1] not in parts[best[0]]:
        best = best[0], min(parts[best[0]])
    return dataclasses.replace(selection, parts=parts, best=best)


def _with_named_row(structure: PassageStructure, indexes: set[int], question_phrase: str) -> set[int]:
    """Return the parts with the row that the question names in place of the only selected one, which it does not name.

    Only the first cells are compared: "Thursday" and "Friday" of opening hours. Two letters without spaces may be part
    of another name.
    """
    rows = [index for index in indexes if structure.parts[index].kind is UnitKind.ROW]
    if len(rows) != 1 or question_phrase.isascii():
        return indexes
    block = structure.parts[rows[0]].block
    header = structure.header_cells(rows[0])
    rows_of_table = {
        index: split_cells(structure.text(index))
        for index, part in enumerate(structure.parts)
        if part.kind is UnitKind.ROW and part.block == block
    }
    first_cells = {
        index: next(iter(cells), "") for index, cells in rows_of_table.items() if list(cells) != list(header)
    }
    names = {index: as_phrase(cell) for index, cell in first_cells.items() if len(cell) >= _MIN_NAME_CHARACTERS}
    named = [index for index, name in names.items() if _is_name(name, has_number=False) and name in question_phrase]
    return {*indexes - {rows[0]}, *named} if len(named) == 1 and structure.is_quotable(named[0]) else indexes


def _other_rows(structure: PassageStructure, indexes: set[int], question_phrase: str) -> set[int]:
    rows = {
        index: {column: as_phrase(cell) for column, cell in cells_by_column(structure.text(index)).items()}
        for index in indexes
        if structure.parts[index].kind is UnitKind.ROW
    }

    def is_replaced(other: int, row: int) -> bool:
        return (
            structure.parts[row].block == structure.parts[other].block
            and _is_named_instead(rows[row], rows[other], question_phrase)
            and not _is_named_instead(rows[other], rows[row], question_phrase)
        )

    replaced = {other for other in rows if any(is_replaced(other, row) for row in rows)}
    # Rows may replace each other in a circle.
    return {other for other in replaced if any(is_replaced(other, row) for row in rows.keys() - replaced)}


def _rows_of_other_amounts(
    structure: PassageStructure, indexes: set[int], amounts: Sequence[Amount], question_phrase: str
) -> set[int]:
    """Return the rows whose range has no amount of the question, beside one that has; none if a first cell is named."""
    by_amount = rows_by_amount(structure, amounts)
    in_range = {index for index in indexes if by_amount.get(index)}
    names = (as_phrase(split_cells(structure.text(index))[0]) for index in indexes if index in by_amount)
    if any(name and _is_name(name, has_number=True) and name in question_phrase for name in names):
        return set()
    blocks = {structure.parts[index].block for index in in_range}
    return {index for index in indexes if by_amount.get(index) is False and structure.parts[index].block in blocks}


def _is_named_instead(row: Mapping[str, str], other: Mapping[str, str], question_phrase: str) -> bool:
    """Return whether a cell of a row names what is asked for, and the other row's cell in this column does not.

    An empty cell often stands for that of the row above. The question names "Pro" beside "Pro Plus" if "Pro" is also in
    the rest of it. Numbers tell rows apart that have the same name: "Finch | 2.0" and "Finch | 2.1".
    """
    first = next(iter(row), "")
    have_same_name = any(
        cell == other.get(column) and _is_name(cell, has_number=False) and cell in question_phrase
        for column, cell in row.items()
    )
    return any(
        cell
        and (other_cell := other.get(column, ""))
        and cell != other_cell
        and _is_name(cell, has_number=have_same_name or column == first)
        and cell in question_phrase
        and other_cell not in (question_phrase.replace(cell, " ") if other_cell in cell else question_phrase)
        for column, cell in row.items()
    )


def _is_name(cell: str, *, has_number: bool) -> bool:
    """Return whether a cell has a word that may name its row.

    A number only does in the first column, or if the rows have another name in common: elsewhere it is often an amount.
    Neither does "no", or the letter "a".
    """
    return any(word not in ALL_FUNCTION_WORDS and (has_number or not word.isdigit()) for word in cell.split())
