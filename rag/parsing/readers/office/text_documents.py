"""Text documents: Word, OpenDocument, RTF, EPUB and FictionBook."""

import itertools
import re
from dataclasses import replace

from rag.parsing import formats, zip_files
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.plain_text import parse_plain
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.extracted_markdown import (
    join_scripts,
    promote_bold_lines,
    remove_pictures,
    remove_unknown_notes,
    strip_formatting,
    with_chosen_title,
)
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import Heading, ParsedDocument

from . import prepare_for_xberg, prepare_word, rich_text
from .headings.rich_text_headings import write_headings
from .legacy import word_labels
from .legacy.title import read_title
from .legacy.word_tables import LegacyTable, find_tables, split_at_tables
from .numbering.labels import remove_bullets
from .numbering.rich_text_labels import place_labels
from .slides.open_document import pack_flat

_WORD = re.compile(r"\w+")
# The number of a section that is a line of its own above its title.
_NUMBER_ABOVE_TITLE = re.compile(r"^(§ ?\d{1,3}[a-z]?[.)]?)[ \t]*\n{1,3}(#{1,6}) (?!§|\d)", re.M)
# What removed pictures leave.
_EMPTY_LINES = re.compile(r"\n{3,}")
_MAX_TITLE_CHARACTERS = 80
# What a heading of an old document has at least, and how many have a style if its author used styles.
_NAME, _MIN_STYLED = re.compile("[^\\W\\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}"), 2


def read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a Word document, with pages if the file records them completely."""
    return with_chosen_title(_with_signs(_read_docx(content, limits)))


def _with_signs(parsed: ParsedDocument) -> ParsedDocument:
    """Return the document with the signs for which `prepare_for_xberg` put others."""
    signs = str.maketrans(prepare_for_xberg.MARKS)
    headings = (replace(heading, title=heading.title.translate(signs)) for heading in parsed.headings)
    return replace(parsed, text=parsed.text.translate(signs), headings=tuple(headings))


def _read_docx(content: bytes, limits: Limits) -> ParsedDocument:
    if not content.startswith(zip_files.MAGIC):
        content = prepare_for_xberg.pack_flat(content)
    zip_files.check_archive(content, limits)
    extracted = extract(prepare_word.prepare_word(content), formats.DOCX, limits, pages=True)
    title = extracted_markdown.clean_title(extracted.title)
    # Page breaks are those of the last save. They are used only if the pages contain the whole text.
    if len(extracted.pages) > 1 and _WORD.findall(" ".join(extracted.pages)) == _WORD.findall(extracted.markdown):
        pages = enumerate(map(_without_marks, extracted.pages), 1)
        return extracted_markdown.join_pages(pages, title, may_divide=True)
    text = remove_unknown_notes(strip_formatting(_without_marks(extracted.markdown))).strip()
    return extracted_markdown.with_title(parse_markdown(text), title)


def _without_marks(markdown: str) -> str:
    text = remove_bullets(_EMPTY_LINES.sub("\n\n", join_scripts(remove_pictures(markdown))))
    return _with_numbers_in_titles(text)


def _with_numbers_in_titles(markdown: str) -> str:
    return _NUMBER_ABOVE_TITLE.sub(r"\2 \1 ", markdown)


def read_odt(content: bytes, limits: Limits) -> ParsedDocument:
    """Read an OpenDocument text, in a ZIP container or as a single XML file."""
    if not content.startswith(zip_files.MAGIC):
        content = pack_flat(content, formats.ODT)
    zip_files.check_archive(content, limits)
    prepared = prepare_for_xberg.prepare_open_text(content)
    extracted = extract(prepared, formats.ODT, limits)
    text = remove_unknown_notes(strip_formatting(_without_marks(extracted.markdown).replace("\r", ""))).strip()
    title = extracted_markdown.clean_title(extracted.title)
    return with_chosen_title(_with_signs(extracted_markdown.with_title(parse_markdown(text), title)))


def read_rtf(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a rich text file. Lines with a style or the type of headings become headings, which xberg ignores."""
    extracted = extract(rich_text.prepare(content), formats.RTF, limits)
    markdown = promote_bold_lines(write_headings(place_labels(remove_pictures(extracted.markdown))), with_labels=True)
    text = strip_formatting(_with_numbers_in_titles(markdown)).strip()
    title = extracted_markdown.clean_title(rich_text.read_title(content) or extracted.title)
    return with_chosen_title(extracted_markdown.with_title(parse_markdown(text), title))


def read_book(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read an EPUB book or a FictionBook."""
    if media_type == formats.EPUB:
        zip_files.check_archive(content, limits)
        content = prepare_for_xberg.prepare_book(content)
    return with_chosen_title(extracted_markdown.read(content, media_type, limits))


def read_doc(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a document of Word 97 to 2003.

    xberg ignores styles, types and the numbers of lists. Where a document has no headings by them, short lines above
    paragraphs, or lines in capitals, become headings.
    """
    # As Markdown, xberg makes one paragraph of all.
    extracted = extract(content, formats.DOC, limits, plain=True)
    structure = word_labels.read_structure(content)
    parts = split_at_tables(extracted.markdown.replace("\r", "\n"), list(find_tables(structure.paragraphs)))
    lines_and_tables = [line for part in parts for line in _lines_of(part)]
    line_labels = word_labels.find_labels(structure, lines_and_tables)
    lines = [line if isinstance(line, str) else line.markdown for line in lines_and_tables]
    labelled = [f"{line.label}{text}" for line, text in zip(line_labels, lines, strict=True)]
    starts = list(itertools.accumulate((len(line) + 2 for line in labelled), initial=0))
    styled = ((number, line.level) for number, line in enumerate(line_labels) if line.level)
    levels = {number: level for number, level in styled if _NAME.search(lines[number])}
    if len(levels) < _MIN_STYLED:
        unlabelled = itertools.accumulate((len(line) + 2 for line in lines), initial=0)
        numbers = {start: number for number, start in enumerate(unlabelled)}
        headings = parse_plain("\n\n".join(lines)).headings
        by_form = {numbers[heading.start]: heading.level for heading in headings if heading.start in numbers}
        capitals = (n for n, line in enumerate(lines_and_tables) if isinstance(line, str) and _is_in_capitals(line))
        levels = by_form or dict.fromkeys(capitals, 1) or levels
    labelled_headings = (Heading(starts[number], level, labelled[number]) for number, level in sorted(levels.items()))
    title = extracted_markdown.clean_title(read_title(content))
    return with_chosen_title(ParsedDocument("\n\n".join(labelled), headings=tuple(labelled_headings), title=title))


def _lines_of(part: str | LegacyTable) -> list[str | LegacyTable]:
    if isinstance(part, LegacyTable):
        return [part]
    # A row of a table ends with two tabs.
    return [line for line in map(str.strip, part.replace("\t\t", "\n").split("\n")) if line]


def _is_in_capitals(line: str) -> bool:
    return len(line) <= _MAX_TITLE_CHARACTERS and line.isupper() and line[-1] not in ".,;:"
