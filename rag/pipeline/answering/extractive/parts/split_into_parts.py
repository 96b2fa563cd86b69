"""Splits a passage into parts: joins the units that belong together, and marks titles and cut parts."""

import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from rag.text.markup import pictures
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.text.sentences.quotable_units import ITEM_MARK, TextUnit, UnitKind, split_units

from .pointing_sentences import is_pointer
from .tables import find_headers, join_continued_rows, join_grid_rows
from .tables_of_contents import without_contents

_COLONS = (":", "：")
SENTENCE_ENDINGS = (*".!。！…)]}\"'”’»`*_", *QUESTION_ENDINGS, *_COLONS)
# "Name: ________", but not "Coffee ........ 3 euros".
_EMPTY_FIELD = re.compile(r"(?<!\w)_{4,}|[:：][ \t]?(?:\.{6,}|…{3,})\s*$")
_ITEM_START = re.compile(rf"{ITEM_MARK}\s")
_CODE_BORDER = re.compile(r"(?:```|(?<!~)~~~(?!~))")
# A line of its own without a full stop is a heading in a plain text if it is this short.
_MAX_TITLE_CHARACTERS, _MAX_TITLE_WORDS = 80, 12
# "2. Figures of the quarter": a numbered title, unless it ends as a sentence does.
_LINE_NUMBER = re.compile(r"(\d{1,3})[.)]\s")
_NUMBERED_TITLE = re.compile(r"(?:\d{1,2}\.){1,3}(?:\d{1,2})?\s+[^\W\d_a-z][^\n]*[^\W_]")
# "8.1. Powers", "Chapter 2. Tea", "§ 7 Notice", "2 – Services". "Article 2 – services" begins with a capital anyway.
_TITLE_NUMBER = re.compile(r"\A(?:§\s?|(?:chapter|section)\s)?(?:\d{1,3}\.)*\d{1,3}\.?\s+(?:[–—-]\s+)?", re.IGNORECASE)
# "**It does not start.** Check the cable.": a title that its paragraph begins with.
_RUN_IN_TITLE = re.compile(r"(\*\*|__)[^*_]+[.!?:]\1")
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_]+\1:?")
# Fewer questions at the beginnings of lines may be rhetorical.
_MIN_LISTED_QUESTIONS = 3
# An item that is nothing but a link within the documents, as in a table of contents.
_NAVIGATION = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+\[[^\[\]]{1,200}\]\((?!https?://)[^()\s]{0,300}\)")
# The mark of a quotation, or a remark in brackets such as "(Version 2 or later)", unless it is a sentence.
_NO_TEXT = re.compile(r"\s*(?:>\s*)*(?:\([^()]{0,40}(?<![.!?])\)\s*)*")


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence, list item, table row, code block or heading of a passage.

    Attributes:
        start: Character offset in the passage's text.
        end: Character offset of the part's end in the passage's text, exclusive.
        block: The number of the block. Parts of the same paragraph, list or table have the same number.
        is_whole: Whether the passage has all of the part. Its first or last part may be cut.
    """

    kind: UnitKind
    start: int
    end: int
    block: int
    is_whole: bool = True


@functools.lru_cache(maxsize=256)  # some passages answer many questions
def split_parts(text: str, lang: str) -> tuple[Sequence[Part], Mapping[int, TextUnit]]:
    """Return the parts of a text, in reading order, and the header of each table by the number of its block."""
    units = join_continued_rows(text, without_contents(text, split_units(text, lang)))
    units = join_grid_rows(text, units)
    parts = _mark_listed_questions(text, _mark_numbered_titles(text, _mark_titles(text, _join_units(text, units))))
    return tuple(_mark_cut(text, parts)), find_headers(text, units)


def ends_with_colon(text: str) -> bool:
    """Return whether a text ends with a colon, also before the marks of bold or italic text, so that more follows."""
    return text.rstrip("*_").endswith(_COLONS)


def says_nothing(kind: UnitKind, text: str) -> bool:
    """Return whether a part only says where to read on, or is a picture, a remark or a form's empty field."""
    return (
        kind is UnitKind.PICTURE
        or bool(_NO_TEXT.fullmatch(pictures.without_pictures(text)))
        or is_pointer(text)
        or (kind in (UnitKind.SENTENCE, UnitKind.ITEM) and bool(_EMPTY_FIELD.search(text)))
        or (kind is UnitKind.ITEM and bool(_NAVIGATION.fullmatch(text)))
    )


def _join_units(text: str, units: Sequence[TextUnit]) -> list[Part]:
    """Join the sentences of an item and the lines of a code block; leave out rules."""
    parts: list[Part] = []
    for number, unit in enumerate(units):
        if unit.kind is UnitKind.RULE:
            continue
        previous = parts[-1] if parts and parts[-1].block == unit.block else None
        is_same_item = unit.kind is UnitKind.ITEM and not _ITEM_START.match(text, unit.start)
        is_same_code = unit.kind is UnitKind.CODE and previous is not None and previous.kind is UnitKind.CODE
        if previous and (is_same_item or is_same_code):
            parts[-1] = Part(previous.kind, previous.start, unit.end, previous.block, previous.is_whole)
        elif unit.kind is UnitKind.CODE and number and units[number - 1].kind is UnitKind.CODE:  # after empty lines
            parts[-1] = Part(UnitKind.CODE, parts[-1].start, unit.end, parts[-1].block, parts[-1].is_whole)
        else:
            parts.append(Part(unit.kind, unit.start, unit.end, unit.block))
    return parts


def _mark_titles(text: str, parts: Sequence[Part]) -> list[Part]:
    """Return the parts, with the titles of plain texts as headings: short lines without a full stop above others."""
    sizes = Counter(part.block for part in parts)
    marked = []
    for index, part in enumerate(parts):
        is_last = index + 1 == len(parts)
        line = text[part.start : part.end]
        is_title = (
            part.kind is UnitKind.SENTENCE
            and sizes[part.block] == 1
            and not is_last
            and (bool(_BOLD_LINE.fullmatch(line)) or (_is_title(line) and parts[index + 1].kind is not UnitKind.CODE))
        ) or (not is_last and _is_title_above(text, part, parts[index - 1] if index else None, parts[index + 1]))
        marked.append(Part(UnitKind.HEADING, part.start, part.end, part.block) if is_title else part)
    return marked


def _mark_numbered_titles(text: str, parts: Sequence[Part]) -> list[Part]:
    """Return the parts, with the numbered lines next to a numbered question as headings: "5. It does not work."."""
    sizes = Counter(part.block for part in parts)
    lines: dict[tuple[int, int], int] = {}  # the part by its indentation and its number
    for index, part in enumerate(parts[:-1]):
        match = _LINE_NUMBER.match(text, part.start, part.end)
        is_above_text = sizes[part.block] == 1 and parts[index + 1].kind is not UnitKind.ITEM
        if part.kind is UnitKind.ITEM and match and is_above_text:
            lines[part.start - text.rfind("\n", 0, part.start), int(match[1])] = index
    titles = {place for place, index in lines.items() if text[: parts[index].end].endswith(QUESTION_ENDINGS)}
    pending = list(titles)
    while pending:
        indentation, number = pending.pop()
        neighbours = {(indentation, number - 1), (indentation, number + 1)} & lines.keys()
        pending += neighbours - titles
        titles |= neighbours
    headings = {lines[place] for place in titles}
    return [
        Part(UnitKind.HEADING, part.start, part.end, part.block) if index in headings else part
        for index, part in enumerate(parts)
    ]


def _mark_listed_questions(text: str, parts: Sequence[Part]) -> list[Part]:
    """Return the parts, with the questions of a paragraph as headings if several lines are one and its answer."""
    questions: dict[int, list[int]] = {}
    line_end = 0  # of the part before
    for index, (part, following) in enumerate(pairwise(parts)):
        begins_line = not index or "\n" in text[line_end : part.start]
        is_question = part.kind is UnitKind.SENTENCE and text[part.start : part.end].endswith(QUESTION_ENDINGS)
        if begins_line and is_question and following.block == part.block:
            questions.setdefault(part.block, []).append(index)
        line_end = part.end
    headings = {index for listed in questions.values() if len(listed) >= _MIN_LISTED_QUESTIONS for index in listed}
    return [replace(part, kind=UnitKind.HEADING) if index in headings else part for index, part in enumerate(parts)]


def _is_title_above(text: str, part: Part, previous: Part | None, following: Part) -> bool:
    """Return whether a part is the title of the following one: in bold at the beginning of its paragraph, or numbered.

    No item of a list has its text on lines below its own.
    """
    line = text[part.start : part.end]
    if following.kind is not UnitKind.SENTENCE:
        return False
    if part.kind is UnitKind.SENTENCE:
        is_first = previous is None or previous.block != part.block
        return is_first and part.block == following.block and bool(_RUN_IN_TITLE.fullmatch(line))
    is_numbered = part.kind is UnitKind.ITEM and bool(_NUMBERED_TITLE.fullmatch(line))
    return is_numbered and len(line) <= _MAX_TITLE_CHARACTERS and "\n" in text[part.end : following.start]


def _is_title(line: str) -> bool:
    line = _TITLE_NUMBER.sub("", line, count=1)
    is_short = len(line) <= _MAX_TITLE_CHARACTERS and len(line.split()) <= _MAX_TITLE_WORDS and "\n" not in line
    return is_short and line[:1].isupper() and line[-1:].isalnum() and ":" not in line


def _mark_cut(text: str, parts: list[Part]) -> list[Part]:
    """Mark the first and last part as cut where a sentence or a code block has no beginning or no end."""
    for index in {0, len(parts) - 1} if parts else set():
        part = parts[index]
        line = text[part.start : part.end]
        is_cut = False
        if part.kind is UnitKind.CODE:
            borders = len(_CODE_BORDER.findall(text[: part.start])), len(_CODE_BORDER.findall(text[part.end :]))
            is_cut = (borders[0] + borders[1]) % 2 == 1
        elif part.kind in (UnitKind.SENTENCE, UnitKind.ITEM):
            starts_within = index == 0 and part.kind is UnitKind.SENTENCE and not _begins_sentence(line)
            ends_within = index == len(parts) - 1 and len(line) > _MAX_TITLE_CHARACTERS
            is_cut = starts_within or (ends_within and not line.endswith(SENTENCE_ENDINGS) and line[-1] in ",;-–")
        if is_cut:
            parts[index] = Part(part.kind, part.start, part.end, part.block, is_whole=False)
    return parts


def _begins_sentence(text: str) -> bool:
    return not text[0].islower() and text[0] not in ",;.)]}|"
