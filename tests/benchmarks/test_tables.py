"""The cells of tables with lines in PDF files are read, by the benchmark's own measure."""

import random

import pytest

from benchmarks.ingestion import tables
from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text


@pytest.mark.parametrize("kind", [kind for kind in tables.KINDS if "without rules" not in kind])
def test_most_cells_of_tables_with_rules_are_read(kind: str) -> None:
    assert tables.measure(tables.KINDS[kind], 4) >= 0.9


def test_the_measure_counts_wrong_cells() -> None:
    rows = [["A", "B"], ["1", "2"]]
    text = "Before.\n\n| A | B |\n| --- | --- |\n| 1 | 3 |\n\nAfter."
    assert list(tables.tables_of_markdown(text)) == [[["A", "B"], ["1", "3"]]]
    content = drawn_pdf.draw([[Text(56, 700, "No table at all is on this page of the report.")]])
    assert tables.measure(lambda chance: (content, [rows]), 1) == 0


def test_measured_kinds_have_cells() -> None:
    for make in tables.KINDS.values():
        content, expected = make(random.Random(0))
        assert content.startswith(b"%PDF")
        assert all(len(rows) > 2 for rows in expected)
