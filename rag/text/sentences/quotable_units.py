"""Splits a text into units that can be quoted: sentences, list items, table rows and lines of code, with offsets."""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.text.markup import html_tags, pictures, plain_structure
from rag.text.markup.aligned_columns import find_aligned_rows
from rag.text.markup.titles.faq_questions import find_question_lines
from rag.text.markup.titles.mail_headers import find_mail_headers

from .block_marks import find_block_marks
from .split_sentences import quotable_sentence_spans
from .unspaced_scripts import UNSPACED_RUN


class UnitKind(enum.Enum):
    """The kind of a unit.

    PICTURE is for lines that have nothing but pictures.
    TERM is what a definition below it explains, or an option. RULE is for code fences, horizontal rules, front matter,
    marks of notes and the line below a header.
    """

    SENTENCE = "sentence"
    ITEM = "item"
    ROW = "row"
    CODE = "code"
    HEADING = "heading"
    TERM = "term"
    PICTURE = "picture"
    RULE = "rule"


@dataclass(frozen=True, slots=True)
class TextUnit:
    """A unit of a text, without surrounding white space.

    Attributes:
        start: The unit's first character, as an offset in the text.
        end: The end of the unit, as an offset in the text, exclusive.
        block: The number of the block. Units of the same paragraph, list, table or code block have the same number.
    """

    kind: UnitKind
    start: int
    end: int
    block: int


@dataclass(frozen=True, slots=True)
class _Line:
    kind: UnitKind
    start: int
    end: int
    is_clause: bool = False

    @property
    def length(self) -> int:
        return self.end - self.start


# "Decision: ...", "Summer (May to July): ...": each such line of a form, a letter or of minutes is on its own.
LABEL = re.compile(r"[^\W\d_][\w-]*(?: [\w-]+){0,2}(?: \([^()\n]{1,40}\))?(?::\s+|：\s*)\S")
# "3.1 The tenant pays the rent.": a clause of a contract, on its own like a paragraph.
_CLAUSE = re.compile(r"\d{1,2}(?:\.\d{1,2}){1,3}\.?\s+[^\W\d_a-z]")
_RULE = re.compile(r"[-=*_~`|:+ \t]+|([\^\"'.#])\1{2,}")
# The first line of a note in Markdown for MkDocs, for GitHub and for Docusaurus: `!!! note "Title"`, `> [!NOTE]`,
# `:::note Title`; the title of a tab in MkDocs: `=== "Linux"`; and a directive of reStructuredText: `.. note::`.
_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?) \w+|> ?\[!\w+\]$|:::|===[!+]? \"|\.\. [\w-]+::(?: [\w-]+)?$")
# A command of a plain text, with what it prints: these lines and those below, up to an empty one.
_COMMAND = re.compile(r"\$ \S")
# Markdown's headings, and those of wikis: `== Title ==`.
_HEADING = re.compile(r"#{1,6}\s|(?P<marks>=(?: ?=){0,5}) ?[^=\s][^=]{0,200}(?P=marks)$")
# What an item of a list begins with: "-", "1.", "a)", "(iv)".
ITEM_MARK = r"(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{2,5}|[IVX]{2,5})[.)])"
# No space is behind marks of Chinese and Japanese lists: "・", "①", "（1）", "（一）", "1、".
_WIDE_MARK = r"(?:[・●○■◆①-⑳]|（(?:\d{1,2}|[一二三四五六七八九十]{1,3})）|(?:\d{1,2}|[一二三四五六七八九十]{1,3})、)"
_ITEM = re.compile(rf"{ITEM_MARK}\s+\S|{_WIDE_MARK}\s*\S")
# A word between bars within a sentence is not a cell: reStructuredText marks replaced texts like this.
# A row of a CSV file has the names of its columns: "fee: visa | amount: 5 €".
_ROW = re.compile(
    r"\||(?![^|]*\s\|[^\s|](?:[^|]*[^\s|])?\|)[^|]*\|[^|]*\||[^\t]*\S\t+\S|[^|:]{1,80}: [^|]+ \| [^|:]{1,80}: [^|]+$"
)
_CODE = re.compile(
    r"(?:def|class|import|return|async|elif|except|function|const|let|var|public|private|protected|static|func|fn|pub"
    r"|package|struct|enum|interface)\s+\S.*[:;{(),]?$|from \S+ import |(?:else|try|finally):$|@\w+|//|/\*|\*/|#include"
    r"|[\])}]++[;,)]*+$|[\w.\[\]\"']+\s*[-+*/|&]?=\s*\S|[\w.]+\(.*\)?[;{:,]?$"
)
_CODE_END = re.compile(r"[{;]$|^\S.*\):$")
# If more than this share of the lines look like code, the text is code, and `#` starts a comment instead of a heading.
_MIN_CODE_SHARE = 0.5
# A line was wrapped if the next word did not fit into this share of the widest line.
_FULL_WIDTH_SHARE = 0.85
# Shorter lines count as wrapped only if the next one starts with a small letter, and very short ones never.
_MIN_WRAPPED_CHARACTERS = 45
_MIN_CONTINUED_CHARACTERS = 20
# Chinese and Japanese letters are twice as wide, and a line may end within a word.
_MIN_WIDE_CHARACTERS = 25
_LINE_ENDINGS = ".!?:;。！？：；"


def split_units(text: str, lang: str = "") -> list[TextUnit]:
    """Split a text into units.

    Wrapped lines of a paragraph or list item are joined before sentences are split. The marker of a list item stays
    with the item's first sentence. A table row and a line of code are one unit each, even with several sentences.

    Args:
        text: Plain text, Markdown or source code.
        lang: The text's language, as documents declare it; empty for English.

    Returns:
        Units in reading order. Together they cover everything except white space and footnote marks such as [3] after
        a sentence.
    """
    units: list[TextUnit] = []
    for block, lines in enumerate(_blocks(_classify_lines(text))):
        if lines[0].kind in (UnitKind.SENTENCE, UnitKind.ITEM):
            for first, last in _join_wrapped(text, lines):
                spans = quotable_sentence_spans(text, first.start, last.end, lang)
                units += [TextUnit(first.kind, start, end, block) for start, end in spans]
        else:
            units += [TextUnit(line.kind, line.start, line.end, block) for line in lines]
    return units


def _classify_lines(text: str) -> list[_Line | None]:
    """Return the kind and offsets of each line; None for an empty line."""
    spans = []
    offset = 0
    for line in text.splitlines(keepends=True):
        start = offset + len(line) - len(line.lstrip())
        spans.append((start, max(start, offset + len(line.rstrip()))))
        offset += len(line)
    stripped_lines = [text[start + plain_structure.mark_length(text[start:end]) : end] for start, end in spans]
    looks_like_code = [_looks_like_code(line) for line in stripped_lines]
    marks = find_block_marks(stripped_lines)
    # If there are marks, they say what is code.
    is_code = not marks.code and sum(looks_like_code) > _MIN_CODE_SHARE * sum(map(bool, stripped_lines))
    is_fenced = marks.starts_in_code
    whole_lines = text.splitlines()
    literal_lines, terms = plain_structure.find_literal_lines(whole_lines), plain_structure.find_terms(whole_lines)
    front_matter, comments = plain_structure.front_matter_lines(whole_lines), plain_structure.find_comments(whole_lines)
    aligned_rows, faq_questions = find_aligned_rows(whole_lines), find_question_lines(whole_lines)
    subject_lines = {header.subject_line for header in find_mail_headers(whole_lines)}
    classified: list[_Line | None] = []
    is_command = is_preformatted = False
    rows = zip(spans, stripped_lines, looks_like_code, strict=True)
    for number, ((start, end), line, is_code_line) in enumerate(rows):
        if not line:  # a text may have thousands of them
            classified.append(None)
            is_command = False
            continue
        is_command = is_command or bool(_COMMAND.match(line))
        if number < front_matter or (number in comments and not is_fenced):
            kind = UnitKind.RULE
        elif number in marks.code:
            is_fenced, is_command = not is_fenced, False
            kind = UnitKind.RULE
        elif number in marks.text:
            kind = UnitKind.RULE
        elif is_fenced or is_command or number in literal_lines or (is_code_line and is_code):
            kind = UnitKind.CODE
        elif is_preformatted or html_tags.begins_code(line):
            kind, is_preformatted = UnitKind.CODE, not html_tags.ends_code(line)
        elif plain_structure.is_underlined(whole_lines, number):
            kind = UnitKind.HEADING
        else:
            kind = _kind(line, is_code)
            if kind is UnitKind.SENTENCE and (number in faq_questions or number in subject_lines):
                kind = UnitKind.HEADING
            elif kind is UnitKind.SENTENCE and number in aligned_rows:
                kind = UnitKind.ROW
            elif kind is UnitKind.SENTENCE and number in terms:
                kind = UnitKind.HEADING if plain_structure.is_capital_heading(line) else UnitKind.TERM
        is_clause = kind is UnitKind.SENTENCE and bool(_CLAUSE.match(line))
        # In code, what looks like the mark of a note or of a definition belongs to it.
        classified.append(_Line(kind, start if kind is UnitKind.CODE else end - len(line), end, is_clause))
    return classified


def _looks_like_code(line: str) -> bool:
    """Return whether a line looks like one of source code. Items of a list often end with a semicolon, too."""
    return bool(_CODE.match(line) or (_CODE_END.search(line[-200:]) and not _ITEM.match(line)))


def _kind(line: str, is_code: bool) -> UnitKind:
    if (
        _RULE.fullmatch(line)
        or _ADMONITION.match(line)
        or html_tags.is_only_tags(line)
        or plain_structure.is_markup(line)
    ):
        return UnitKind.RULE
    if pictures.is_only_pictures(line):
        return UnitKind.PICTURE
    if line.startswith("#"):
        return UnitKind.CODE if is_code else UnitKind.HEADING if _HEADING.match(line) else UnitKind.SENTENCE
    if (line.startswith("=") and _HEADING.match(line)) or html_tags.is_html_heading(line):
        return UnitKind.HEADING
    if _ROW.match(line):
        return UnitKind.ROW
    return UnitKind.ITEM if _ITEM.match(line) else UnitKind.SENTENCE


def _blocks(lines: list[_Line | None]) -> Iterator[list[_Line]]:
    """Group consecutive lines of one kind. Empty lines separate blocks, and numbered clauses begin new ones."""
    block: list[_Line] = []
    for line in lines:
        if block and (line is None or line.is_clause or not _belongs_to(block, line)):
            yield block
            block = []
        if line:
            block.append(line)
    if block:
        yield block


def _belongs_to(block: list[_Line], line: _Line) -> bool:
    previous = block[-1].kind
    is_continued_item = block[0].kind is UnitKind.ITEM and line.kind in (UnitKind.SENTENCE, UnitKind.PICTURE)
    is_table = {line.kind, previous} == {UnitKind.ROW, UnitKind.RULE}  # the rule below a table's header
    return line.kind is previous or is_continued_item or is_table


def _join_wrapped(text: str, lines: list[_Line]) -> Iterator[tuple[_Line, _Line]]:
    """Yield the first and last line of each paragraph or list item."""
    max_width = max(line.length for line in lines)
    first = lines[0]
    for line, following in zip(lines, [*lines[1:], None], strict=True):
        if following is None:
            yield first, line
        elif following.kind is UnitKind.ITEM or not _is_wrapped(text, line, following, max_width):
            yield first, line
            first = following


def _is_wrapped(text: str, line: _Line, following: _Line, max_width: int) -> bool:
    """Return whether the sentence continues on the following line."""
    is_beginning = text[following.start].isalpha() and not text[following.start].islower()
    if is_beginning and LABEL.match(text, following.start, following.end):
        is_label = LABEL.match(text, line.start, line.end) or text[line.end - 1] in _LINE_ENDINGS
        return not is_label and _is_full(text, line, following, max_width)
    if line.length >= _MIN_CONTINUED_CHARACTERS and text[following.start].islower():
        return True
    if text.rfind("[", line.start, line.end) > text.rfind("]", line.start, line.end):  # within the text of a link
        return True
    # A link or code did not fit into the line, however short its first word is.
    if text[following.start] in "[`" and (text[line.end - 1].isalpha() or text[line.end - 1] == ","):
        is_deeper = _indentation(text, following) > _indentation(text, line)
        if is_deeper or line.length >= _MIN_CONTINUED_CHARACTERS:
            return True
    return _is_full(text, line, following, max_width)


def _indentation(text: str, line: _Line) -> int:
    return line.start - text.rfind("\n", 0, line.start)


def _is_full(text: str, line: _Line, following: _Line, max_width: int) -> bool:
    """Return whether the first word of the following line did not fit into a line."""
    is_wide = text[line.end - 1] in "、，" or bool(UNSPACED_RUN.match(text, line.end - 1))
    if is_wide and UNSPACED_RUN.match(text, following.start):
        return line.length >= _MIN_WIDE_CHARACTERS and line.length + 1 > _FULL_WIDTH_SHARE * max_width
    next_word = text[following.start : min(following.end, following.start + 50)].split(None, 1)[0]
    width_with_next_word = line.length + 1 + len(next_word)
    return line.length >= _MIN_WRAPPED_CHARACTERS and width_with_next_word > _FULL_WIDTH_SHARE * max_width
