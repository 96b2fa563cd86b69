"""The headings of rich text files (RTF) by the styles and the type of their paragraphs, which xberg ignores."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from .choose_headings import MAX_LEVEL, Paragraph, choose_headings

_TOKEN = re.compile(rb"\\'[0-9a-fA-F]{2}|\\([a-zA-Z]{1,32})(-?\d{1,9})? ?|\\[^a-zA-Z]|([{}])|[^\\{}\r\n]+|\r\n|[\r\n]")
# Parts of a file whose text is not that of a paragraph, apart from those that begin with an asterisk.
_NO_TEXT = frozenset(
    b"fonttbl colortbl info pict object footnote fldinst listtext pntext header headerl headerr headerf footer footerl "
    b"footerr footerf xe tc bkmkstart bkmkend".split()
)
_LINE_ENDS = frozenset({b"\r\n", b"\n", b"\r"})
# macOS writes such an end of a line instead of `\par`.
_LINES = frozenset({b"\\\n", b"\\\r"})
_LABELS = frozenset({b"listtext", b"pntext"})
_ENDS = frozenset({b"par", b"cell", b"nestcell", b"row", b"sect", b"page"})
# Longer files are read without it, and what is behind so many parts.
_MAX_BYTES, _MAX_PARTS, _MAX_DEPTH = 20_000_000, 1_000_000, 1_000
# More than a heading has: long paragraphs are not kept as a whole.
_MAX_KEPT_PARTS = 400
_TEXT_LEVEL = 9
# What stands before the level of a heading in the text: a character that no font has.
_MARK = "\ue92f"
_MARKED_LINE = re.compile(rf"^([^{_MARK}\n]{{0,200}}){_MARK}([1-6]) ?([^\n]*)$", re.M)
_EMPTY_LINES = re.compile(r"\n{3,}")
_BULLET = re.compile(r"(?:#{1,6} |[-+*] )?(?:\*\*)?")


@dataclass(frozen=True, slots=True)
class _State:
    """What the text at a place of the file has: it ends with its group. `size`: in half points."""

    is_bold: bool = False
    is_underlined: bool = False
    size: int = 24
    style: int = 0
    outline: int = _TEXT_LEVEL
    in_table: bool = False
    is_centered: bool = False
    is_text: bool = True
    in_styles: bool = False


@dataclass(slots=True)
class _Reading:
    """A paragraph while it is read: where its text begins, its parts, and their types."""

    start: int = -1
    parts: list[bytes] = field(default_factory=list)
    types: list[_State] = field(default_factory=list)
    state: _State = _State()
    has_label: bool = False


def mark_headings(content: bytes, decode: Callable[[bytes], str]) -> bytes:
    """Return the file with a mark in front of the text of each heading.

    Args:
        content: The file.
        decode: Returns the text of a part of the file.
    """
    if len(content) > _MAX_BYTES:
        return content
    levels = dict[int, int]()
    read, count = list[_Reading](), 0
    for one in _paragraphs(content, levels):
        count += 1 + len(one.parts)
        if count > _MAX_PARTS:
            break
        read += [one] if one.start >= 0 else []
    shown = [_as_paragraph(one, decode, levels) for one in read]
    by_type = {
        place: (2 if place else 1) if shown[place].is_bold else level for place, level in choose_headings(shown).items()
    }
    styled = {place: one.level for place, one in enumerate(shown) if one.level and any(map(str.isalnum, one.text))}
    parts, end = list[bytes](), 0
    for place, level in sorted((by_type | styled).items()):
        mark = f"{{\\u{ord(_MARK) - 2**16}?{min(level, MAX_LEVEL)} }}".encode()
        parts += [content[end : read[place].start], mark]
        end = read[place].start
    return b"".join([*parts, content[end:]])


def write_headings(markdown: str) -> str:
    """Return the Markdown of xberg with headings instead of marks."""
    if _MARK not in markdown:
        return markdown

    def heading(line: re.Match[str]) -> str:
        title = _BULLET.sub("", line[1], count=1) + line[3].replace(_MARK, "")
        return f"\n{'#' * int(line[2])} {title.replace('**', '').strip()}\n"

    return _EMPTY_LINES.sub("\n\n", _MARKED_LINE.sub(heading, markdown).replace(_MARK, "")).strip("\n")


def _as_paragraph(read: _Reading, decode: Callable[[bytes], str], levels: dict[int, int]) -> Paragraph:
    types = read.types or [read.state]
    outline = min(read.state.outline, levels.get(read.state.style, _TEXT_LEVEL))
    return Paragraph(
        " ".join(decode(b"".join(read.parts)).split()),
        is_bold=all(one.is_bold for one in types),
        is_underlined=all(one.is_underlined for one in types),
        size=max(one.size for one in types),
        level=outline + 1 if outline < _TEXT_LEVEL and not read.state.in_table else 0,
        may_be_heading=not read.state.in_table,
        is_centered=read.state.is_centered,
        item_of="list" if read.has_label else "",
    )


def _paragraphs(content: bytes, levels: dict[int, int]) -> Iterator[_Reading]:
    """Yield the paragraphs, and note the levels of the styles of headings."""
    stack, state, reading = list[_State](), _State(), _Reading()
    is_first = False  # whether a group has just begun
    for token in _TOKEN.finditer(content):
        word, brace = token[1], token[3]
        if brace == b"{":
            stack += [state] if len(stack) < _MAX_DEPTH else []
        elif brace == b"}":
            state = stack.pop() if stack else _State()
        elif token[0] == b"\\*" and is_first:
            state = replace(state, is_text=False)
        elif (word is not None and word != b"u") or token[0] in _LINES:
            word = word or b"par"
            if word in _ENDS and state.is_text:
                reading.state = replace(state, in_table=state.in_table or (word != b"par" and word.endswith(b"cell")))
                yield reading
                reading = _Reading()
            reading.has_label |= word in _LABELS
            state = _changed(state, word, token[2])
            if state.in_styles and word == b"outlinelevel":
                levels[state.style] = state.outline
        elif state.is_text and token[0] not in _LINE_ENDS:
            reading.parts += [token[0]] if len(reading.parts) < _MAX_KEPT_PARTS else []
            if reading.start < 0 and not token[0].isspace():
                reading.start = token.start()
            if token[0][:1] == b"\\" or any(map(str.isalnum, token[0].decode("latin-1"))):
                reading.types += [state] if len(reading.types) < _MAX_KEPT_PARTS else []
        is_first = brace == b"{"
    reading.state = state
    yield reading


def _changed(state: _State, word: bytes, number: bytes | None) -> _State:
    value = int(number) if number else 0
    if word == b"plain":
        return replace(state, is_bold=False, is_underlined=False, size=24)
    if word == b"pard":
        return replace(state, style=0, outline=_TEXT_LEVEL, in_table=False, is_centered=False)
    if word == b"b":
        return replace(state, is_bold=number != b"0")
    if word in (b"ul", b"ulnone"):
        return replace(state, is_underlined=word == b"ul" and number != b"0")
    if word == b"fs":
        return replace(state, size=value or state.size)
    if word == b"s":
        return replace(state, style=value)
    if word == b"outlinelevel":
        return replace(state, outline=value)
    if word == b"intbl":
        return replace(state, in_table=True)
    if word in (b"qc", b"ql", b"qr", b"qj"):
        return replace(state, is_centered=word == b"qc")
    if word == b"stylesheet":
        return replace(state, is_text=False, in_styles=True)
    return replace(state, is_text=False) if word in _NO_TEXT else state
