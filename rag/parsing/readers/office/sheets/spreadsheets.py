"""Spreadsheets: Excel workbooks of all versions, and OpenDocument spreadsheets."""

import re
from dataclasses import replace

from rag.parsing import formats, zip_files
from rag.parsing.detection import OLE_MAGIC
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.csv_tables import is_row_of_data, start_of_table
from rag.parsing.readers.office import prepare_for_xberg
from rag.parsing.readers.office.legacy.title import read_title
from rag.parsing.readers.office.slides.open_document import pack_flat
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import binary_sheets, number_formats, older_workbooks

# The first row of a table, its rule, and the rows that show where its header is.
_TOP = re.compile(r"^(\|[^\n]*\|)\n(\|(?: --- \|)+)((?:\n\|[^\n]*\|){2,20})", re.M)
_MIN_COLUMNS = 3
_SHEET_START, _HIDDEN = re.compile(r"^(?=## )", re.M), " (hidden)"
_BAR = re.compile(r"(?<!\\)\|")
# What xberg writes before signs of cells; at the start of a line they would be syntax.
_ESCAPE = re.compile(r"(?m)(?<!^)\\([\\!#<>`~])")


def read(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read a spreadsheet: a heading and a table for each sheet."""
    if media_type == formats.ODS and not content.startswith(zip_files.MAGIC):
        content = pack_flat(content, media_type)
    if media_type == formats.XLS:
        if not content.startswith(OLE_MAGIC):
            return older_workbooks.read_xml(content, limits)
        content = older_workbooks.repair_container(content)
    else:
        zip_files.check_archive(content, limits)
    if media_type == formats.ODS:
        content = prepare_for_xberg.prepare_open_spreadsheet(content)
    elif media_type == formats.XLSX:
        content = number_formats.show_numbers(content)
    elif media_type == formats.XLSB:
        content = binary_sheets.with_columns(content)
    parsed = extracted_markdown.read(content, media_type, limits)
    text = _ESCAPE.sub(r"\1", _TOP.sub(_with_header, _without_hidden(parsed.text)))
    if text != parsed.text:
        parsed = replace(parse_markdown(text), title=parsed.title)
    return replace(parsed, title=read_title(content)) if media_type == formats.XLS else parsed


def _without_hidden(text: str) -> str:
    """Return the text without the sheets that a program hides, which xberg marks in their headings."""
    sheets = _SHEET_START.split(text)
    return "".join(sheet for sheet in sheets if not sheet.partition("\n")[0].endswith(_HIDDEN)).strip() or text


def _with_header(top: re.Match[str]) -> str:
    """Return the top of a table with its header, which may be below a title, as the first row: the rest is above it."""
    lines = [top[1], *top[3].split("\n")[1:]]
    rows = [(line, [cell.strip() for cell in _BAR.split(line)[1:-1]]) for line in lines]
    rows = [(line, cells) for line, cells in rows if any(cells)]
    start = start_of_table([cells for _, cells in rows])
    names = list(filter(None, rows[start][1])) if start else []
    # In a table of two columns the first row rather has a name and a value.
    if len(names) < _MIN_COLUMNS or any(name[0].isdigit() for name in names):
        return top[0]
    if is_row_of_data(rows[start][1], [cells for _, cells in rows[start + 1 :]]):
        return top[0]
    above = [" | ".join(filter(None, cells)) for _, cells in rows[:start]]
    header, *others = [line for line, _ in rows[start:]]
    return "\n\n".join([*above, "\n".join([header, top[2], *others])])
