"""The parts of a passage that an answer can be made of, and what each of them needs to be understood alone."""

import functools
import re
from bisect import bisect_right
from collections.abc import Sequence

from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.text.sentences.dependent_sentences import depends_on_predecessor
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, stem

from .headings_above_parts import STEP, PassageLayout
from .reading_groups import Section, find_sections
from .split_into_parts import SENTENCE_ENDINGS, ends_with_colon, says_nothing

# "2. Term. The lease begins on 1 April.": a clause with its title.
_TITLED_CLAUSE = re.compile(r"\d{1,3}[.)]\s+[^\W\d_a-z]\w*(?: \w+){0,2}\.\s")
_MIN_CLAUSES = 3
_SENTENCE_END = re.compile(r"[.!?؟](?=\s|$)")
# The maximum number of preceding sentences that a sentence can need.
_MAX_PREDECESSORS = 2
# A whole list, table or code block follows its lead-in if it is this long. Of a longer one the beginning follows.
_MAX_BLOCK_CHARACTERS, _MAX_BLOCK_PARTS = 1_200, 20
# A code block that a section consists of, besides one paragraph, follows the paragraph if it is this long.
_MAX_EXAMPLE_CHARACTERS = 300


class PassageStructure(PassageLayout):
    """The parts of a passage with the sections that they are in, and what is read together with each of them."""

    @functools.cached_property
    def sections(self) -> list[Section]:
        """The parts by section, in groups that are read together (`find_sections`)."""
        return find_sections(self.parts, set(self._heading_indexes), self._leads_to)

    @functools.cached_property
    def _groups(self) -> dict[int, list[int]]:
        """Part → its group of a section."""
        return {part: group for groups in self.sections for group in groups for part in group}

    def section_of(self, index: int) -> int:
        """Return the number of a part's section in `sections`. A heading belongs to the section below it."""
        return bisect_right(self._heading_indexes, index)

    def group_of(self, index: int) -> list[int]:
        """Return the parts that are read together with a part; a heading is read alone."""
        return self._groups.get(index, [index])

    def is_paragraph_item(self, index: int) -> bool:
        """Return whether an item is a paragraph of its own: several sentences, in a list that nothing introduces."""
        is_item = self.parts[index].kind is UnitKind.ITEM and self.lead_in(index) is None
        return is_item and len(_SENTENCE_END.findall(STEP.sub("", self.text(index), count=1))) > 1

    def is_clause(self, index: int) -> bool:
        """Return whether an item is a clause of a contract: all of the section's numbered items begin with a title."""
        section = self.sections[self.section_of(index)]
        items = [self.text(part) for group in section for part in group if self.is_step(part)]
        is_contract = len(items) >= _MIN_CLAUSES and all(_TITLED_CLAUSE.match(item) for item in items)
        return self.is_step(index) and is_contract

    def _leads_to(self, last: int, first: int) -> bool:
        """Return whether a block, by its last part, is read together with the next one, by its first part."""
        if self.parts[first].kind is UnitKind.CODE or ends_with_colon(self.text(last)):
            return True
        return self.is_step(first) and self.text(first)[0] != "1" and self.parts[last].kind is not UnitKind.ROW

    def next_sentence(self, index: int) -> int | None:
        """Return the sentence after a sentence in the same paragraph, if it can be quoted."""
        following = index + 1
        if following >= len(self.parts) or self.parts[index].kind is not UnitKind.SENTENCE:
            return None
        is_same = self.parts[following].block == self.parts[index].block
        return following if is_same and self.is_quotable(following) and not self.is_heading(following) else None

    def continues(self, index: int) -> bool:
        """Return whether a sentence continues the sentence before it: by a pronoun or a common word."""
        lang = self.passage.lang
        if depends_on_predecessor(self.text(index), lang):
            return True
        pair = [{stem(word, lang) for word in content_words(self.text(item), lang)} for item in (index - 1, index)]
        return bool(set.intersection(*pair))

    def is_quotable(self, index: int) -> bool:
        """Return whether a part can be quoted: not a heading, a question, a table's header or a cut part."""
        part, text = self.parts[index], self.text(index)
        if part.kind in (UnitKind.HEADING, UnitKind.TERM) or not self.is_readable(index):
            return False
        if ends_with_colon(text):
            return bool(self._following_block(index))
        return not text.endswith(QUESTION_ENDINGS)

    def complete(self, index: int) -> set[int]:
        """Return a part together with the parts that it needs: what its pronoun stands for, its lead-in, its list.

        A list may have half as many characters here as one that follows its lead-in sentence.
        """
        needed = {index}
        part = self.parts[index]
        if part.kind is UnitKind.SENTENCE:
            return (
                needed
                | self._since_title(index)
                | self._predecessors(index)
                | self._following_block(index)
                | self._following_example(index)
            )
        lead_in = self.lead_in(index)
        if lead_in is not None:
            needed |= {lead_in} | self._predecessors(lead_in)
        if part.kind is UnitKind.ITEM and (lead_in is not None or STEP.match(self.text(index))):
            whole_list = range(self._first[part.block], self._last[part.block] + 1)
            if len(whole_list) <= _MAX_BLOCK_PARTS and self._length(whole_list) <= _MAX_BLOCK_CHARACTERS / 2:
                needed |= set(whole_list)
        return needed

    def _since_title(self, index: int) -> set[int]:
        """Return the parts before a sentence since the title or question in its paragraph, if there is one."""
        first = self.heading_index(index)
        if first is None or self.parts[first].block != self.parts[index].block:
            return set()
        is_run_in = "\n" not in self.passage.text[self.parts[first].end : self.parts[first + 1].start]
        is_heading = self.parts[first].kind is UnitKind.HEADING
        return set(range(first, index)) if is_run_in and is_heading else set()

    def lead_in(self, index: int) -> int | None:
        """Return the sentence that introduces the list, table or code block of a part; None if there is none."""
        first = self._first[self.parts[index].block]
        if not first or self.parts[first - 1].kind is not UnitKind.SENTENCE or not self.parts[first - 1].is_whole:
            return None
        is_code = self.parts[index].kind is UnitKind.CODE
        return first - 1 if is_code or ends_with_colon(self.text(first - 1)) else None

    def header_span(self, index: int) -> tuple[int, int] | None:
        """Return where the header of a row's table is in the document; None if the passage does not have it."""
        header, start = self._headers.get(self.parts[index].block), self.passage.start
        return None if header is None else (start + header.start, start + header.end)

    def needs_missing_part(self, index: int) -> bool:
        """Return whether a sentence begins with a word whose meaning is not in the passage."""
        is_sentence = self.parts[index].kind is UnitKind.SENTENCE
        return is_sentence and index == 0 and depends_on_predecessor(self.text(index), self.passage.lang)

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
        if first >= len(self.parts) or self.parts[first].kind not in (UnitKind.ITEM, UnitKind.ROW, UnitKind.CODE):
            return set()
        # A sentence that continues in the code need not have a colon: "This location is".
        is_unfinished = self.parts[first].kind is UnitKind.CODE and not self.text(index).endswith(SENTENCE_ENDINGS)
        if not is_unfinished and not ends_with_colon(self.text(index)):
            return set()
        if says_nothing(self.parts[first].kind, self.text(first)):
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

    def _following_example(self, index: int) -> set[int]:
        """Return the code block after a sentence that is all of the text between a heading and this block."""
        part, code = self.parts[index], index + 1
        if code >= len(self.parts) or self.parts[code].kind is not UnitKind.CODE or not self.parts[code].is_whole:
            return set()
        first = self._first[part.block]
        is_section = first > 0 and self.is_heading(first - 1) and self._last[part.block] == index
        return {code} if is_section and self._length([code]) <= _MAX_EXAMPLE_CHARACTERS else set()

    def lacks_following(self, index: int) -> bool:
        """Return whether a sentence continues in something that the passage does not have."""
        is_unfinished = not self.text(index).endswith(SENTENCE_ENDINGS) or ends_with_colon(self.text(index))
        return self.parts[index].kind is UnitKind.SENTENCE and is_unfinished and not self._following_block(index)

    def _length(self, indexes: Sequence[int]) -> int:
        return sum(self.parts[index].end - self.parts[index].start for index in indexes)
