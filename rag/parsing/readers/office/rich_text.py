"""What xberg does not read of rich text files (RTF): notes, and titles with other letters than those of ASCII."""

import re
from collections.abc import Iterator

from rag.parsing.encodings import code_page_numbers

from .headings import rich_text_headings
from .numbering import rich_text_labels

_NOTE = re.compile(rb"\{(?:\\\*)?\\footnote(?![a-z])(?:\\ftnalt(?![a-z]))?")
_PAGE_PART = re.compile(rb"\{\s{0,2}\\(?:header|footer)[lrf]?(?![a-z])")
_BRACE = re.compile(rb"\\[\\{}]|([{}])")
_IN_NOTE = re.compile(rb"\\(?:chftn|pard|par|~)(?![a-z]) ?")
_HIDDEN = re.compile(rb"\{(?:\\(?!v(?![a-z]))[a-z]{1,32}-?\d{0,10} ?){0,50}\\v(?![a-z0])[^{}]*\}")
# AbiWord writes the text of an item within the group of its mark, which readers skip.
_ITEM_OF_ABIWORD, _MARK_OF_ABIWORD = b"{\\listtext\\pard", b"{\\*\\listtag"
_TITLE = re.compile(rb"\{\\title\s?([^{}]{1,2000})\}")
_CODE_PAGE = re.compile(rb"\\ansicpg(\d{1,5})")
# What xberg would write as signs: spaces that do not break, which become others, and text that is underlined.
_SIGN = re.compile(rb"\\(?:[\\{}]|(~)|ul(?:d|db|w|dash)?(?![a-z0-9]))")
_TABLE_WORD = re.compile(rb"\\(?:[\\{}]|(trowd|intbl|cellx-?\d{1,10}|cell|nestcell|row|par)(?![a-z0-9]))")
# A list whose labels are typed, as macOS writes it: xberg would write bullets instead.
_TYPED_LIST = re.compile(
    rb"\\ls\d{1,5}(?:\\ilvl\d)?(?=(?:\s{0,3}\\[a-z]{1,32}+-?\d{0,10}+ ?+){0,10}+"
    rb"\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{2,7})[.)]\t)"
)
# A word that changes nothing, so that the space behind the word that it replaces does not become text.
_NO_CHANGE = b"\\ltrpar"
_ESCAPE = re.compile(
    rb"\\'([0-9a-f]{2})|\\u(-?\d{1,5}) ?(?:\\'[0-9a-f]{2}|[^\\])?|\\[a-z]{1,32}-?\d{0,10} ?|([^\\]+)", re.I
)


def prepare(content: bytes) -> bytes:
    """Return the file with the numbers of lists, with its notes as paragraphs at the end, and without hidden text.

    A table with one column is a frame around text: its cells become paragraphs. xberg puts two of them, one below the
    other, at wrong places, and loses a paragraph.
    """
    codec = _codec(content)
    content = rich_text_headings.mark_headings(_without_page_parts(content), lambda part: _decode(part, codec))
    content = _without_frames(_SIGN.sub(_without_sign, _with_notes_at_end(_HIDDEN.sub(b"", content))))
    content = _TYPED_LIST.sub(b"", content)
    if _MARK_OF_ABIWORD in content:
        return content.replace(_ITEM_OF_ABIWORD, b"{\\pard")
    return rich_text_labels.write_labels(content, lambda part: _decode(part, codec))


def _without_page_parts(content: bytes) -> bytes:
    """Return the file without the headers and footers of its pages."""
    parts, end = list[bytes](), 0
    for start in _PAGE_PART.finditer(content):
        if start.start() >= end:
            parts.append(content[end : start.start()])
            end = _end_of_group(content, start.start())
    return b"".join([*parts, content[end:]])


def _with_notes_at_end(content: bytes) -> bytes:
    parts, notes, end = list[bytes](), list[bytes](), 0
    for note in _NOTE.finditer(content):
        if note.start() >= end:
            parts.append(content[end : note.start()])
            end = _end_of_group(content, note.start())
            notes.append(b"\\par\\pard\\plain {" + _IN_NOTE.sub(b"", content[note.end() : end]))
    body, brace, rest = b"".join([*parts, content[end:]]).rpartition(b"}")
    return b"".join([body, *notes, brace, rest]) if notes else content


def _without_sign(match: re.Match[bytes]) -> bytes:
    return b"\\'20" if match[1] else match[0] if match[0][1:] in (b"\\", b"{", b"}") else b"\\ulnone"


def _without_frames(content: bytes) -> bytes:
    if b"\\row" not in content:
        return content
    parts, end = list[bytes](), 0
    for table in _tables(content):
        if all(sum(word[1] in (b"cell", b"nestcell") for word in row) == 1 for row in table):
            for word in (word for row in table for word in row):
                parts += [content[end : word.start()], b"\\par" if word[1] == b"cell" else _NO_CHANGE]
                end = word.end()
    return b"".join([*parts, content[end:]])


def _tables(content: bytes) -> Iterator[list[list[re.Match[bytes]]]]:
    """Yield the rows of each table, as the words that make them. Text between rows ends a table."""
    rows, row, is_row = list[list[re.Match[bytes]]](), list[re.Match[bytes]](), False
    for word in _TABLE_WORD.finditer(content):
        name = word[1]
        if name == b"trowd":
            is_row = True
        elif name == b"par" and not is_row and rows:
            yield rows
            rows = []
        if is_row and name and name != b"par":
            row.append(word)
        if name == b"row":
            rows += [row] if is_row else []
            row, is_row = [], False
    if rows:
        yield rows


def _end_of_group(content: bytes, start: int) -> int:
    depth = 0
    for brace in _BRACE.finditer(content, start):
        depth += {b"{": 1, b"}": -1, None: 0}[brace[1]]
        if not depth:
            return brace.end()
    return len(content)


def read_title(content: bytes) -> str:
    """Return the title that the file declares, in the code page that it names; empty if there is none."""
    # The last one: programs write it in Unicode after it in their code page.
    title = next(iter(_TITLE.findall(content)[::-1]), b"")
    return " ".join(_decode(title, _codec(content)).split())


def _codec(content: bytes) -> str:
    code_page = _CODE_PAGE.search(content)
    return code_page_numbers.find_codec(int(code_page[1])) if code_page else ""


def _decode(part: bytes, codec: str) -> str:
    """Return the text of a part of a file without its commands."""
    parts, single_bytes = list[str](), b""
    for match in _ESCAPE.finditer(part):
        if match[2]:
            parts += [code_page_numbers.decode(single_bytes, codec), chr(int(match[2]) % 2**16)]
            single_bytes = b""
        else:
            single_bytes += bytes([int(match[1], 16)]) if match[1] else match[3] or b""
    return "".join([*parts, code_page_numbers.decode(single_bytes, codec)])
