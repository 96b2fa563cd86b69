"""Renders quotes as text that people can read: sentences, items, the rows of tables, code."""

import re
from collections.abc import Callable, Sequence

from rag.parsing.parse_markdown import to_html
from rag.text import citation_markers
from rag.text.markup import html_tags, links, pictures, references
from rag.text.markup.titles.faq_questions import without_answer_label
from rag.text.markup.writing_direction import end_directions
from rag.text.sentences.quotable_units import ITEM_MARK, LABEL, UnitKind
from rag.text.sentences.unspaced_scripts import count_words
from rag.types import Passage

from .parts.needed_parts import PassageStructure
from .parts.tables import split_cells
from .quotes import Quote

# What is read below its heading if no line introduces it.
_LABELLED = frozenset({UnitKind.ITEM, UnitKind.ROW, UnitKind.CODE})
# Markdown shows an item that is indented so far within any other, and none as code.
_INDENTATION, _MAX_LEVELS = "    ", 3
_ITEM_MARK = re.compile(rf"\A{ITEM_MARK}\s+")
# Renders the citation of a quote from its passage's number (from 1) and its passage.
CitationFormatter = Callable[[int, Passage], str]

# Manual pages divide words with this hyphen at the ends of lines.
_HYPHENATION = re.compile(r"\u2010[ \t]*\n\s*")
# A line that ends with a backslash is broken there.
_LINE_BREAK = re.compile(r"\\[ \t]*(?:\n|\Z)")
_QUOTATION_MARK = re.compile(r"^\s*(?:>\s*)+", re.MULTILINE)
# Chinese and Japanese have no spaces behind their marks, nor between their words.
_WIDE_MARKS = tuple("。！？；：，、」』）】")
_WIDE = "[\u3001-\u30ff\u3400-\u9fff\uff01-\uff60]"
_WRAPPED = re.compile(rf"(?<={_WIDE})[ \t]*\n\s*(?={_WIDE})")
_HEADING_MARKS = re.compile(r"^#{1,6}\s+|\s+#+$|^(?:\*\*|__)|(?:\*\*|__)$")
_EMPHASIZED = re.compile(r"([*_])(?=\S)([^*_]+)(?<=\S)\1")


def render_quotes(quotes: Sequence[Quote], format_citation: CitationFormatter | None = None) -> str:
    """Join quotes into one text, each followed by its citation: `A sentence. [1]`.

    Rows, items and code are on lines of their own. Bracketed numbers inside a quote are written (3), because [3] would
    be a citation, except in code. An answer with citations also has the questions and headings that its quotes need.
    """
    text = ""
    previous_is_block = False
    texts = [_with_introduction(quote) if format_citation else quote.text for quote in quotes]
    neutralized = citation_markers.neutralize_in_quotes(texts)
    for quote, rendered in zip(quotes, neutralized, strict=True):
        if format_citation and not quote.continues:
            separator = "\n" if rendered.endswith(("```", "~~~")) else " "
            rendered += f"{separator}{format_citation(quote.number, quote.citations[0].passage)}"
        text += ("\n" if quote.is_block or previous_is_block else _space_behind(text)) + rendered if text else rendered
        previous_is_block = quote.is_block
    return pictures.keep_pictures_in_code(text, to_html=to_html)


def _with_introduction(quote: Quote) -> str:
    introduction = _readable(quote.introduction)
    separator = "\n" if quote.is_block else _space_behind(introduction)
    return f"{introduction}{separator}{quote.text}" if introduction else quote.text


def _space_behind(text: str) -> str:
    """Return what is between a text and the sentence that follows it."""
    return "" if text.endswith(_WIDE_MARKS) else " "


def plain_heading(heading: str) -> str:
    """Return a heading as it is written in a document, without the marks that make it one."""
    plain = _HEADING_MARKS.sub("", heading.strip())
    emphasized = _EMPHASIZED.fullmatch(plain)
    return emphasized[2] if emphasized else plain


def render_lines(structure: PassageStructure, run: Sequence[int], *, is_cut: bool) -> list[str]:
    """Return consecutive parts as lines of an answer.

    Args:
        structure: The passage.
        run: The indexes of the parts.
        is_cut: Whether a list or table has more than is quoted, which a line `- …` says.
    """
    lines: list[str] = []
    levels: list[int] = []  # how far the items above are indented, each within the one before
    previous_block = None
    for index in run:
        part = structure.parts[index]
        rendered = _render_part(structure, index)
        if part.kind is UnitKind.ITEM:
            indentation = structure.indentation(index)
            levels = [*(level for level in levels if level < indentation), indentation]
            rendered = _INDENTATION * min(len(levels) - 1, _MAX_LEVELS) + rendered
        is_labelled = bool(LABEL.match(structure.text(index)))  # a line of its own: "Decision: …"
        term = structure.term_of(index) if index == run[0] else structure.term_above(index)
        if term is not None and part.kind is UnitKind.SENTENCE:
            lines.append(f"{_plain(structure, plain_heading(structure.visible_text(term)))}: {rendered}")
        elif lines and part.kind is UnitKind.SENTENCE and part.block == previous_block and not is_labelled:
            # The text of a link may be on several lines.
            lines[-1] = _without_links_and_pictures(f"{lines[-1]}{_space_behind(lines[-1])}{rendered}")
        else:
            lines.append(rendered)
        previous_block = part.block
    if structure.parts[run[0]].kind in _LABELLED and not _is_clear(structure, run[0]):
        lines = [label for label in (_label(structure, run[0]),) if label] + lines
    if is_cut:
        lines.append("- …")
    return lines


def _is_clear(structure: PassageStructure, index: int) -> bool:
    """Return whether a part can be read without its heading: after its lead-in, or as a sentence."""
    if structure.lead_in(index) is not None:
        return True
    if structure.parts[index].kind is UnitKind.CODE:
        return False
    if structure.parts[index].kind is UnitKind.ROW:
        return bool(structure.header_cells(index))
    text = structure.text(index)
    return text.endswith((".", "!", "。")) and count_words(text) >= 5


def _label(structure: PassageStructure, index: int) -> str:
    """Return the heading above a list or table, or the item that the first one is below, as its introduction."""
    parent = structure.parent_item(index) if structure.parts[index].kind is UnitKind.ITEM else None
    if parent is not None:
        return _ITEM_MARK.sub("", _plain(structure, structure.text(parent)))
    heading = structure.heading_index(index)
    title = structure.visible_text(heading) if heading is not None else next(iter(structure.passage.headings[-1:]), "")
    title = _plain(structure, plain_heading(title))
    return f"{title}:" if title and title[-1].isalnum() else title


def _render_part(structure: PassageStructure, index: int) -> str:
    part = structure.parts[index]
    text = structure.passage.text[part.start : structure.quote_end(index)]
    if part.kind is UnitKind.CODE:
        return f"```\n{html_tags.code_of(_dedent(structure, index))}\n```"
    if part.kind is UnitKind.ROW:
        return _render_row(structure, index)
    return _plain(structure, without_answer_label(text, structure.labelled_question_above(index)))


def _plain(structure: PassageStructure, text: str) -> str:
    """Return a text on one line, without tags, pictures, marks of quotations and links within the documents."""
    unbroken = _WRAPPED.sub("", _LINE_BREAK.sub("\n", _HYPHENATION.sub("", text)))
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
    words = " — ".join(shown).replace(": — ", ": ")  # "Weight:   68 kg"
    words = references.as_words(words, is_restructured=structure.is_restructured)
    return "- " + _readable(pictures.without_pictures(words))
