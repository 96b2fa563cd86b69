"""Builds a text from parts, and records the offsets of its headings and pages."""

from collections.abc import Sequence

from rag.types import Heading, Page, ParsedDocument

MAX_TITLE_CHARACTERS = 200


class MarkdownBuilder:
    """Builds a Markdown document. Only headings that were added as such count as headings."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[Page] = []

    def add_page(self, number: int) -> None:
        """Start a page. `number` counts from 1."""
        self._pages.append(Page(self._next_offset(), number))

    def add_heading(self, level: int, title: str) -> None:
        """Add a heading; an empty title is ignored. Level 1 is the top level."""
        title = " ".join(title.split())[:MAX_TITLE_CHARACTERS]
        if title:
            self._headings.append(Heading(self._next_offset(), level, title))
            self.add_paragraph(f"{'#' * level} {title}")

    def add_table(self, rows: Sequence[Sequence[str]]) -> None:
        """Add a table. The first row is its header."""
        if rows:
            self.add_paragraph(write_table(rows))

    def add_paragraph(self, paragraph: str) -> None:
        """Add a paragraph; an empty one is ignored."""
        paragraph = paragraph.strip("\n")
        if paragraph.strip():
            part = ("\n\n" if self._parts else "") + paragraph
            self._parts.append(part)
            self._length += len(part)

    def build(self, *, title: str = "") -> ParsedDocument:
        """Return the document without its media type. `title` is what the file declares."""
        text = "".join(self._parts)
        pages = [page for page in self._pages if page.start < len(text)]
        return ParsedDocument(text, is_markdown=True, headings=tuple(self._headings), pages=tuple(pages), title=title)

    def _next_offset(self) -> int:
        """Return the offset at which the next paragraph starts."""
        return self._length + 2 if self._parts else 0


def write_table(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as Markdown. The first row, of at least one, is its header."""
    width = max(len(row) for row in rows)
    lines = [_row([*row, *[""] * (width - len(row))]) for row in rows]
    return "\n".join([lines[0], _row(["---"] * width), *lines[1:]])


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
