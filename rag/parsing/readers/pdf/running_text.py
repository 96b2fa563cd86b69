"""The text of a page as Markdown, from the order in which its lines were written.

xberg goes by the places of letters only: it mixes columns, and divides words or puts them together.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .text_lines import SOFT_HYPHEN, TextLine

# In heights of a letter of the text.
_HEADING_HEIGHT, _TITLE_HEIGHT, _SAME_HEIGHT, _BOLD_HEIGHT, _COLORED_HEIGHT = 1.12, 1.5, 1.08, 0.9, 1.05
_INDENTATION, _WIDER_PITCH, _USUAL_PITCH = 0.8, 1.3, 1.35
_MAX_HEADING_CHARACTERS, _MAX_BOLD_CHARACTERS, _MAX_BOLD_LINES, _MAX_LEVEL = 200, 100, 3, 6
_MAX_HEADING_LINES = 6
# A heading that only its colour and a little larger type show is short.
_MAX_COLORED_CHARACTERS = 60
# How far apart two colours are in red, green or blue: black is (0, 0, 0) or (35, 31, 32), by its colour space.
_MIN_COLOR_DISTANCE = 40
# How many titles of a level may follow each other without text between them.
_MAX_TITLES = 4
# What a heading has at least: three letters, or two of a script without spaces, which may be spread.
_NAME = re.compile("[^\\W\\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af] ?[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_DIVIDED = re.compile(rf"(?<=(\w)){SOFT_HYPHEN}\s*(?=(\w?)(\w?))|{SOFT_HYPHEN}\s*")
# "Vereins- und Platzordnung": the hyphen stands for the rest of a word.
_AND = r"(?:and|or|und|oder|bzw|sowie|och|eller)\b"
_HYPHEN_AT_END = re.compile(rf"(?<=[^\W\d_]{{2}})-\n(?=[a-zà-ÿ])(?!{_AND})")
_BEFORE_AND = re.compile(_AND)
_AFTER_LETTER = re.compile(r"(?<![^\W_])([^\W\d_]-)\n(?=[^\W\d_])")
_ITEM = re.compile(
    r"(?:[•◦▪‣·●○■∙➢❖☐□☑☒–—*-]|[\ue000-\uf8ff]|\(?\d{1,2}[.)]|\(?(?:[a-z]{1,2}|[ivx]{3,4})\))\s+\S"
    # "a. The board", not "e. V."
    r"|(?:[a-z]|[ivx]{2,4})\.\s+[^\W\d_]{2}"
)
_SIGN = re.compile(r"(?:[•◦▪‣·●○■∙➢❖*–—-]|[\ue000-\uf8ff])\s")
# Fonts of signs have their bullets for private use.
_BULLET = re.compile(r"^(?:[•◦▪‣·●○■∙➢❖*]|[\ue000-\uf8ff])\s+")
_SENTENCE_END = re.compile(r"[.!?:;…。！？؟][\"'”’»)\]]*\s*$")
# What a line ends with before "(ii) the next item".
_BEFORE_ITEM = re.compile(r"(?:[.;:,]|\b(?:and|or|und|oder|et|ou|y|e|o))\s*$")
# A line that is as long as the next one goes on there.
_FULL_LINE = 0.85
# How much of a line's end is looked at.
_END_CHARACTERS = 10
# "Sports Club e. V.", "Example Ltd."
_ABBREVIATION = re.compile(r"(?:\b[^\W\d_]\. ?[^\W\d_]|\b(?:Inc|Ltd|Co|Corp|LLC))\.$")
# What may end with a colon: "2. Payment:", not a field such as "Name:".
_NUMBERED = re.compile(r"(?:§ ?)?\d{1,2}(?:\.\d{1,2}){0,3}[.)/]? |[A-Z][.)/] ")
# What a heading in the type of the text begins with.
_NUMBERED_TITLE = re.compile(
    r"(?:\d{1,2}[.)]|(?P<name>§|Art\.|Art[ií]c(?:le|ulo)|Articolo|Artigo|Artikel|Section|Abschnitt|Chapter|Kapitel)"
    r" ?\d{1,3}[.:]?)\s+[^\W\d_a-zß-öø-ÿ]"
)
_NO_TITLE_ENDS = (".", ";", ",", "?", "!", "-", "\ufffe")
_MAX_NUMBERED_CHARACTERS, _MAX_NUMBERED_SHARE, _MAX_TITLE_PITCH = 60, 0.75, 2.5
_MAX_WORDS_BEFORE_COLON, _SIMILAR_HEIGHT = 3, 1.15
# What begins a heading right below another one.
_MARKED = re.compile(r"(?:\d{1,2}[.)/]|\d{1,2}(?:\.\d{1,2}){1,3}[.)]?|[A-Z][.)/]) *[^\W\d_]{2}")
# "Article 4. Fees.", "§ 3 Members.": such a title may end with a full stop, and be the last line of its page.
_SECTION = re.compile(
    r"(?:§ ?|[^\W\d_]{3,10}\.? )(?:\d{1,3}|[IVXLC]{1,7})[º°ª]?(?:\.\d{1,3}){0,3} ?[.:)–-]{0,2}(?: |$)"
)
_STATEMENT_END = re.compile(r"[.;,。，；]\s*$")
_SYNTAX = re.compile(r"([\\*_`])")
_LINE_SYNTAX = re.compile(r"^(#{1,6}\s|>)")
_IDEOGRAPH = re.compile("[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef]")


@dataclass(frozen=True, slots=True)
class Styles:
    """What the sizes of letters mean in a document: that of its text, and those of its headings, the largest first."""

    text_height: float
    heading_heights: tuple[float, ...]
    is_bold_text: bool
    pitch: float
    text_color: tuple[int, int, int] | None = None


def find_styles(lines: Iterable[TextLine]) -> Styles:
    """Return the styles of a document from the lines of its pages."""
    lines = list(lines)
    characters = Counter[float]()
    for line in lines:
        characters[round(line.height * 2) / 2] += len(line.text)
    text_height = characters.most_common(1)[0][0] if characters else 1.0
    heights: list[float] = []
    for line in sorted(lines, key=lambda line: -line.height):
        is_larger = line.height >= _HEADING_HEIGHT * text_height and len(line.text) <= _MAX_HEADING_CHARACTERS
        if is_larger and (not heights or line.height * _SAME_HEIGHT < heights[-1]):
            heights.append(line.height)
    bold = sum(len(line.text) for line in lines if line.is_bold)
    colors = Counter[tuple[int, int, int] | None]()
    for line in lines:
        colors[line.color] += len(line.text)
    text_color = colors.most_common(1)[0][0] if colors else None
    pitches = [
        (previous.end - line.bottom) / line.height
        for previous, line in pairwise(lines)
        if _is_same_height(previous, line) and 0.8 < (previous.end - line.bottom) / line.height < 2.5
    ]
    pitch = statistics.median(pitches) if pitches else _USUAL_PITCH
    return Styles(text_height, tuple(heights), bold * 2 > sum(len(line.text) for line in lines), pitch, text_color)


def join_divided_words(text: str) -> str:
    """Return the text with the words joined that are divided at line ends."""
    joined = _DIVIDED.sub(
        _hyphen, text.replace("\r", "").replace("\u00ad\u2010", "")
    )  # a hyphen that is written three times
    return _join_lines(joined)


def _join_lines(text: str) -> str:
    return _HYPHEN_AT_END.sub("", _AFTER_LETTER.sub(r"\1", text))


def _hyphen(match: re.Match[str]) -> str:
    """Return what stays between the parts of a word: "E-Mail" and "e-mail" keep theirs, "MEETING" does not."""
    before, first, second = (letter or "" for letter in match.groups())
    if _BEFORE_AND.match(match.string, match.end()):
        return "- "
    is_capitals = before.isupper() and second.isupper()
    is_letter = bool(before) and not match.string[max(match.start() - 2, 0) : match.start() - 1].isalnum()
    return "-" if (first.isupper() and not is_capitals) or (first and is_letter) else ""


def as_markdown(lines: Sequence[TextLine], rows: frozenset[int], styles: Styles) -> str:
    """Return the text of a page as Markdown.

    Args:
        lines: The lines of the page.
        rows: The numbers of the lines that have wide gaps, as rows of a table have: they stay lines.
        styles: The styles of the document.
    """
    blocks: list[tuple[int, list[str]]] = []
    in_lists: set[int] = set()  # the numbers of the blocks that are an item right below another one
    line_counts = Counter[int]()  # the number of a block → how many lines follow its first one
    item: TextLine | None = None
    for number, line in enumerate(lines):
        is_in_item = item is not None and number > 0 and _is_in_item(item, lines[number - 1], line, styles)
        level = 0 if number in rows or is_in_item else _level(lines, number, rows, styles)
        text = _SYNTAX.sub(r"\\\1", join_divided_words(" ".join(line.text.split())))
        first = None if level else item
        continues = number > 0 and blocks and blocks[-1][0] == level and _continues(lines, number, rows, styles, first)
        if level and _MARKED.match(text):
            continues = False
        if continues:
            line_counts[len(blocks) - 1] += 1
            _append(
                blocks[-1][1],
                text,
                is_row=number in rows or number - 1 in rows or (line.is_fixed and lines[number - 1].is_fixed),
            )
        else:
            following = line if _ITEM.match(line.text.lstrip()) and line.start >= 0 else None
            if item and following and not level and _is_next_line(lines[number - 1], line, styles):
                in_lists.add(len(blocks))
            item = following
            blocks.append((level, [_BULLET.sub("- ", _LINE_SYNTAX.sub(r"\\\1", text))]))
    for block, (level, parts) in enumerate(blocks):
        if level and (line_counts[block] >= _MAX_HEADING_LINES or len(" ".join(parts)) > _MAX_HEADING_CHARACTERS):
            blocks[block] = (0, parts)  # a text in large type
    _demote_lists(blocks)
    texts = [f"{'#' * level} {' '.join(parts)}" if level else _join_lines("\n".join(parts)) for level, parts in blocks]
    separators = ["\n" if number in in_lists else "\n\n" for number in range(1, len(texts))]
    return "".join(part for pair in zip(["", *separators], texts, strict=False) for part in pair)


def _demote_lists(blocks: list[tuple[int, list[str]]]) -> None:
    """Make text of many titles of the same level that follow each other: names or dates in large type.

    The first one stays if it has no title above it, and so does the last one if text follows.
    """
    first = 0
    while first < len(blocks):
        level, following = blocks[first][0], first + 1
        while following < len(blocks) and blocks[following][0] == level:
            following += 1
        if level and following - first > _MAX_TITLES:
            is_below_title = first > 0 and blocks[first - 1][0] > 0
            for number in range(first + (not is_below_title), following - (following < len(blocks))):
                if not _MARKED.match(blocks[number][1][0]):
                    blocks[number] = (0, blocks[number][1])
        first = following


def _level(lines: Sequence[TextLine], number: int, rows: frozenset[int], styles: Styles) -> int:
    """Return the level of a line that is a heading; 0 for text."""
    line = lines[number]
    if len(line.text) > _MAX_HEADING_CHARACTERS or not _NAME.search(line.text) or _SIGN.match(line.text.lstrip()):
        return 0
    is_statement = _STATEMENT_END.search(line.text[-_END_CHARACTERS:]) and not _ABBREVIATION.search(line.text.rstrip())
    if line.height >= _HEADING_HEIGHT * styles.text_height:
        if line.height < _TITLE_HEIGHT * styles.text_height and (is_statement or _is_paragraph(lines, number, styles)):
            return 0
        places = enumerate(styles.heading_heights, 1)
        return min(next((place for place, height in places if line.height * _SAME_HEIGHT >= height), 1), _MAX_LEVEL)
    if _is_emphasized(line, styles):
        return min(len(styles.heading_heights) + 1, _MAX_LEVEL) if _is_bold_title(lines, number, rows, styles) else 0
    return min(len(styles.heading_heights) + 2, _MAX_LEVEL) if _is_numbered_title(lines, number, rows) else 0


def _is_numbered_title(lines: Sequence[TextLine], number: int, rows: frozenset[int]) -> bool:
    """Return whether a short line in the type of the text has a number, and text that is indented below it.

    A number alone may be that of an item: the line below is longer, so that it does not continue the item.
    """
    if number + 1 >= len(lines) or number + 1 in rows:
        return False
    line, below = lines[number], lines[number + 1]
    text, following = line.text.strip(), below.text.strip()
    title = _NUMBERED_TITLE.match(text)
    is_statement = text.endswith(_NO_TITLE_ENDS) or (text.endswith(":") and text.count(" ") > _MAX_WORDS_BEFORE_COLON)
    if not title or len(text) > _MAX_NUMBERED_CHARACTERS * (2 if title["name"] else 1) or is_statement:
        return False
    is_similar = 1 / _SIMILAR_HEIGHT < line.height / below.height < _SIMILAR_HEIGHT
    is_below = is_similar and 0.5 < (line.end - below.bottom) / line.height < _MAX_TITLE_PITCH
    is_indented = below.left - line.left > _INDENTATION * line.height and is_below
    is_sentence = following[:1].isupper() and not _NUMBERED_TITLE.match(following)
    if title["name"]:
        return is_indented and (is_sentence or bool(_BULLET.match(following)))
    return is_indented and is_sentence and len(text) <= _MAX_NUMBERED_SHARE * len(following)


def _is_paragraph(lines: Sequence[TextLine], number: int, styles: Styles) -> bool:
    """Return whether a line and those below it are the lines of a sentence."""
    last = number
    while last + 1 < min(len(lines), number + _MAX_HEADING_LINES) and _is_next_line(
        lines[last], lines[last + 1], styles
    ):
        last += 1
    text = lines[last].text
    return last > number and bool(_STATEMENT_END.search(text[-_END_CHARACTERS:])) and not _SECTION.match(text)


def _is_emphasized(line: TextLine, styles: Styles) -> bool:
    """Return whether a line is bold in a text that is not, or a little larger and in another colour."""
    if line.is_bold and not styles.is_bold_text:
        return line.height >= _BOLD_HEIGHT * styles.text_height
    if line.color is None or styles.text_color is None or line.height < _COLORED_HEIGHT * styles.text_height:
        return False
    return max(abs(a - b) for a, b in zip(line.color, styles.text_color, strict=True)) > _MIN_COLOR_DISTANCE


def _is_bold_title(lines: Sequence[TextLine], number: int, rows: frozenset[int], styles: Styles) -> bool:
    """Return whether a line belongs to a title of a few bold lines, with text below or beside it.

    This text is not bold, unless it is a row of a table.
    """
    first = last = number
    while first and number - first < _MAX_BOLD_LINES and _is_same_title(lines[first - 1], lines[first], styles):
        first -= 1
    while (
        last + 1 < len(lines)
        and last + 1 not in rows
        and last - number < _MAX_BOLD_LINES
        and _is_same_title(lines[last], lines[last + 1], styles)
    ):
        last += 1
    title = " ".join(line.text for line in lines[first : last + 1]).strip()
    above = lines[first - 1] if first else None
    is_section = bool(_SECTION.match(title))
    is_last = last + 1 == len(lines) and not (is_section or _NUMBERED.match(title))
    if is_last or last - first >= _MAX_BOLD_LINES or len(title) > _MAX_HEADING_CHARACTERS:
        return False
    if len(title) > _MAX_BOLD_CHARACTERS and first == last:
        return False
    if len(title) > _MAX_COLORED_CHARACTERS and not lines[number].is_bold:
        return False
    is_end = above and above.ends_bold and not above.is_bold and _is_next_line(above, lines[first], styles)
    is_statement = _STATEMENT_END.search(title[-_END_CHARACTERS:]) and not _ABBREVIATION.search(title)
    if is_end or (is_statement and not is_section):
        return False
    return not title.endswith(":") or bool(_NUMBERED.match(title))


def _is_same_title(line: TextLine, following: TextLine, styles: Styles) -> bool:
    """Return whether two lines are emphasized and on each other as the lines of a paragraph are."""
    is_title = _is_emphasized(line, styles) and _is_emphasized(following, styles)
    return is_title and not _MARKED.match(following.text.lstrip()) and _is_next_line(line, following, styles)


def _continues(
    lines: Sequence[TextLine], number: int, rows: frozenset[int], styles: Styles, first: TextLine | None
) -> bool:
    """Return whether a line continues the paragraph of the line before, or the item of a list that began at `first`."""
    previous, line = lines[number - 1], lines[number]
    pitch = (previous.end - line.bottom) / line.height
    if not _is_same_height(previous, line) or (_begins_item(previous, line) and not line.is_fixed):
        return False
    if previous.is_fixed and line.is_fixed:
        return 0.5 < pitch < 3
    if number in rows or number - 1 in rows:
        return number in rows and number - 1 in rows and 0.5 < pitch < 3
    if pitch < -1:  # the next column
        return not _ends_sentence(previous.text) and line.text.lstrip()[:1].islower()
    is_left = first is not None and line.left < first.left - _INDENTATION * line.height / 2
    if is_left and (_ends_sentence(previous.text) or len(previous.text) < _FULL_LINE * len(line.text)):
        return False  # a paragraph after a list
    is_indented = line.left - previous.left > _INDENTATION * line.height and _ends_sentence(previous.text)
    is_indented = is_indented and not line.text.lstrip()[:1].islower()
    return pitch < _WIDER_PITCH * styles.pitch and not is_indented


def _begins_item(previous: TextLine, line: TextLine) -> bool:
    """Return whether a line begins with the mark of an item, not with the number that a sentence goes on with."""
    mark = _ITEM.match(line.text.lstrip())
    if not mark or not mark.group().startswith("("):
        return bool(mark)
    return not mark.group()[-1].islower() or bool(_BEFORE_ITEM.search(previous.text[-_END_CHARACTERS:]))


def _is_in_item(item: TextLine, previous: TextLine, line: TextLine, styles: Styles) -> bool:
    """Return whether a line goes on below the letters of an item that began with a bullet."""
    is_below = abs(line.left - item.left) <= _INDENTATION * line.height and _is_next_line(previous, line, styles)
    return is_below and bool(_BULLET.match(item.text.lstrip()))


def _is_next_line(previous: TextLine, line: TextLine, styles: Styles) -> bool:
    """Return whether a line is as far below another one as the lines of a paragraph are."""
    pitch = (previous.end - line.bottom) / line.height
    return _is_same_height(previous, line) and 0.5 < pitch < _WIDER_PITCH * styles.pitch


def _ends_sentence(text: str) -> bool:
    return bool(_SENTENCE_END.search(text[-_END_CHARACTERS:]))


def _append(parts: list[str], text: str, *, is_row: bool) -> None:
    if is_row or (parts[-1].endswith("-") and parts[-1][-2:-1].isalpha()):
        parts.append(text)
    else:
        is_ideographic = _IDEOGRAPH.match(parts[-1][-1:]) and _IDEOGRAPH.match(text)
        parts[-1] += text if is_ideographic else f" {text}"


def _is_same_height(line: TextLine, other: TextLine) -> bool:
    return 1 / _SAME_HEIGHT < line.height / other.height < _SAME_HEIGHT
