"""The texts of the pages of a PDF: as running text if its lines were written in the order of reading, with tables.

Other pages stay as xberg read them, by the places of their letters.
"""

import io
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from . import form_fields, headers_and_footers, running_text
from .letters.detached_labels import attach_labels
from .letters.drawn_bullets import mark_bullets
from .order.by_place import order_by_place
from .order.writing_order import in_writing_order
from .tables import table_places
from .tables.aligned_tables import AlignedTable, find_aligned_tables, find_rows
from .tables.lines_of_tables import divide_at_titles, find_lines
from .tables.ruled_tables import RuledTable, find_ruled_tables
from .tables.rules_between_rows import find_tables_with_rules
from .text_lines import PageLines, TextLine
from .upright_pages import turn_upright
from .work_budget import WorkBudget, WorkExceeded

# The text of a page is compared with each of its tables.
_MAX_TABLES, _MAX_PAGE_CHARACTERS = 50, 100_000
# Of a whole document: one to three seconds. A page with a large table takes some thousand steps.
_MAX_STEPS = 5_000_000
_MIN_SHARE_OF_LETTERS, _MIN_SHARE_OF_REPEATED = 0.8, 0.5
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
# Parts of words in scripts from Devanagari to Burmese, and in Khmer. Browsers write what several signs stand for
# together: pdfium puts spaces after these signs, and some of them twice.
_DRAWN_AS_ONE = re.compile(r"[\u0900-\u109f\u1780-\u17ff]+")
# A space that xberg puts between the vowel AM of Thai and the next letter.
_BEFORE_LETTER_OF_WORD = re.compile(r"(?<=\u0e33) (?=[\u0e01-\u0e2e\u0e40-\u0e44])")
_MAX_PAGES_WITHOUT_SIZE = 1_000
# How many pages show the sizes of text and headings.
_MAX_PAGES_OF_STYLES = 50
# Of a whole document, and how many of its lines are compared with a field of a form in a step: 20 to 30 seconds.
_MAX_CHARACTERS, _LINES_PER_STEP = 10_000_000, 10


def improve(content: bytes, texts: Mapping[int, str]) -> dict[int, str]:
    """Return the Markdown of each page with its columns in order and its tables.

    Args:
        content: The file.
        texts: Number → Markdown of each page.
    """
    result, budget = dict(texts), WorkBudget(_MAX_STEPS)
    try:
        with pdfium.PdfDocument(content) as document:
            content = turn_upright(document) or content
        with pdfium.PdfDocument(content) as document:
            if document.get_formtype() != pdfium_c.FORMTYPE_NONE:
                document.init_forms()
            _Pages(document, result, budget).improve()
    except WorkExceeded:  # this page and those after it stay as they were read
        pass
    except pdfium.PdfiumError:  # xberg reads some files that pdfium does not
        return dict(texts)
    return result


def can_open(content: bytes) -> bool:
    """Return whether the file is whole enough to be opened."""
    try:
        with pdfium.PdfDocument(content) as document:
            return len(document) > 0
    except pdfium.PdfiumError:
        return False


def with_page_sizes(content: bytes) -> bytes:
    """Return the file with the size of each page: some programs leave it out, which xberg does not read.

    Returns:
        The file; empty if pdfium cannot open it.
    """
    written = io.BytesIO()
    try:
        with pdfium.PdfDocument(content) as document:
            for page in itertools.islice(document, _MAX_PAGES_WITHOUT_SIZE):
                page.set_mediabox(*page.get_mediabox())
            document.save(written)
    except pdfium.PdfiumError:
        return b""
    return written.getvalue()


@dataclass(frozen=True, slots=True)
class _Tables:
    """The tables of a page.

    Attributes:
        rows: Those of all of them.
        placed: Those between drawn lines, with the numbers of the lines that they consist of.
        aligned: Those without drawn lines.
    """

    rows: Sequence[table_places.Rows]
    placed: list[tuple[frozenset[int], RuledTable]]
    aligned: list[AlignedTable]

    def places(self, lines: Sequence[TextLine]) -> list[frozenset[int]]:
        """Return the numbers of the lines of each table."""
        aligned = (frozenset(n for n, line in enumerate(lines) if line in table.lines) for table in self.aligned)
        return [*(numbers for numbers, _ in self.placed), *aligned]


class _Pages:
    def __init__(self, document: pdfium.PdfDocument, texts: dict[int, str], budget: WorkBudget) -> None:
        self._document, self._texts, self._budget = document, texts, budget
        self._characters = WorkBudget(_MAX_CHARACTERS)
        self._styles: running_text.Styles | None = None
        self._repeated = headers_and_footers.Repeated(frozenset(), {})
        self._known: dict[int, tuple[pdfium.PdfPage, PageLines, list[TextLine]]] = {}

    def improve(self) -> None:
        for number, text in self._texts.items():
            if 0 < number <= len(self._document) and text.strip() and len(text) <= _MAX_PAGE_CHARACTERS:
                self._texts[number] = self._improved(number, text)

    def _improved(self, number: int, text: str) -> str:
        styles = self._find_styles()
        page, page_lines, all_lines = self._lines_of(number)
        page_of_lines = headers_and_footers.PageOfLines(number, all_lines, page.get_height())
        lines = headers_and_footers.leave_out(page_of_lines, self._repeated, text)
        text = headers_and_footers.leave_out_of_text(text, all_lines, lines)
        ruled = list(itertools.islice(find_ruled_tables(page, self._budget), _MAX_TABLES))
        ruled = [part for table in ruled for part in divide_at_titles(table, lines)][:_MAX_TABLES]
        tables_of_page = self._find_tables(page, page_lines, lines, ruled)
        places = tables_of_page.places(lines)
        in_tables = frozenset[int]().union(*places)
        if (ordered := in_writing_order(page_lines, lines, in_tables, self._budget)) != lines:
            lines = ordered or order_by_place(page_lines, lines, places, self._budget)
            tables_of_page = self._find_tables(page, page_lines, lines, ruled)
        tables, placed = tables_of_page.rows, tables_of_page.placed
        as_read = self._insert(tables, text)
        if not lines:
            return as_read
        rows = find_rows(page_lines, lines)
        in_aligned = frozenset[TextLine]().union(*(table.lines for table in tables_of_page.aligned))
        rows |= {number for number, line in enumerate(lines) if line in in_aligned}
        shown = self._with_values(page, mark_bullets(page, lines))
        written = running_text.as_markdown(shown, rows, styles)
        # Fonts may have letters that only one of the libraries knows.
        if _count_letters(written) < _MIN_SHARE_OF_LETTERS * _count_letters(text):
            return as_read
        if _is_torn(written, text):
            return _BEFORE_LETTER_OF_WORD.sub("", as_read)
        written = self._insert(tables, written)
        if missing := [place for place in placed if table_places.markdown(place[1].rows) not in written]:
            # Their cells were not written row by row. What is between such tables is text of its own.
            around = _write_around(shown, missing, partial(self._between, page_lines, styles=styles))
            return self._insert(tables, around)
        # xberg may have found a table whose columns are neither between lines nor in order.
        if not table_places.count_rows(as_read):
            return written
        inserted = [rows for rows in tables if table_places.markdown(rows) in written]
        titles = frozenset(_HEADING.findall(written))
        whole = frozenset(line.text for line in lines if len(page_lines.segments(line)) == 1)
        by_place = frozenset(line.text for line in order_by_place(page_lines, lines, [], self._budget))
        count_rows = partial(
            table_places.count_rows, known=inserted, titles=titles, lines=whole, rows_by_place=by_place
        )
        return written if count_rows(written) >= count_rows(as_read) else as_read

    def _find_tables(
        self, page: pdfium.PdfPage, page_lines: PageLines, lines: Sequence[TextLine], ruled: Sequence[RuledTable]
    ) -> "_Tables":
        with_rules = find_tables_with_rules(page, page_lines, lines)[: _MAX_TABLES - len(ruled)]
        drawn = [*ruled, *(table for table in with_rules if not any(_overlap(table, other) for other in ruled))]
        known = {_words(row) for table in drawn for row in table.rows}
        aligned = [
            table
            for table in find_aligned_tables(page_lines, lines)
            if known.isdisjoint(_words(row) for row in table.rows)
        ][: _MAX_TABLES - len(drawn)]
        tables: list[table_places.Rows] = [*(table.rows for table in drawn), *(table.rows for table in aligned)]
        return _Tables(tables, self._find_lines(drawn, lines), aligned)

    @staticmethod
    def _between(page_lines: PageLines, lines: Sequence[TextLine], *, styles: running_text.Styles) -> str:
        return running_text.as_markdown(lines, find_rows(page_lines, lines), styles)

    def _find_lines(
        self, tables: Sequence[RuledTable], lines: Sequence[TextLine]
    ) -> list[tuple[frozenset[int], RuledTable]]:
        """Return the tables with the lines that they consist of; none in a form, whose values are no lines."""
        if not tables or self._document.get_formtype() != pdfium_c.FORMTYPE_NONE:
            return []
        self._characters.take(len(tables) * (1 + len(lines) // _LINES_PER_STEP))
        return [(numbers, table) for table in tables if (numbers := find_lines(table, lines))]

    def _insert(self, tables: Sequence[table_places.Rows], text: str) -> str:
        return table_places.insert(text, tables, self._budget) if tables else text

    def _with_values(self, page: pdfium.PdfPage, lines: list[TextLine]) -> list[TextLine]:
        values = form_fields.read_values(self._document, page)
        self._characters.take(len(values) * (1 + len(lines) // _LINES_PER_STEP))
        return form_fields.insert(values, lines)

    def _find_styles(self) -> running_text.Styles:
        if self._styles is None:
            for number in range(1, 1 + min(len(self._document), _MAX_PAGES_OF_STYLES)):
                self._known[number] = self._lines_of(number)
            pages = [
                headers_and_footers.PageOfLines(number, lines, page.get_height())
                for number, (page, _, lines) in self._known.items()
            ]
            wide = sum(page.get_width() > page.get_height() for page, _, _ in self._known.values())
            self._repeated = headers_and_footers.find_repeated(pages, are_slides=wide * 2 > len(pages))
            running = [headers_and_footers.find_running(page, self._repeated) for page in pages]
            # Slides may have more letters in their footers than in their text.
            self._styles = running_text.find_styles(
                line
                for page, left_out in zip(pages, running, strict=True)
                for line in page.lines
                if line not in left_out
            )
        return self._styles

    def _lines_of(self, number: int) -> tuple[pdfium.PdfPage, PageLines, list[TextLine]]:
        """Return a page and its lines. Those that the styles were read from are read once."""
        if known := self._known.pop(number, None):
            return known
        page = self._document[number - 1]
        page_lines = PageLines(page, _MAX_PAGE_CHARACTERS)
        self._characters.take(1 + len(page_lines.text))
        box = page.get_cropbox()
        return page, page_lines, attach_labels([line for line in page_lines.lines() if _is_on_page(line, box)])


def _overlap(table: RuledTable, other: RuledTable) -> bool:
    is_beside = table.right < other.left or other.right < table.left
    return not is_beside and table.bottom < other.top and other.bottom < table.top


def _write_around(
    lines: Sequence[TextLine],
    tables: Sequence[tuple[frozenset[int], RuledTable]],
    as_markdown: Callable[[Sequence[TextLine]], str],
) -> str:
    """Return the Markdown of the lines, in which each table is where its first line was."""
    table_of = {number: place for place, (numbers, _) in enumerate(tables) for number in numbers}
    parts, written, between = list[str](), set[int](), list[TextLine]()
    for number, line in enumerate(lines):
        place = table_of.get(number)
        if place is None:
            between.append(line)
        elif place not in written:
            parts += [as_markdown(between), table_places.markdown(tables[place][1].rows)]
            written.add(place)
            between = []
    return "\n\n".join(part for part in (*parts, as_markdown(between)) if part)


def _is_on_page(line: TextLine, box: tuple[float, float, float, float]) -> bool:
    """Return whether a line can be seen: slides of TeX have what comes later far away from the page."""
    _, bottom, right, top = box
    return line.left < right and bottom < line.bottom + line.height and line.bottom < top


def _is_torn(written: str, text: str) -> bool:
    """Return whether pdfium divided or repeated letters of words in scripts whose letters are drawn as one."""
    words, others = _DRAWN_AS_ONE.findall(written), _DRAWN_AS_ONE.findall(text)
    letters, other_letters = sum(map(len, words)), sum(map(len, others))
    is_whole = other_letters >= _MIN_SHARE_OF_REPEATED * letters
    return is_whole and (len(words) > len(others) or letters > other_letters)


def _count_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _words(row: Sequence[str]) -> str:
    return "".join("".join(row).split())
