"""Binary workbooks of Excel (`.xlsb`): cells without the number of their column, which xberg leaves out.

The records are those of [MS-XLSB] 2.3. SheetJS writes a cell that follows another one in the short form.
"""

import io
import re
import struct
import zipfile
from collections.abc import Iterator

from rag.parsing.readers.office.prepare_for_xberg import replace_members

_SHEET = re.compile(r"xl/worksheets/[^/]+\.bin")
_ROW, _FIRST_CELL, _LAST_CELL = 0, 1, 11
# The short forms of an empty cell, a number in 30 bits, an error, a truth value, a number, a text and a shared text.
_FIRST_SHORT, _LAST_SHORT, _DISTANCE = 12, 18, 11
_MAX_COLUMN = 16_383
_CONTINUES, _MAX_SIZE_BYTES = 0x80, 4


def with_columns(content: bytes) -> bytes:
    """Return a workbook whose cells all have the number of their column."""
    changed = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in filter(_SHEET.fullmatch, archive.namelist()):
            sheet = archive.read(name)
            written = _write_columns(sheet)
            if written != sheet:
                changed[name] = written
    return replace_members(content, changed) if changed else content


def _write_columns(sheet: bytes) -> bytes:
    parts = list[bytes]()
    column, end = -1, 0
    for kind, start, data, record_end in _records(sheet):
        if kind == _ROW:
            column = -1
        elif _FIRST_CELL <= kind <= _LAST_CELL and len(data) >= _MAX_SIZE_BYTES:
            column = struct.unpack_from("<I", data)[0]
        elif _FIRST_SHORT <= kind <= _LAST_SHORT and column < _MAX_COLUMN:
            column += 1
            cell = struct.pack("<I", column) + data
            parts += [sheet[end:start], bytes([kind - _DISTANCE]), _encode_size(len(cell)), cell]
            end = record_end
    return b"".join([*parts, sheet[end:]])


def _records(sheet: bytes) -> Iterator[tuple[int, int, bytes, int]]:
    """Yield the records: type, start, data and end. What is cut off is left out."""
    place = 0
    while place < len(sheet):
        start, kind = place, sheet[place]
        place += 1
        if kind & _CONTINUES and place < len(sheet):
            kind = kind & ~_CONTINUES | (sheet[place] & ~_CONTINUES & 0xFF) << 7
            place += 1
        size = 0
        for number in range(_MAX_SIZE_BYTES):
            if place >= len(sheet):
                return
            byte = sheet[place]
            size |= (byte & ~_CONTINUES & 0xFF) << 7 * number
            place += 1
            if not byte & _CONTINUES:
                break
        if place + size > len(sheet):
            return
        yield kind, start, sheet[place : place + size], place + size
        place += size


def _encode_size(size: int) -> bytes:
    encoded = bytearray()
    while size >= _CONTINUES:
        encoded.append(size % _CONTINUES | _CONTINUES)
        size //= _CONTINUES
    return bytes([*encoded, size])
