"""Finds the rows of tables whose range has an amount of the question: "Who approves an order of 12,000 €?"."""

import re
from collections import defaultdict
from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import split_cells
from rag.text.quantities.amounts import Amount, AmountRange, find_unit, parse_range
from rag.text.sentences.quotable_units import UnitKind

# What is before an item's content: "- up to 20 €: free".
_ITEM_NAME = re.compile(r"(?:(?:[-*•+]|\d+[.)])\s+)?([^:—]{1,80})[:—]")
_MIN_RANGES = 2


def rows_by_amount(structure: PassageStructure, amounts: Sequence[Amount]) -> dict[int, bool]:
    """Return which rows and items of a passage have a range, and whether the amounts are in it.

    Only tables and lists with several ranges of an amount's unit count, and of the columns of one unit the first. If
    the question has amounts of several units that a table has ranges of, a row must have one of each.

    Args:
        structure: The passage.
        amounts: The amounts of the question.

    Returns:
        Index of a part → whether its ranges have the amounts.
    """
    columns: dict[tuple[int, str, int], dict[int, AmountRange]] = defaultdict(dict)
    for index, part in enumerate(structure.parts) if amounts else ():
        for column, stated in enumerate(_ranges(structure, index)):
            if stated is not None:
                columns[part.block, stated.unit, column][index] = stated
    by_index: dict[int, bool] = {}
    known: set[tuple[int, str]] = set()
    for (block, unit, _), rows in sorted(columns.items(), key=lambda item: item[0]):
        sought = [amount for amount in amounts if amount.unit == unit]
        if len(rows) < _MIN_RANGES or not sought or (block, unit) in known:
            continue
        known.add((block, unit))
        for index, stated in rows.items():
            by_index[index] = by_index.get(index, True) and any(map(stated.contains, sought))
    return by_index


def _ranges(structure: PassageStructure, index: int) -> list[AmountRange | None]:
    """Return the range of each column of a row, or of the beginning of an item."""
    kind, text = structure.parts[index].kind, structure.text(index)
    if kind is UnitKind.ROW:
        cells, names = split_cells(text), structure.header_cells(index)
        units = [find_unit(name) for name in [*names, *[""] * len(cells)]]
        return [parse_range(cell, unit) for cell, unit in zip(cells, units, strict=False)]
    if kind is UnitKind.ITEM and (name := _ITEM_NAME.match(text.lstrip())):
        return [parse_range(name[1])]
    return []
