"""Files of Office 97 to 2003, and binary workbooks of later versions."""

import struct
from collections.abc import Mapping, Sequence

from .archives import packed
from .mail import ole

_WORKBOOK, _SHEET = 0x0005, 0x0010
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_REFERENCE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def xls(
    sheets: Mapping[str, Sequence[Sequence[str | float]]],
    *,
    title: str | bytes = "",
    code_page: int = 1252,
    title_in_characters: bool = False,
) -> bytes:
    """A workbook (BIFF8, MS-XLS) with these rows in its sheets. `code_page`: of a title in bytes."""
    offset = len(_biff_start(_WORKBOOK)) + sum(12 + len(name) for name in sheets) + len(_biff(0x000A))
    head, body = _biff_start(_WORKBOOK), b""
    for name, rows in sheets.items():
        label = struct.pack("<IHBB", offset + len(body), 0, len(name), 0) + name.encode("latin-1")
        head += _biff(0x0085, label)
        width = max(map(len, rows))
        body += _biff_start(_SHEET) + _biff(0x0200, struct.pack("<IIHHH", 0, len(rows), 0, width, 0))
        for row, values in enumerate(rows):
            body += b"".join(_xls_cell(row, column, value) for column, value in enumerate(values))
        body += _biff(0x000A)
    summary = {"\x05SummaryInformation": _summary(title, code_page, in_characters=title_in_characters)} if title else {}
    return ole({"Workbook": head + _biff(0x000A) + body, **summary})


def _biff(number: int, content: bytes = b"") -> bytes:
    return struct.pack("<HH", number, len(content)) + content


def _biff_start(kind: int) -> bytes:
    return _biff(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 1996, 0, 6))


def _xls_cell(row: int, column: int, value: str | float) -> bytes:
    place = struct.pack("<HHH", row, column, 0)
    if isinstance(value, str):
        return _biff(0x0204, place + struct.pack("<HB", len(value), 1) + value.encode("utf-16-le"))
    return _biff(0x0203, place + struct.pack("<d", value))


def xlsb(sheets: Mapping[str, Sequence[Sequence[str | float]]], *, is_short: bool = False) -> bytes:
    """A binary workbook (BIFF12, MS-XLSB) with these rows in its sheets.

    `is_short`: only the first cell of a row has the number of its column, as SheetJS writes it.
    """
    listed = b"".join(
        _record(0x009C, struct.pack("<II", 0, number) + _wide(f"rId{number}") + _wide(name))
        for number, name in enumerate(sheets, 1)
    )
    workbook = _record(0x0083) + _record(0x008F) + listed + _record(0x0090) + _record(0x0084)
    references = "".join(
        f'<Relationship Id="rId{number}" Type="{_REFERENCE}/worksheet" Target="worksheets/sheet{number}.bin"/>'
        for number in range(1, len(sheets) + 1)
    )
    members: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<?xml version="1.0"?><Types xmlns="{_TYPES}"><Default Extension="bin" ContentType='
        '"application/vnd.ms-excel.sheet.binary.macroEnabled.main"/><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/></Types>',
        "_rels/.rels": f'<?xml version="1.0"?><Relationships xmlns="{_RELATIONS}"><Relationship Id="rId1" '
        f'Type="{_REFERENCE}/officeDocument" Target="xl/workbook.bin"/></Relationships>',
        "xl/workbook.bin": workbook,
        "xl/_rels/workbook.bin.rels": f'<?xml version="1.0"?><Relationships xmlns="{_RELATIONS}">{references}'
        "</Relationships>",
    }
    for number, rows in enumerate(sheets.values(), 1):
        cells = b""
        for row, values in enumerate(rows):
            cells += _record(0x0000, struct.pack("<II", row, 0) + b"\0" * 17)
            cells += b"".join(
                _xlsb_cell(column, value, is_short=is_short and column > 0) for column, value in enumerate(values)
            )
        size = struct.pack("<IIII", 0, len(rows) - 1, 0, max(map(len, rows)) - 1)
        members[f"xl/worksheets/sheet{number}.bin"] = (
            _record(0x0081) + _record(0x0094, size) + _record(0x0091) + cells + _record(0x0092) + _record(0x0082)
        )
    return packed(members)


def _record(number: int, content: bytes = b"") -> bytes:
    kind = bytes([number]) if number < 0x80 else bytes([number & 0x7F | 0x80, number >> 7])
    size, rest = b"", len(content)
    while rest > 0x7F:
        size, rest = size + bytes([rest & 0x7F | 0x80]), rest >> 7
    return kind + size + bytes([rest]) + content


def _wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def _xlsb_cell(column: int, value: str | float, *, is_short: bool) -> bytes:
    place = struct.pack("<I", 0) if is_short else struct.pack("<II", column, 0)
    content = _wide(value) if isinstance(value, str) else struct.pack("<d", value)
    kind = 0x0006 if isinstance(value, str) else 0x0005
    return _record(kind + (0x000B if is_short else 0), place + content)


def doc(
    paragraphs: Sequence[str],
    *,
    title: str = "",
    styles: Sequence[int] = (),
    items: Mapping[int, tuple[int, int]] | None = None,
    levels: Sequence[tuple[int, str]] = (),
    starts: Mapping[int, int] | None = None,
    types: Mapping[int, bytes] | None = None,
    cells: Mapping[int, bool] | None = None,
    split: int = 0,
) -> bytes:
    """A Word document (MS-DOC) with these paragraphs, in pieces of 16-bit characters.

    Args:
        paragraphs: Their texts.
        title: The title that the file declares.
        styles: The number of the style of each paragraph: 0 for text, 1 to 9 for headings, 10 for one like heading 2.
        items: Number of a paragraph → its list, from 1, and its level, from 0.
        levels: The code of the numbers of each level of all lists, and its label, with "\\0" for the number of the
            highest level.
        starts: Level → the first number of the second list.
        types: Number of a paragraph → what changes its letters.
        cells: Number of a paragraph that is a cell → whether it is the mark behind the cells of a row instead.
        split: Where the second piece begins; 0 for one piece.
    """
    cells = cells or {}
    text = "".join(paragraph + ("\x07" if number in cells else "\r") for number, paragraph in enumerate(paragraphs))
    start = 1536
    page = start // 512 + -(-2 * len(text) // 512)
    head = bytearray(start)
    struct.pack_into("<HH", head, 0, 0xA5EC, 0x00C1)
    struct.pack_into("<H", head, 0x0A, 0x0200)  # the piece table is in the stream 1Table
    struct.pack_into("<II", head, 0x18, start, start + 2 * len(text))
    struct.pack_into("<H", head, 0x20, 14)
    struct.pack_into("<H", head, 0x3E, 22)
    struct.pack_into("<I", head, 0x4C, len(text))
    struct.pack_into("<H", head, 0x98, 0x5D)
    ends = [split, len(text)] if split else [len(text)]
    pieces = struct.pack(f"<{len(ends) + 1}I", 0, *ends)
    pieces += b"".join(struct.pack("<HIH", 0, start + 2 * first, 0) for first in [0, *ends[:-1]])
    parts = {
        33: b"\x02" + struct.pack("<I", len(pieces)) + pieces,
        1: _doc_styles(),
        13: struct.pack("<III", start, start + 2 * len(text), page),
        12: struct.pack("<III", start, start + 2 * len(text), page + 1),
    }
    if levels:
        definition = struct.pack("<Hi24x", 1, 7)
        parts[73] = definition + b"".join(_doc_level(code, label) for code, label in levels).ljust(9 * 34, b"\0")
        changes = b"".join(struct.pack("<iI", first, level | 0x10) for level, first in (starts or {}).items())
        lists = struct.pack("<iIIBBH", 7, 0, 0, 0, 0, 0) + struct.pack("<iIIBBH", 7, 0, 0, len(starts or {}), 0, 0)
        parts[74] = struct.pack("<I", 2) + lists + b"\xff" * 8 + changes
    table = b""
    for number, part in parts.items():
        struct.pack_into("<II", head, 0x9A + 8 * number, len(table), len(part))
        table += part
    main = (bytes(head) + text.encode("utf-16-le")).ljust(512 * page, b"\0")
    pages = _doc_paragraphs(paragraphs, start, styles, items or {}, cells) + _doc_types(paragraphs, start, types or {})
    streams = {"WordDocument": main + pages, "1Table": table}
    return ole({**streams, "\x05SummaryInformation": _summary(title)} if title else streams)


def _doc_paragraphs(
    paragraphs: Sequence[str],
    start: int,
    styles: Sequence[int],
    items: Mapping[int, tuple[int, int]],
    cells: Mapping[int, bool],
) -> bytes:
    """The properties of paragraphs, as a page of 512 bytes."""
    places = [start]
    for paragraph in paragraphs:
        places.append(places[-1] + 2 * len(paragraph) + 2)
    page, end = bytearray(512), 510
    struct.pack_into(f"<{len(places)}I", page, 0, *places)
    for number in range(len(paragraphs)):
        changes = struct.pack("<HHHB", 0x460B, items[number][0], 0x260A, items[number][1]) if number in items else b""
        if number in cells:
            changes += struct.pack("<HBHBHB", 0x2416, 1, 0x2417, cells[number], 0x2403, 0)
        entry = struct.pack("<H", styles[number] if number < len(styles) else 0) + changes
        entry = bytes([(len(entry) + 1) // 2]) + entry
        end -= len(entry) + len(entry) % 2
        page[end : end + len(entry)] = entry
        page[4 * len(places) + 13 * number] = end // 2
    page[-1] = len(paragraphs)
    return bytes(page)


def _doc_types(paragraphs: Sequence[str], start: int, types: Mapping[int, bytes]) -> bytes:
    """The page with the properties of the letters of each paragraph."""
    places = [start]
    for paragraph in paragraphs:
        places.append(places[-1] + 2 * len(paragraph) + 2)
    page, end = bytearray(512), 510
    struct.pack_into(f"<{len(places)}I", page, 0, *places)
    for number in range(len(paragraphs)):
        if changes := types.get(number, b""):
            end -= (1 + len(changes) + 1) // 2 * 2
            page[end : end + 1 + len(changes)] = bytes([len(changes)]) + changes
            page[4 * len(places) + number] = end // 2
    page[-1] = len(paragraphs)
    return bytes(page)


def _doc_styles() -> bytes:
    sheet = struct.pack("<HHH", 4, 11, 10)
    for number in range(11):
        base = 2 if number == 10 else 0xFFF
        name = f"Style {number}"
        properties = struct.pack("<HH", 2, number)
        style = struct.pack("<HHHHH", 0, 1 | base << 4, 1, 0, 0)
        style += struct.pack("<H", len(name)) + name.encode("utf-16-le") + b"\0\0" + properties
        sheet += struct.pack("<H", len(style)) + style
    return sheet


def _doc_level(code: int, label: str) -> bytes:
    return struct.pack("<iBB22xH", 1, code, 0, len(label)) + label.encode("utf-16-le")


def _summary(title: str | bytes, code_page: int = 1252, *, in_characters: bool = False) -> bytes:
    """A property set (MS-OLEPS) with a title. `in_characters`: its length is in characters of UTF-16, not in bytes."""
    encoded = (title.encode("cp1252") if isinstance(title, str) else title) + b"\0\0"
    encoded = encoded.ljust(-(-len(encoded) // 4) * 4, b"\0")
    kind, length = (0x1F, len(encoded) // 2) if in_characters else (0x1E, len(encoded))
    values = struct.pack("<IHH", 2, code_page, 0) + struct.pack("<II", kind, length) + encoded
    section = struct.pack("<IIIIII", 24 + len(values), 2, 1, 24, 2, 32) + values
    format_id = bytes.fromhex("E0859FF2F94F6810AB9108002B27B3D9")
    return struct.pack("<HHI16sI16sI", 0xFFFE, 0, 0x00020105, b"", 1, format_id, 48) + section


def ppt(slides: Sequence[tuple[str, str]], *, title: str) -> bytes:
    """A presentation (MS-PPT) with the title and the text of each slide."""
    shown = b"".join(_ppt_slide(heading, body) for heading, body in slides)
    document = _ppt_record(0x03E8, b"", version=0xF)
    user = struct.pack("<IIIHBB", 20, 0xE391C05F, 0, 4, 0xF4, 0) + b"user"
    return ole(
        {
            "PowerPoint Document": document + shown,
            "Current User": _ppt_record(0x0FF6, user),
            "\x05SummaryInformation": _summary(title),
        }
    )


def _ppt_slide(title: str, body: str) -> bytes:
    shapes = b""
    for kind, text in ((0, title), (1, body)):
        box = _ppt_record(0x0F9F, struct.pack("<I", kind)) + _ppt_record(0x0FA0, text.encode("utf-16-le"))
        shapes += _ppt_record(0xF004, _ppt_record(0xF00D, box, version=0xF), version=0xF)
    drawing = _ppt_record(0xF002, _ppt_record(0xF003, shapes, version=0xF), version=0xF)
    atom = _ppt_record(0x03EF, b"\0" * 24, version=2)
    return _ppt_record(0x03EE, atom + _ppt_record(0x040C, drawing, version=0xF), version=0xF)


def _ppt_record(number: int, content: bytes, *, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, number, len(content)) + content
