"""Writes the numbers of lists and headings into the text of a Word document of Office 97 to 2003."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from rag.parsing.readers.messages.outlook import DAMAGES
from rag.parsing.readers.office.headings.choose_headings import Paragraph, choose_headings
from rag.parsing.readers.office.numbering.labels import Label

from .word_numbers import read_labels
from .word_paragraphs import LegacyDocument, LegacyParagraph
from .word_tables import LegacyTable

# xberg and the paragraphs differ in some lines, such as rows of tables: how far the next equal one may be.
_MAX_DISTANCE, _MAX_HEADING_CHARACTERS, _TEXT_LEVEL = 200, 200, 9


@dataclass(frozen=True, slots=True)
class LegacyLine:
    """A line of a document.

    Attributes:
        label: Its number, with a space; empty for none.
        level: The level of the heading, from 1; 0 for text.
    """

    label: str = ""
    level: int = 0


@dataclass(frozen=True, slots=True)
class LegacyStructure:
    """The paragraphs of a document and their labels."""

    paragraphs: Sequence[LegacyParagraph] = ()
    labels: Sequence[Label | None] = ()


def read_structure(content: bytes) -> LegacyStructure:
    """Return the paragraphs of a document; none if it is damaged, because the text may be readable without them."""
    try:
        document = LegacyDocument(content)
        paragraphs = document.paragraphs()
        return LegacyStructure(paragraphs, read_labels(document, paragraphs))
    except DAMAGES:
        return LegacyStructure()


def find_labels(structure: LegacyStructure, lines: Sequence[str | LegacyTable]) -> list[LegacyLine]:
    """Return what the styles and lists of a document say about each line.

    Args:
        structure: The paragraphs of the document.
        lines: The paragraphs as xberg reads them, and the tables.
    """
    paragraphs, labels = structure.paragraphs, structure.labels
    levels = _levels(paragraphs, labels)
    places = defaultdict[str, list[int]](list)
    for number, paragraph in enumerate(paragraphs):
        places[paragraph.text].append(number)
    labelled_lines, following = [], 0
    for line in lines:
        if isinstance(line, LegacyTable):
            labelled_lines.append(LegacyLine())
            following = line.following
            continue
        equal = places.get(" ".join(line.split()), [])
        place = bisect_left(equal, following)
        if place == len(equal) or equal[place] > following + _MAX_DISTANCE:
            labelled_lines.append(LegacyLine())
            continue
        following = equal[place] + 1
        label, level = labels[equal[place]], levels.get(equal[place], 0)
        is_heading = len(line) <= _MAX_HEADING_CHARACTERS
        labelled_lines.append(LegacyLine(f"{label.text} " if label and label.text else "", level if is_heading else 0))
    return labelled_lines


def _levels(paragraphs: Sequence[LegacyParagraph], labels: Sequence[Label | None]) -> dict[int, int]:
    """Return the levels of headings, by style or by type, by the numbers of the paragraphs."""
    numbers = [number for number, paragraph in enumerate(paragraphs) if any(map(str.isalnum, paragraph.text))]
    shown = [_as_paragraph(paragraphs[number], labels[number]) for number in numbers]
    styled = {number: one.level for number, one in zip(numbers, shown, strict=True) if one.level}
    return styled | {numbers[place]: level for place, level in choose_headings(shown).items()}


def _as_paragraph(paragraph: LegacyParagraph, label: Label | None) -> Paragraph:
    properties, letters = paragraph.properties, paragraph.type
    is_numbered = label is not None and bool(label.text)
    is_styled = properties.outline is not None and properties.outline < _TEXT_LEVEL
    return Paragraph(
        paragraph.text,
        letters.is_bold,
        letters.is_underlined,
        letters.size,
        level=(properties.outline or 0) + 1 if is_styled else 0,
        may_be_heading=not properties.in_table and (is_numbered or not properties.in_list),
        item_of=f"{label.list_id} {label.level}" if label and is_numbered else "",
    )
