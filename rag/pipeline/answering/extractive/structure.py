"""The parts of a passage that an answer can be made of, and what each of them needs to be understood alone."""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.text.dependent_sentences import depends_on_predecessor
from rag.text.units import TextUnit, UnitKind, split_units
from rag.text.words import stems
from rag.types import Passage

QUESTION_ENDINGS = ("?", "？", "؟")
LEAD_IN_ENDINGS = (":", "：")
_SENTENCE_ENDINGS = (*".!。！…)]}\"'”’»`*_", *QUESTION_ENDINGS, *LEAD_IN_ENDINGS)
_ITEM_START = re.compile(r"(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s")
_CODE_BORDER = re.compile(r"(?:```|~~~)")
# A line of its own without a full stop is a heading in a plain text if it is this short.
_MAX_TITLE_CHARACTERS, _MAX_TITLE_WORDS = 60, 8
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_]+\1:?")
# A sentence is preceded by at most so many others that it needs.
_MAX_PREDECESSORS = 2
# A whole list, table or code block follows its lead-in if it is this long. Of a longer one the beginning follows.
_MAX_BLOCK_CHARACTERS, _MAX_BLOCK_PARTS = 1_200, 10


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


class PassageStructure:
    """The parts of a passage, in reading order."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        units = split_units(passage.text, passage.lang)
        self.parts = _mark_cut(passage.text, _mark_titles(passage.text, _join_units(passage.text, units)))
        self._headers = _find_headers(units)
        # The indexes of the first and the last part of each block.
        self._first = {part.block: index for index, part in reversed(list(enumerate(self.parts)))}
        self._last = {part.block: index for index, part in enumerate(self.parts)}

    @functools.cached_property
    def title_stems(self) -> frozenset[str]:
        """The stems of the document's title."""
        return frozenset(stems(self.passage.title, self.passage.lang))

    def text(self, index: int) -> str:
        """Return the text of a part."""
        part = self.parts[index]
        return self.passage.text[part.start : part.end]

    def is_answer(self, index: int) -> bool:
        """Return whether a part can be quoted: not a heading, a question, a table's header or a cut part."""
        part, text = self.parts[index], self.text(index)
        if part.kind is UnitKind.HEADING or not part.is_whole or self._is_header(part):
            return False
        return not text.endswith((*QUESTION_ENDINGS, *LEAD_IN_ENDINGS)) or (
            text.endswith(LEAD_IN_ENDINGS) and bool(self._following_block(index))
        )

    def heading_index(self, index: int) -> int | None:
        """Return the nearest heading or question above a part within the passage."""
        for above in range(index - 1, -1, -1):
            if self.is_heading(above):
                return above
        return None

    def is_heading(self, index: int) -> bool:
        """Return whether a part is a heading, or a question on a line of its own."""
        part = self.parts[index]
        if part.kind is UnitKind.HEADING:
            return True
        is_alone = self._first[part.block] == self._last[part.block]
        return is_alone and part.kind is UnitKind.SENTENCE and self.text(index).endswith(QUESTION_ENDINGS)

    def section_start(self, heading: int, max_characters: int) -> list[int]:
        """Return the parts of the first block below a heading, as many as fit but at least one; empty if none."""
        first = heading + 1
        if first >= len(self.parts) or self.is_heading(first) or not self.is_answer(first):
            return []
        selected: list[int] = []
        for index in range(first, len(self.parts)):
            part = self.parts[index]
            is_too_long = part.end - self.parts[first].start > max_characters
            if part.block != self.parts[first].block or not part.is_whole or (selected and is_too_long):
                break
            if not self._is_header(part):
                selected.append(index)
        return selected

    def complete(self, index: int) -> set[int]:
        """Return a part together with the parts that it needs: what its pronoun stands for, its lead-in, its list."""
        needed = {index}
        part = self.parts[index]
        if part.kind is UnitKind.SENTENCE:
            return needed | self._predecessors(index) | self._following_block(index)
        lead_in = self.lead_in(index)
        if lead_in is not None:
            needed |= {lead_in} | self._predecessors(lead_in)
        if part.kind is UnitKind.ITEM and lead_in is not None:
            whole_list = range(self._first[part.block], self._last[part.block] + 1)
            if len(whole_list) <= _MAX_BLOCK_PARTS and self._length(whole_list) <= _MAX_BLOCK_CHARACTERS / 2:
                needed |= set(whole_list)
        return needed

    def lead_in(self, index: int) -> int | None:
        """Return the sentence that introduces the list, table or code block of a part; None if there is none."""
        first = self._first[self.parts[index].block]
        if not first or self.parts[first - 1].kind is not UnitKind.SENTENCE or not self.parts[first - 1].is_whole:
            return None
        is_code = self.parts[index].kind is UnitKind.CODE
        return first - 1 if is_code or self.text(first - 1).endswith(LEAD_IN_ENDINGS) else None

    def needs_missing_part(self, index: int) -> bool:
        """Return whether a sentence begins with a word whose meaning is not in the passage."""
        is_sentence = self.parts[index].kind is UnitKind.SENTENCE
        return is_sentence and index == 0 and depends_on_predecessor(self.text(index), self.passage.lang)

    def header_cells(self, index: int) -> list[str]:
        """Return the names of the columns of a row's table; empty if the passage does not have them."""
        header = self._headers.get(self.parts[index].block)
        return split_cells(self.passage.text[header.start : header.end]) if header else []

    def _is_header(self, part: Part) -> bool:
        header = self._headers.get(part.block)
        return header is not None and header.start == part.start

    def _predecessors(self, index: int) -> set[int]:
        """Return the sentences before a sentence that say what its first word stands for."""
        needed: set[int] = set()
        while len(needed) < _MAX_PREDECESSORS and depends_on_predecessor(self.text(index), self.passage.lang):
            index -= 1
            if index < 0 or self.parts[index].kind is not UnitKind.SENTENCE or not self.parts[index].is_whole:
                break
            if self.is_heading(index):
                break
            needed.add(index)
        return needed

    def _following_block(self, index: int) -> set[int]:
        """Return the parts of the list, table or code that a lead-in introduces, or as many as are quoted."""
        first = index + 1
        if not self.text(index).endswith(LEAD_IN_ENDINGS) or first >= len(self.parts):
            return set()
        if self.parts[first].kind not in (UnitKind.ITEM, UnitKind.ROW, UnitKind.CODE):
            return set()
        following: list[int] = []
        for number in range(first, len(self.parts)):
            part = self.parts[number]
            if part.block != self.parts[first].block or not part.is_whole:
                break
            if not self._is_header(part):
                following.append(number)
            if len(following) > _MAX_BLOCK_PARTS or self._length(following) > _MAX_BLOCK_CHARACTERS:
                following.pop()
                break
        return set(following)

    def _length(self, indexes: Sequence[int]) -> int:
        return sum(self.parts[index].end - self.parts[index].start for index in indexes)


def split_cells(row: str) -> list[str]:
    """Return the cells of a table's row, separated by bars or tabs."""
    if "|" not in row:
        return [cell.strip() for cell in row.split("\t")]
    inner = row.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]


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
            and (bool(_BOLD_LINE.fullmatch(line)) or _is_title(line))
        )
        marked.append(Part(UnitKind.HEADING, part.start, part.end, part.block) if is_title else part)
    return marked


def _is_title(line: str) -> bool:
    is_short = len(line) <= _MAX_TITLE_CHARACTERS and len(line.split()) <= _MAX_TITLE_WORDS and "\n" not in line
    return is_short and line[0].isupper() and line[-1].isalnum() and ":" not in line


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
            is_cut = starts_within or (ends_within and not line.endswith(_SENTENCE_ENDINGS) and line[-1] in ",;-–")
        if is_cut:
            parts[index] = Part(part.kind, part.start, part.end, part.block, is_whole=False)
    return parts


def _begins_sentence(text: str) -> bool:
    return not text[0].islower() and text[0] not in ",;.)]}|"


def _find_headers(units: Sequence[TextUnit]) -> dict[int, TextUnit]:
    """Return the header of each table by its block: the row above a rule, or the first of rows separated by tabs."""
    headers: dict[int, TextUnit] = {}
    for unit, following in pairwise(units):
        if unit.kind is UnitKind.ROW and following.kind is UnitKind.RULE and following.block == unit.block:
            headers.setdefault(unit.block, unit)
    return headers
