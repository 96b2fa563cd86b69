"""Renders the chosen parts of passages as text that people can read."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.parsing import markdown
from rag.text import citation_markers
from rag.text.markup import html_tags, links, pictures, references
from rag.text.markup.writing_direction import end_directions
from rag.text.quotable_units import LABEL, UnitKind
from rag.types import Citation, Passage

from .parts.passage_layout import MAX_QUOTE_CHARACTERS
from .parts.passage_structure import PassageStructure
from .parts.tables import split_cells
from .scores.section_headings import is_in_section

# Renders the citation of a quote from its passage's number (from 1) and its passage.
CitationFormatter = Callable[[int, Passage], str]

# Manual pages divide words with this hyphen at the ends of lines.
_HYPHENATION = re.compile(r"\u2010[ \t]*\n\s*")
# A line that ends with a backslash is broken there.
_LINE_BREAK = re.compile(r"\\[ \t]*(?:\n|\Z)")
_QUOTATION_MARK = re.compile(r"^\s*(?:>\s*)+", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]*_`]*(?=\s)")
_HEADING_MARKS = re.compile(r"^#{1,6}\s+|\s+#+$|^(?:\*\*|__)|(?:\*\*|__)$")


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote from a passage.

    Attributes:
        number: The passage's number in the prompt, from 1.
        citations: The quoted characters and where they are, one for each sentence, item, row or code block.
        text: The quote as people read it: wrapped lines joined, cells of a row after the names of their columns.
        is_block: Whether the text is on lines of its own.
        continues: Whether the next quote belongs to this one, so that one citation is enough for both.
        is_in_section: Whether a heading, other than the document's title, is above the quote.
        heading: The nearest heading above the quote within its passage; empty if there is none.
    """

    number: int
    citations: tuple[Citation, ...]
    text: str
    is_block: bool
    continues: bool
    is_in_section: bool
    heading: str = ""


def render_quotes(quotes: Sequence[Quote], format_citation: CitationFormatter | None = None) -> str:
    """Join quotes into one text, each followed by its citation: `A sentence. [1]`.

    Rows, items and code are on lines of their own. Bracketed numbers inside a quote are written (3), because [3] would
    be a citation, except in code.
    """
    text = ""
    previous_is_block = False
    neutralized = citation_markers.neutralize_in_quotes([quote.text for quote in quotes])
    for quote, rendered in zip(quotes, neutralized, strict=True):
        if format_citation and not quote.continues:
            separator = "\n" if rendered.endswith(("```", "~~~")) else " "
            rendered += f"{separator}{format_citation(quote.number, quote.citations[0].passage)}"
        text += ("\n" if quote.is_block or previous_is_block else " ") + rendered if text else rendered
        previous_is_block = quote.is_block
    return pictures.keep_pictures_in_code(text, to_html=markdown.to_html)


def quote_parts(number: int, structure: PassageStructure, indexes: Iterable[int]) -> list[Quote]:
    """Quote parts of a passage, in reading order; parts without a gap between them become one quote.

    Args:
        number: The passage's number in the prompt, from 1.
        structure: The passage.
        indexes: The indexes of the parts.
    """
    ordered = sorted(indexes)
    if not ordered:
        return []
    runs: list[list[int]] = []
    for index in ordered:
        if runs and structure.follows(runs[-1][-1], index) and not structure.is_heading(index):
            runs[-1].append(index)
        else:
            runs.append([index])
    selected = set(ordered)
    followed = [_belong_together(structure, run[-1], following[0]) for run, following in pairwise(runs)]
    return [
        _quote_run(number, structure, run, continues=continues, is_cut=_is_cut(structure, run, selected))
        for run, continues in zip(runs, [*followed, False], strict=True)
    ]


def _cite(number: int, structure: PassageStructure, index: int) -> Citation:
    passage, start, end = structure.passage, structure.parts[index].start, _quote_end(structure, index)
    return Citation(number, passage, passage.text[start:end], passage.start + start, passage.start + end)


def _belong_together(structure: PassageStructure, index: int, following: int) -> bool:
    """Return whether two parts belong to one list or table, or one introduces the other."""
    part, other = structure.parts[index], structure.parts[following]
    is_same_list = part.block == other.block and part.kind is not UnitKind.SENTENCE
    return is_same_list or structure.lead_in(following) == index


def _is_cut(structure: PassageStructure, run: Sequence[int], selected: set[int]) -> bool:
    """Return whether a list or table is quoted from its beginning, but not to its end."""
    block = [index for index in structure.block_of(run[-1]) if structure.is_readable(index)]
    is_list = structure.parts[run[-1]].kind in (UnitKind.ITEM, UnitKind.ROW) and len(block) > 1
    return is_list and set(block[:2]) <= set(run) and not set(block) <= selected


def _quote_run(number: int, structure: PassageStructure, run: Sequence[int], *, continues: bool, is_cut: bool) -> Quote:
    """Quote consecutive parts. A line `- …` says that a list or table has more than is quoted."""
    lines: list[str] = []
    previous_block = None
    for index in run:
        part = structure.parts[index]
        rendered = _render_part(structure, index)
        is_labelled = bool(LABEL.match(structure.text(index)))  # a line of its own: "Decision: …"
        term = structure.term_of(index) if index == run[0] else structure.term_above(index)
        if term is not None and part.kind is UnitKind.SENTENCE:
            lines.append(f"{_plain(structure, structure.text(term))}: {rendered}")
        elif lines and part.kind is UnitKind.SENTENCE and part.block == previous_block and not is_labelled:
            # The text of a link may be on several lines.
            lines[-1] = _without_links_and_pictures(f"{lines[-1]} {rendered}")
        else:
            lines.append(rendered)
        previous_block = part.block
    if structure.parts[run[0]].kind in (UnitKind.ITEM, UnitKind.ROW) and not _is_clear(structure, run[0]):
        lines = [label for label in (_label(structure, run[0]),) if label] + lines
    if is_cut:
        lines.append("- …")
    kinds = {structure.parts[index].kind for index in run}
    citations = tuple(_cite(number, structure, index) for index in run)
    heading = structure.heading_index(run[0])
    return Quote(
        number,
        citations,
        "\n".join(lines),
        is_block=kinds != {UnitKind.SENTENCE} or len(lines) > 1,
        continues=continues,
        is_in_section=is_in_section(structure, run[0]),
        heading="" if heading is None else structure.visible_text(heading),
    )


def _is_clear(structure: PassageStructure, index: int) -> bool:
    """Return whether an item or row can be read without its heading: after its lead-in, or as a sentence."""
    if structure.lead_in(index) is not None:
        return True
    if structure.parts[index].kind is UnitKind.ROW:
        return bool(structure.header_cells(index))
    text = structure.text(index)
    return text.endswith((".", "!", "。")) and len(text.split()) >= 5


def _label(structure: PassageStructure, index: int) -> str:
    """Return the heading above a list or table, as its introduction."""
    heading = structure.heading_index(index)
    title = structure.visible_text(heading) if heading is not None else next(iter(structure.passage.headings[-1:]), "")
    title = _plain(structure, _HEADING_MARKS.sub("", title.strip()))
    return f"{title}:" if title and title[-1].isalnum() else title


def _render_part(structure: PassageStructure, index: int) -> str:
    part = structure.parts[index]
    text = structure.passage.text[part.start : _quote_end(structure, index)]
    if part.kind is UnitKind.CODE:
        return f"```\n{html_tags.code_of(_dedent(structure, index))}\n```"
    if part.kind is UnitKind.ROW:
        return _render_row(structure, index)
    return _plain(structure, text)


def _plain(structure: PassageStructure, text: str) -> str:
    """Return a text on one line, without tags, pictures, marks of quotations and links within the documents."""
    unbroken = _LINE_BREAK.sub("\n", _HYPHENATION.sub("", text))
    unmarked = " ".join(pictures.without_pictures(_QUOTATION_MARK.sub("", unbroken)).split())
    plain = _readable(references.as_words(unmarked, is_restructured=structure.is_restructured))
    return plain[:-1] if plain.endswith("::") else plain  # code follows, in reStructuredText


def _readable(text: str) -> str:
    """Return a line without tags and links within the documents.

    No picture is left in it that a client loads, and no control of the direction of writing that goes on behind it.
    """
    return end_directions(_without_links_and_pictures(html_tags.remove_tags(text)))


def _without_links_and_pictures(text: str) -> str:
    return pictures.disable_pictures(links.without_relative_links(text))


def _dedent(structure: PassageStructure, index: int) -> str:
    """Return the lines of a code block without their common indentation."""
    part, text = structure.parts[index], structure.passage.text
    line_start = text.rfind("\n", 0, part.start) + 1
    indentation = text[line_start : part.start]
    lines = text[part.start : part.end].split("\n")
    return "\n".join([lines[0], *(line.removeprefix(indentation) for line in lines[1:])])


def _render_row(structure: PassageStructure, index: int) -> str:
    """Return a row as `- first cell — name of the column: cell — name: cell`.

    The first cell is usually what the row is about and needs no name, unless it is a number.
    """
    cells, names = split_cells(structure.text(index)), structure.header_cells(index)
    shown = []
    for column, cell in enumerate(cells):
        name = names[column] if column < len(names) else ""
        is_subject = column == 0 and any(character.isalpha() for character in cell)
        if cell:
            shown.append(f"{name}: {cell}" if name and not is_subject else cell)
    words = references.as_words(" — ".join(shown), is_restructured=structure.is_restructured)
    return "- " + _readable(pictures.without_pictures(words))


def _quote_end(structure: PassageStructure, index: int) -> int:
    """Return where the quote of a part ends."""
    part, text = structure.parts[index], structure.passage.text
    max_end = part.start + MAX_QUOTE_CHARACTERS
    if part.end <= max_end or part.kind in (UnitKind.ROW, UnitKind.CODE):
        return part.end
    shortened = text[part.start : max_end]
    sentence_end = max((match.end() for match in _SENTENCE_END.finditer(shortened)), default=0)
    if sentence_end > MAX_QUOTE_CHARACTERS / 2:
        return part.start + sentence_end
    return part.start + (len(shortened.rsplit(None, 1)[0]) or MAX_QUOTE_CHARACTERS)
