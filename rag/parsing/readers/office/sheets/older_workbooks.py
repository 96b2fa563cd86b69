"""Workbooks of Excel 97 to 2003: repaired containers, and XML files (SpreadsheetML 2003)."""

import re
import struct

from lxml import etree

from rag.errors import ParseFailed
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

# [MS-CFB]: the sizes of a sector and of a small sector, and where a file says how many sectors its table has.
_SECTOR_BYTES, _SMALL_SECTOR_BYTES = 512, 64
_COUNT_AT, _TABLES_AT, _TABLES_IN_HEADER, _SIZE_IN_ENTRY, _FREE = 44, 76, 109, 120, 2**32 - 1
_SHEET = "{urn:schemas-microsoft-com:office:spreadsheet}"
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)T00:00:00(?:\.0+)?")
_MAX_CELLS_PER_ROW = 16_384
_DAMAGED = "The Excel workbook is damaged or cut off. Open it, save it again and send that."


def repair_container(content: bytes) -> bytes:
    """Return a container without two faults of libraries that write it, which Excel does not mind.

    The table of sectors may have more entries than the file has sectors (SheetJS), and the size of the small sectors
    may be that of their content (the library spreadsheet of Ruby).
    """
    if len(content) < _SECTOR_BYTES:
        return content
    count, directory = struct.unpack_from("<II", content, _COUNT_AT)
    repaired = bytearray(content)
    sectors, entries = len(content) // _SECTOR_BYTES - 1, _SECTOR_BYTES // 4
    for place in range(min(count, _TABLES_IN_HEADER)):
        start = _SECTOR_BYTES * (struct.unpack_from("<I", content, _TABLES_AT + 4 * place)[0] + 1)
        for number in range(max(sectors - entries * place, 0), entries):
            if start + 4 * (number + 1) <= len(content):
                struct.pack_into("<I", repaired, start + 4 * number, _FREE)
    size_at = _SECTOR_BYTES * (directory + 1) + _SIZE_IN_ENTRY
    if size_at + 4 <= len(content):
        size = struct.unpack_from("<I", content, size_at)[0]
        struct.pack_into("<I", repaired, size_at, min(-(-size // _SMALL_SECTOR_BYTES) * _SMALL_SECTOR_BYTES, 2**32 - 1))
    return bytes(repaired)


def read_xml(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a workbook that was saved as XML: a heading and a table for each sheet.

    Raises:
        ParseFailed: If the file is no XML, or has too much text.
    """
    try:
        root = etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except etree.XMLSyntaxError:
        raise ParseFailed(_DAMAGED) from None
    builder, size = MarkdownBuilder(), 0
    for sheet in root.iter(f"{_SHEET}Worksheet"):
        rows = [row for row in map(_cells, sheet.iter(f"{_SHEET}Row")) if any(row)]
        size += len(rows) * max(map(len, rows), default=0)
        if size > limits.text_bytes:
            raise ParseFailed("The Excel workbook is too large. Send it in parts.")
        if rows:
            builder.add_heading(2, sheet.get(f"{_SHEET}Name", ""))
            builder.add_table(rows)
    return builder.build()


def _cells(row: etree._Element) -> list[str]:
    """Return the cells of a row, with empty ones where it leaves some out."""
    cells: list[str] = []
    for cell in row.iterchildren(f"{_SHEET}Cell"):
        number = cell.get(f"{_SHEET}Index", "")
        if number.isdecimal() and len(cells) < int(number) <= _MAX_CELLS_PER_ROW:
            cells += [""] * (int(number) - 1 - len(cells))
        data = cell.find(f"{_SHEET}Data")
        text = "" if data is None else "".join(map(str, data.itertext()))
        cells.append(_MIDNIGHT.sub(r"\1", text))
    return cells
