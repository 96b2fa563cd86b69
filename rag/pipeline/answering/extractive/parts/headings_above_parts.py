"""The layout of a passage: its parts, and the headings and terms above them."""

import functools
import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from rag.text.markup import html_tags, references
from rag.text.markup.plain_structure import is_definition_mark
from rag.text.markup.titles.faq_questions import (
    MAX_QUESTION_LINES,
    QUESTION_ENDINGS,
    is_labelled_question,
    without_question_label,
)
from rag.text.markup.titles.mail_headers import find_mail_headers, subject_of
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import stems
from rag.types import Passage

from .quoted_mails import find_quoted_lines
from .split_into_parts import (
    SENTENCE_ENDINGS,
    Part,
    ends_with_colon,
    says_nothing,
    split_parts,
)
from .tables import split_cells

STEP = re.compile(r"\d{1,3}[.)]\s")
_TITLE = re.compile(r"# |= [^=]")
_SENTENCE_END = re.compile(r"[.!?؟][\"'”’)\]*_`]*(?=\s)")
# A very long sentence is cut between two words; a row or a code block is not.
_MAX_QUOTE_CHARACTERS = 600


class PassageLayout:
    """The parts of a passage, in reading order."""

    def __init__(self, passage: Passage, *, quotes_mail_headers: bool = False) -> None:
        """Split a passage into parts.

        Args:
            passage: The passage.
            quotes_mail_headers: Whether who wrote a mail to whom and when may be quoted. Otherwise its subject is a
                heading.
        """
        self.passage = passage
        self.parts, self._headers = split_parts(passage.text, passage.lang)
        self._quotes_mail_headers = quotes_mail_headers
        if quotes_mail_headers:
            self.parts = self._with_headers_as_paragraphs()
        # A backslash at the end of a line in Markdown only breaks it.
        self._texts = [passage.text[part.start : part.end].removesuffix("\\") for part in self.parts]
        # The indexes of the first and the last part of each block.
        self._first = {part.block: index for index, part in reversed(list(enumerate(self.parts)))}
        self._last = {part.block: index for index, part in enumerate(self.parts)}

    def is_step(self, index: int) -> bool:
        """Return whether a part is an item of a numbered list."""
        return self.parts[index].kind is UnitKind.ITEM and bool(STEP.match(self.text(index)))

    def is_step_or_code(self, index: int) -> bool:
        """Return whether a part is a step or a block of code."""
        return self.is_step(index) or self.parts[index].kind is UnitKind.CODE

    def is_lead_in(self, index: int) -> bool:
        """Return whether a part is a sentence that introduces what follows: "You need:"."""
        return self.parts[index].kind is UnitKind.SENTENCE and ends_with_colon(self.text(index))

    @functools.cached_property
    def is_restructured(self) -> bool:
        """Whether the passage is written in reStructuredText."""
        return references.is_restructured(self.passage.text)

    @functools.cached_property
    def title_stems(self) -> frozenset[str]:
        """The stems of the document's title."""
        return frozenset(stems(self.passage.title, self.passage.lang))

    def text(self, index: int) -> str:
        """Return the text of a part."""
        return self._texts[index]

    def length(self, index: int) -> int:
        """Return how many characters of a part are quoted."""
        part = self.parts[index]
        is_cut = part.kind not in (UnitKind.ROW, UnitKind.CODE)
        return min(_MAX_QUOTE_CHARACTERS, part.end - part.start) if is_cut else part.end - part.start

    def quote_end(self, index: int) -> int:
        """Return where the quote of a part ends."""
        part, text = self.parts[index], self.passage.text
        max_end = part.start + _MAX_QUOTE_CHARACTERS
        if part.end <= max_end or part.kind in (UnitKind.ROW, UnitKind.CODE):
            return part.end
        shortened = text[part.start : max_end]
        sentence_end = max((match.end() for match in _SENTENCE_END.finditer(shortened)), default=0)
        if sentence_end > _MAX_QUOTE_CHARACTERS / 2:
            return part.start + sentence_end
        return part.start + (len(shortened.rsplit(None, 1)[0]) or _MAX_QUOTE_CHARACTERS)

    def block_of(self, index: int) -> range:
        """Return the indexes of the parts of the same paragraph, list or table."""
        block = self.parts[index].block
        return range(self._first[block], self._last[block] + 1)

    def visible_text(self, index: int) -> str:
        """Return the text of a part without tags and attributes, and without labels such as `Q:` and `Subject:`."""
        is_heading, text = self.parts[index].kind is UnitKind.HEADING, self.text(index)
        text = html_tags.remove_tags(html_tags.remove_heading_attributes(text) if is_heading else text)
        if self.is_labelled_question(index):
            return without_question_label(text)
        return (subject_of(text) if is_heading else "") or text

    def visible_span(self, index: int) -> tuple[int, int]:
        """Return start and end of the first characters of a part that are not tags, as offsets in the document."""
        start, end = html_tags.visible_span(self.text(index))
        offset = self.passage.start + self.parts[index].start
        return offset + start, offset + end

    def heading_index(self, index: int) -> int | None:
        """Return the nearest heading or question above a part within the passage."""
        for above in reversed(self._heading_indexes[: bisect_left(self._heading_indexes, index)]):
            if not self._ends_before(above, index):
                return above
        return None

    @functools.cached_property
    def _heading_indexes(self) -> list[int]:
        return [index for index in range(len(self.parts)) if self.is_heading(index)]

    def _ends_before(self, term: int, index: int) -> bool:
        """Return whether a heading is a term whose explanation has ended: a later paragraph is not indented."""
        if self.parts[term].kind is not UnitKind.TERM:
            return False
        first = next((part for part in self.parts[term + 1 : index + 1] if part.kind is not UnitKind.TERM), None)
        is_first_block = first is not None and first.block == self.parts[index].block
        return not is_first_block and self.indentation(index) <= self.indentation(term)

    def indentation(self, index: int) -> int:
        """Return how many characters are before a part on its line."""
        start = self.parts[index].start
        return start - self.passage.text.rfind("\n", 0, start)

    def is_labelled_question(self, index: int) -> bool:
        """Return whether a part is a question of an FAQ that begins with a label: `Q: …`."""
        return self.parts[index].kind is UnitKind.HEADING and is_labelled_question(self.text(index))

    def labelled_question_above(self, index: int) -> str:
        """Return the question with a label, which may be wrapped, right above a part; empty if there is none."""
        question = ""
        for above in reversed(range(max(0, index - MAX_QUESTION_LINES), index)):
            if self.parts[above].kind is not UnitKind.HEADING:
                break
            question = f"{self.text(above)} {question}"
            if is_labelled_question(question):
                return question
        return ""

    def is_heading(self, index: int) -> bool:
        """Return whether a part is a heading, or a question on a line of its own, which may be numbered."""
        part = self.parts[index]
        if part.kind in (UnitKind.HEADING, UnitKind.TERM):
            return True
        is_alone = self._first[part.block] == self._last[part.block]
        is_line = part.kind is UnitKind.SENTENCE or self.is_step(index)
        return is_alone and is_line and self.text(index).endswith(QUESTION_ENDINGS)

    def term_above(self, index: int) -> int | None:
        """Return the index of the term that a part explains: the line above it. None if that line is not a term."""
        return index - 1 if index and self.parts[index - 1].kind is UnitKind.TERM else None

    def term_of(self, index: int) -> int | None:
        """Return the index of the term that a part helps to explain; None if the heading above it is not a term.

        In a list of definitions, a heading may be one: its explanation begins with a colon.
        """
        above, part = self.heading_index(index), self.parts[index]
        if above is None or (self.parts[above].kind is not UnitKind.TERM and not self._is_definition(part)):
            return None
        return above

    def _is_definition(self, part: Part) -> bool:
        text = self.passage.text
        before = text[text.rfind("\n", 0, part.start) + 1 : part.start]
        return is_definition_mark(before)

    def parent_item(self, index: int) -> int | None:
        """Return the item that a part of a list is below, if it introduces that with a colon."""
        indentation = self.indentation(index)
        for above in range(index - 1, self._first[self.parts[index].block] - 1, -1):
            if self.indentation(above) < indentation:
                return above if ends_with_colon(self.text(above)) else None
        return None

    def is_title(self, index: int) -> bool:
        """Return whether a heading is the title of a document: of the first level, or its first words."""
        return bool(_TITLE.match(self.text(index))) or (index == 0 and self.passage.start == 0)

    def _with_headers_as_paragraphs(self) -> list[Part]:
        parts = list(self.parts)
        for index, part in enumerate(parts):
            if self.is_mail_header(index):
                continues = index > 0 and self.is_mail_header(index - 1)
                block = parts[index - 1].block if continues else part.block
                parts[index] = replace(part, kind=UnitKind.SENTENCE, block=block)
        return parts

    def is_mail_header(self, index: int) -> bool:
        """Return whether a part is a line of a mail's header, which says who wrote to whom and when."""
        start = self.parts[index].start
        position = bisect_right(self._mail_headers, (start, len(self.passage.text)))
        return position > 0 and start < self._mail_headers[position - 1][1]

    def is_in_quoted_mail(self, index: int) -> bool:
        """Return whether a part is from an earlier mail that a reply quotes."""
        line = bisect_right(self._line_starts, self.parts[index].start) - 1 if self._quoted_lines else 0
        return line in self._quoted_lines

    @functools.cached_property
    def _quoted_lines(self) -> frozenset[int]:
        passage = self.passage
        return find_quoted_lines(passage.text, passage.path, is_beginning=passage.start == 0)

    @functools.cached_property
    def _line_starts(self) -> list[int]:
        return [0, *itertools.accumulate(map(len, self.passage.text.splitlines(keepends=True)))]

    @functools.cached_property
    def _mail_headers(self) -> list[tuple[int, int]]:
        offsets, headers = self._line_starts, find_mail_headers(self.passage.text.splitlines())
        return [(offsets[header.lines.start], offsets[header.lines.stop]) for header in headers]

    def is_readable(self, index: int) -> bool:
        """Return whether a part may be shown between others: whole, not a table's header, and not without meaning."""
        part = self.parts[index]
        is_hidden = self.is_mail_header(index) and not self._quotes_mail_headers
        is_whole = part.is_whole and not self._is_header(part) and not is_hidden
        return is_whole and not says_nothing(part.kind, self.text(index))

    def header_cells(self, index: int) -> list[str]:
        """Return the names of the columns of a row's table; empty if the passage does not have them."""
        header = self._headers.get(self.parts[index].block)
        if header is None:
            return []
        names = split_cells(self.passage.text[header.start : header.end])
        return [*[""] * (len(split_cells(self.text(index))) - len(names)), *names]  # the first column has no name

    def follows(self, index: int, following: int) -> bool:
        """Return whether no part, except the header of a table and pictures, is between two parts."""
        between = self.parts[index + 1 : following]
        return all(self._is_header(part) or part.kind is UnitKind.PICTURE for part in between)

    def _is_header(self, part: Part) -> bool:
        header = self._headers.get(part.block)
        return header is not None and header.start == part.start

    def is_fragment(self, indexes: Sequence[int]) -> bool:
        """Return whether these parts are nothing but unfinished lines, such as a list of names."""
        return bool(indexes) and all(
            self.parts[index].kind is UnitKind.SENTENCE and not self.text(index).endswith(SENTENCE_ENDINGS)
            for index in indexes
        )
