"""Sheets and charts in an OpenDocument text, which xberg takes for formulas and writes as one word."""

import itertools
import posixpath
from collections.abc import Callable, Iterator

from lxml import etree

_TEXT, _TABLE, _DRAW = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("text", "table", "drawing")
)
_REFERENCE = "{http://www.w3.org/1999/xlink}href"
_COVERED = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
# A sheet ends with a cell that is repeated to its last column.
_MAX_ROWS, _MAX_COLUMNS, _MAX_REPEATED = 1_000, 200, 50
# Each formula is an object, too, and each part is found among all files of the document.
_MAX_OBJECTS = 200


def write_objects(root: etree._Element, find_part: Callable[[str], etree._Element | None]) -> None:
    """Put the table of each sheet or chart behind the paragraph that it is in.

    Args:
        root: The part `content.xml`, which is changed.
        find_part: Returns the part with a name; None if there is none.
    """
    ends: dict[etree._Element, etree._Element] = {}
    for element in list(itertools.islice(root.iter(f"{_DRAW}object"), _MAX_OBJECTS)):
        anchor = next(element.iterancestors(f"{_TEXT}p", f"{_TEXT}h"), None)
        folder = posixpath.normpath(element.get(_REFERENCE, ""))
        part = find_part(f"{folder}/content.xml") if anchor is not None else None
        sheet = None if part is None else part.find(f".//{_TABLE}table")
        if anchor is None or sheet is None:
            continue
        frame = element.getparent()
        for child in list(frame):  # the object and its picture
            frame.remove(child)
        table = _as_table(list(_rows(sheet)))
        if len(table):
            ends.get(anchor, anchor).addnext(table)
            ends[anchor] = table


def _rows(sheet: etree._Element) -> Iterator[list[str]]:
    """Yield the rows that have text, without the empty cells at their end."""
    count = 0
    for row in sheet.iter(f"{_TABLE}table-row"):
        cells = list[str]()
        for cell in row.iterchildren(*_COVERED):
            text = " ".join(" ".join("".join(part.itertext()).split()) for part in cell.iterchildren(f"{_TEXT}p"))
            repeated = cell.get(f"{_TABLE}number-columns-repeated", "1")
            cells += [text] * min(int(repeated[:4]) if repeated.isdecimal() else 1, _MAX_REPEATED)
            if len(cells) >= _MAX_COLUMNS:
                break
        del cells[_MAX_COLUMNS:]
        while cells and not cells[-1]:
            cells.pop()
        if cells:
            yield cells
            count += 1
        if count == _MAX_ROWS:
            break


def _as_table(rows: list[list[str]]) -> etree._Element:
    table = etree.Element(f"{_TABLE}table")
    width = max(map(len, rows), default=0)
    for row in rows:
        line = etree.SubElement(table, f"{_TABLE}table-row")
        for text in [*row, *[""] * (width - len(row))]:
            cell = etree.SubElement(line, f"{_TABLE}table-cell")
            etree.SubElement(cell, f"{_TEXT}p").text = text
    return table
