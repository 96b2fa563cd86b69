"""python -m benchmarks.ingestion.tables: how well the tables of PDF files with a text layer are read.

Tables of known cells are drawn, and read as ingestion reads them. The figure is the F1 of the cells: of those that were
drawn and those that were read, how many agree in row, column and text. White space within a cell does not count.
TABLES: how many tables of each kind.
"""

import os
import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Rule, Text
from benchmarks.support.set_up import set_up_django

Rows = list[list[str]]
_LINE, _COLUMN, _CHARACTERS = 12, 120, 20
_WORDS = (
    "north",
    "river",
    "Bergen",
    "price",
    "oak",
    "12,5",
    "total",
    "2024",
    "Müller",
    "7",
    "%",
    "open",
    "1,204",
    "St.",
)


def main() -> None:
    set_up_django()
    count = int(os.environ.get("TABLES", "20"))
    for kind, make in KINDS.items():
        print(f"{kind:32} {measure(make, count):.3f}", flush=True)


def measure(make: Callable[[random.Random], tuple[bytes, Sequence[Rows]]], count: int) -> float:
    """Return the F1 of the cells of this many files. `make` returns a file and the cells of its tables."""
    from rag.parsing import parse

    agreeing = drawn = read = 0
    for seed in range(count):
        content, expected = make(random.Random(seed))
        with tempfile.NamedTemporaryFile(suffix=".pdf") as file:
            file.write(content)
            file.flush()
            parsed = parse.parse_file(Path(file.name), content_type="application/pdf", name="tables.pdf")
        cells_read = list(tables_of_markdown(parsed.text))
        drawn += sum(len(row) for rows in expected for row in rows)
        read += sum(len(row) for rows in cells_read for row in rows)
        agreeing += sum(
            _words(cell) == _words(other)
            for rows, others in zip(expected, cells_read, strict=False)
            for row, other_row in zip(rows, others, strict=False)
            for cell, other in zip(row, other_row, strict=False)
        )
    return 2 * agreeing / (drawn + read)


def tables_of_markdown(text: str) -> Iterator[Rows]:
    """Yield the cells of each table of a Markdown text, without the row that separates the header."""
    rows: Rows = []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            cells = [cell.strip().replace("\\", "") for cell in line.strip().strip("|").split("|")]
            rows += [] if all(set(cell) <= set(":-") and cell for cell in cells) else [cells]
        elif rows:
            yield rows
            rows = []


def _words(cell: str) -> str:
    return "".join(cell.replace("<br>", "").split())


def _cells(chance: random.Random, rows: int, columns: int, *, words: int = 2) -> Rows:
    """Return the cells of a table: a header, names in the first column, and values."""
    header = [f"Column {letter}" for letter in "ABCDEF"[:columns]]
    body = [
        [f"Row {number}", *(" ".join(chance.choices(_WORDS, k=chance.randint(1, words))) for _ in range(columns - 1))]
        for number in range(1, rows)
    ]
    return [header, *body]


def _wrapped(text: str) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= _CHARACTERS:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _draw(rows: Rows, top: float, *, ruled: bool = True, spanning: str = "") -> tuple[list[Text | Rule], float]:
    """Return a table's texts and rules, and where it ends. `spanning`: a header above all columns but the first."""
    items: list[Text | Rule] = []
    columns, y = len(rows[0]), top
    edges = [drawn_pdf.MARGIN + _COLUMN * number for number in range(columns + 1)]
    if spanning:
        items.append(Text((edges[1] + edges[-1]) / 2 - 2.5 * len(spanning), y - 13, spanning))
        items += [Rule(edges[0], y, edges[-1], y)] if ruled else []
        y -= _LINE + 6
    for row in rows:
        lines = [_wrapped(cell) for cell in row]
        items += [Rule(edges[0], y, edges[-1], y)] if ruled else []
        for x, cell in zip(edges, lines, strict=False):
            items += [Text(x + 4, y - 13 - _LINE * number, line) for number, line in enumerate(cell)]
        y -= _LINE * max(map(len, lines)) + 6
    if ruled:
        items += [Rule(edges[0], y, edges[-1], y)]
        items += [
            Rule(x, top if not spanning or x in (edges[0], edges[1], edges[-1]) else top - 18, x, y) for x in edges
        ]
    return items, y


def page(*tables: Rows, ruled: bool, spanning: str = "") -> list[Text | Rule]:
    """Return a page with these tables, below a heading and between sentences."""
    items: list[Text | Rule] = [Text(drawn_pdf.MARGIN, 780, "Report of the year", 18, bold=True)]
    y = 750.0
    for number, rows in enumerate(tables, 1):
        items.append(
            Text(drawn_pdf.MARGIN, y, f"The following table number {number} lists what was found in the year.")
        )
        drawn, y = _draw(rows, y - 16, ruled=ruled, spanning=spanning)
        items += drawn
        y -= 40
    items.append(Text(drawn_pdf.MARGIN, y, "These figures were found by hand, and nobody has checked them since."))
    return items


def _one(chance: random.Random, *, ruled: bool, words: int = 2, spanning: str = "") -> tuple[bytes, list[Rows]]:
    rows = _cells(chance, chance.randint(4, 9), chance.randint(3, 4), words=words)
    expected = [["", spanning, *[""] * (len(rows[0]) - 2)], *rows] if spanning else rows
    return drawn_pdf.draw([page(rows, ruled=ruled, spanning=spanning)]), [expected]


def _two_tables(chance: random.Random) -> tuple[bytes, list[Rows]]:
    tables = [_cells(chance, chance.randint(4, 7), 3), _cells(chance, chance.randint(4, 7), 4)]
    return drawn_pdf.draw([page(*tables, ruled=True)]), tables


def _two_pages(chance: random.Random) -> tuple[bytes, list[Rows]]:
    """A table that continues on the next page, where it begins with the header again."""
    rows = _cells(chance, 13, 3)
    parts = [rows[:7], [rows[0], *rows[7:]]]
    return drawn_pdf.draw([page(part, ruled=True) for part in parts]), parts


KINDS: dict[str, Callable[[random.Random], tuple[bytes, Sequence[Rows]]]] = {
    "with rules": lambda chance: _one(chance, ruled=True),
    "without rules": lambda chance: _one(chance, ruled=False),
    "with rules, lines wrapped": lambda chance: _one(chance, ruled=True, words=8),
    "without rules, lines wrapped": lambda chance: _one(chance, ruled=False, words=8),
    "with rules, spanning header": lambda chance: _one(chance, ruled=True, spanning="Figures of 2024"),
    "two on a page, with rules": _two_tables,
    "on two pages, with rules": _two_pages,
}

if __name__ == "__main__":
    main()
