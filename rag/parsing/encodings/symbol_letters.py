"""Letters for signs without one: ligatures, and the private places of old symbol fonts (Symbol, Wingdings).

The gaps in spread titles and labels of Chinese and Japanese texts are left out, too.
"""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from rag.types import ParsedDocument

# The first place at which Windows shows the signs of a symbol font.
_PRIVATE = 0xF000
_SYMBOL = {
    **{0x41 + place: letter for place, letter in enumerate("ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ")},
    **{0x61 + place: letter for place, letter in enumerate("αβχδεφγηιϕκλμνοπθρστυϖωξψζ")},
    **{0xA0 + place: letter for place, letter in enumerate("€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…")},
    **{0xC0 + place: letter for place, letter in enumerate("ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊⟨®©™∑")},
    **{0x22: "∀", 0x24: "∃", 0x27: "∋", 0x2A: "∗", 0x2D: "−", 0x40: "≅", 0x5C: "∴", 0x5E: "⊥", 0x7E: "∼"},
    **{0xF1: "⟩", 0xF2: "∫"},
}
_WINGDINGS = {
    **{0x28: "☎", 0x2A: "✉", 0x46: "☞", 0x4A: "☺", 0x6C: "●", 0x6E: "■", 0x6F: "☐", 0x70: "☐", 0x71: "☐", 0x72: "☐"},
    **{0x75: "◆", 0x76: "❖", 0x9F: "•", 0xA1: "○", 0xA7: "▪", 0xA8: "☐", 0xD8: "➢", 0xDC: "➲", 0xE0: "→", 0xE8: "→"},
    **{0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"},
}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}
# What a sign means of which the font is not known: the letters of Symbol in formulas, bullets and boxes of Wingdings.
_PROBABLE = {
    **{place: _SYMBOL[place] for place in (*b"abcdefghijkmxyzDSW", *range(0xA2, 0xA7), *range(0xAB, 0xBD), *b"-")},
    **{place: _SYMBOL[place] for place in (0xC5, 0xCE, 0xD1, 0xD6, 0xDE, 0xE5, 0xF2)},
    **{place: _WINGDINGS[place] for place in (0x6C, 0x6E, 0x6F, 0x71, 0x76, 0x9F, 0xA7, 0xA8, 0xD8, 0xE0, 0xE8)},
    **{place: _WINGDINGS[place] for place in (0xFB, 0xFC, 0xFD, 0xFE)},
    0x20: " ",
}
_LETTERS = {
    **dict(zip("ﬀﬁﬂﬃﬄﬅﬆ", ("ff", "fi", "fl", "ffi", "ffl", "st", "st"), strict=True)),
    "\u00ad": "",  # where a word may be divided
    **dict.fromkeys("\u2010\u2011", "-"),  # the hyphen of some fonts, and one at which no line ends
    **{chr(_PRIVATE + place): letter for place, letter in _PROBABLE.items()},
}
# Japanese and Chinese titles are spread: "契　約　書", "第　３　条", and so are labels at the start of a line or in a
# cell: "日　時　　４月２０日". Days of a week and numbers are rather cells.
_SPACE, _IDEOGRAPH = "[ \u3000]{1,8}", "[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff々]"
_START, _END = r"(?:(?<![^\n])|(?<=\| ))", r"(?:(?![^\n])|(?= \|))"
_SPREAD = (
    rf"{_START}(?:\#{{1,6}} )?{_IDEOGRAPH}(?:{_SPACE}{_IDEOGRAPH}){{1,20}}{_END}"
    rf"|{_START}{_IDEOGRAPH}(?:{_SPACE}{_IDEOGRAPH}){{1,3}}(?=[:：]|{_SPACE}[^\s|]{{2}})"
    rf"|第{_SPACE}[0-9０-９一二三四五六七八九十百]{{1,5}}{_SPACE}[条條章節节款項项編编]"
)
_CELLS = frozenset("月火水木金土日一二三四五六七八九十上中下前後男女東西南北大小春夏秋冬甲乙丙丁計")
_EDIT = re.compile(rf"[{''.join(map(re.escape, _LETTERS))}]|{_SPREAD}")
_HEADING = re.compile(r"#{1,6} ")
_GAP = re.compile(_SPACE)


def letter_of_symbol(code: int, font: str) -> str:
    """Return what a sign of a symbol font means; empty if it is not known.

    Args:
        code: The number of the sign, also in the private places of Unicode.
        font: The name of the font.
    """
    letters = next((letters for name, letters in _FONTS.items() if font.lower().startswith(name)), {})
    return letters.get(code - _PRIVATE if code >= _PRIVATE else code, "")


def write_letters(text: str) -> str:
    """Return a text with letters instead of the signs, and without the gaps of spread titles."""
    return _EDIT.sub(_edit, text)


def with_letters(parsed: ParsedDocument) -> ParsedDocument:
    """Return a document with letters instead of the signs, in its text and in all titles."""
    parsed = replace(parsed, title=write_letters(parsed.title))
    text = write_letters(parsed.text)
    if text == parsed.text:
        return parsed
    moved = _moves(parsed.text)
    headings = [
        replace(heading, start=moved(heading.start), title=write_letters(heading.title)) for heading in parsed.headings
    ]
    boxes = [replace(box, start=moved(box.start), end=moved(box.end)) for box in parsed.line_boxes]
    pages = [replace(page, start=moved(page.start)) for page in parsed.pages]
    return replace(parsed, text=text, headings=tuple(headings), line_boxes=tuple(boxes), pages=tuple(pages))


def _edit(part: re.Match[str]) -> str:
    if part[0] in _LETTERS:
        return _LETTERS[part[0]]
    mark = _HEADING.match(part[0])
    start = mark.end() if mark else 0
    title = _GAP.sub("", part[0][start:])
    return part[0] if _CELLS.issuperset(title) else part[0][:start] + title


def _moves(text: str) -> Callable[[int], int]:
    """Return a function from an offset in a text to that in the text with letters."""
    edits = list(_EDIT.finditer(text))
    starts = [edit.start() for edit in edits]
    added = [0, *accumulate(len(_edit(edit)) - len(edit[0]) for edit in edits)]
    return lambda offset: offset + added[bisect_left(starts, offset)]
