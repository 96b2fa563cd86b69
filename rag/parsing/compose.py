"""A text that is put together piece by piece, with its headings and pages at the right offsets."""

from collections.abc import Sequence

from rag.types import Heading, Page, ParsedDocument

MAX_TITLE = 200


class Composer:
    """Markdown, of which the headings are the ones that were added, whatever the pieces look like."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._pages: list[Page] = []

    def page(self, number: int) -> None:
        self._pages.append(Page(self._next(), number))

    def heading(self, level: int, title: str) -> None:
        title = " ".join(title.split())[:MAX_TITLE]
        if title:
            self._headings.append(Heading(self._next(), level, title))
            self.add(f"{'#' * level} {title}")

    def table(self, rows: Sequence[Sequence[str]]) -> None:
        """The first row is the header."""
        if not rows:
            return
        width = max(len(row) for row in rows)
        lines = [_row([*row, *[""] * (width - len(row))]) for row in rows]
        self.add("\n".join([lines[0], _row(["---"] * width), *lines[1:]]))

    def add(self, paragraph: str) -> None:
        paragraph = paragraph.strip("\n")
        if paragraph.strip():
            piece = ("\n\n" if self._pieces else "") + paragraph
            self._pieces.append(piece)
            self._length += len(piece)

    def parsed(self, *, title: str = "") -> ParsedDocument:
        text = "".join(self._pieces)
        pages = [page for page in self._pages if page.start < len(text)]
        return ParsedDocument(text, True, tuple(self._headings), tuple(pages), title)

    def _next(self) -> int:
        """Where the next paragraph will begin."""
        return self._length + 2 if self._pieces else 0


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"
