"""Leaves out rows of a table that are not the one that a question names: "Mola 75" beside "Mola 75 titanium"."""

import dataclasses
import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.passage_structure import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.text.quotable_units import UnitKind

from .select_parts import Selection

_TOKEN = re.compile(r"\w+")


def leave_out_other_rows(selection: Selection, structures: Sequence[PassageStructure], query: str) -> Selection:
    """Return a selection without rows if another selected row of their table has a cell that names what is asked for.

    Such a cell has only words of the question, single letters and numbers included, and the other row has in its place
    something else, or only some of these words.

    Args:
        selection: The selected parts.
        structures: The structures of the numbered passages.
        query: The question.
    """
    asked_tokens = _tokens(query)
    parts = {
        number: indexes - _other_rows(structures[number - 1], indexes, asked_tokens)
        for number, indexes in selection.parts.items()
    }
    best = selection.best
    if best and best[1] not in parts[best[0]]:
        best = best[0], min(parts[best[0]])
    return dataclasses.replace(selection, parts=parts, best=best)


def _other_rows(structure: PassageStructure, indexes: set[int], asked_tokens: frozenset[str]) -> set[int]:
    rows = {
        index: [_tokens(cell) for cell in split_cells(structure.text(index))]
        for index in indexes
        if structure.parts[index].kind is UnitKind.ROW
    }
    return {
        other
        for other in rows
        if any(
            structure.parts[row].block == structure.parts[other].block
            and _is_named_instead(rows[row], rows[other], asked_tokens)
            and not _is_named_instead(rows[other], rows[row], asked_tokens)
            for row in rows
        )
    }


def _is_named_instead(
    row: Sequence[frozenset[str]], other: Sequence[frozenset[str]], asked_tokens: frozenset[str]
) -> bool:
    """Return whether a cell of a row names what is asked for, and the other row's cell in this column does not.

    A number only names a row in the first column: elsewhere it is often an amount. An empty cell often stands for that
    of the row above.
    """
    return any(
        cell
        and other_cell
        and cell <= asked_tokens
        and (not other_cell <= asked_tokens or other_cell < cell)
        and (column == 0 or any(not token.isdigit() for token in cell))
        for column, (cell, other_cell) in enumerate(zip(row, other, strict=False))
    )


def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(text.lower()))
