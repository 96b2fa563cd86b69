"""Grids of lines on a page of a PDF, and the limit of the work for them."""

import string
from dataclasses import replace

import pypdfium2 as pdfium
import pytest

from benchmarks.ingestion import tables
from benchmarks.support import drawn_pdf
from rag.parsing.readers.pdf import page_texts
from rag.parsing.readers.pdf.tables.grids import Line, find_grids, without_backgrounds
from rag.parsing.readers.pdf.tables.ruled_tables import drawn_lines
from rag.parsing.readers.pdf.work_budget import WorkBudget, WorkExceeded
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


def _staircase(steps: int) -> tuple[list[Line], list[Line]]:
    """Return rules and columns that touch in turn."""
    rules = [Line(-10.0 * step, 10.0 * step, 10.0 * step + 10) for step in range(steps)]
    columns = [Line(10.0 * step + 10, -10.0 * step - 10, -10.0 * step) for step in range(steps)]
    return rules, columns


def test_lines_that_touch_in_turn_are_one_grid() -> None:
    rules, columns = _staircase(5)
    [(found_rules, found_columns)] = find_grids(rules, columns[::-1], WorkBudget(100))
    assert (found_rules, found_columns) == (rules, columns)


def test_grids_are_found_from_the_top_of_the_page() -> None:
    low = [Line(10, 0, 50), Line(20, 0, 50)]
    high = [Line(110, 0, 50), Line(120, 0, 50)]
    columns = [Line(0, 10, 20), Line(50, 110, 120), Line(300, 0, 200)]
    grids = list(find_grids([*low, *high], columns, WorkBudget(100)))
    assert grids == [([high[1], high[0]], [columns[1]]), ([low[1], low[0]], [columns[0]])]


def test_a_staircase_takes_linear_time() -> None:
    def find(text: str) -> None:
        list(find_grids(*_staircase(len(text)), WorkBudget(10**9)))

    assert takes_linear_time(find, lambda length, _: "-" * length, 8_000)


def test_the_work_for_a_page_full_of_crossing_lines_is_bounded() -> None:
    lines = [Line(float(at), 0, 1_000) for at in range(1_000)]
    with pytest.raises(WorkExceeded):
        list(find_grids(lines, lines, WorkBudget(999_999)))


def test_pages_after_the_limit_of_work_stay_as_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is a number of steps of the whole document."""
    rows = [["Name", "Price"], ["Apple", "3"], ["Pear", "4"]]
    content = drawn_pdf.draw([tables.page(rows, ruled=True)] * 2)
    texts = {1: "Name Price Apple 3 Pear 4", 2: "Name Price Apple 3 Pear 4"}
    results: list[str] = []
    for steps in range(0, 3_000, 50):
        monkeypatch.setattr(page_texts, "_MAX_STEPS", steps)
        result = page_texts.improve(content, texts)
        assert set(result) == {1, 2}
        results.append("".join("t" if "|" in text else "-" for text in result.values()))
    assert list(dict.fromkeys(results)) == ["--", "t-", "tt"]


def test_backgrounds_of_the_lines_of_a_cell_are_no_rules() -> None:
    frame = [Line(700, 50, 350), Line(650, 50, 350)]
    columns = [Line(50, 650, 700), Line(200, 650, 700), Line(350, 650, 700)]
    within, whole = (
        Line(680, 50, 200, is_edge=True),
        [Line(665, 50, 200, is_edge=True), Line(666, 200, 350, is_edge=True)],
    )
    assert without_backgrounds([*frame, within, *whole], columns, WorkBudget(100)) == [*frame, *whole]
    edges = [replace(line, is_edge=True) for line in columns]
    assert within in without_backgrounds([*frame, within], edges, WorkBudget(100))  # no lines around the cells
    with pytest.raises(WorkExceeded):
        without_backgrounds([*frame] * 500, columns, WorkBudget(99_999))


def test_two_dashes_of_a_path_are_two_lines(read: Read) -> None:
    """Tables beside each other may have their lines in the same paths."""
    rules = " ".join(f"72 {y} m 172 {y} l 322 {y} m 422 {y} l S" for y in (600, 620, 640))
    columns = " ".join(f"{x} 600 m {x} 640 l S" for x in (72, 122, 172, 322, 372, 422))
    cells = [(x, y) for left in (77, 327) for y in (626, 606) for x in (left, left + 50)]
    shown = " ".join(f"BT /F1 12 Tf {x} {y} Td ({'abcdefgh'[n]}xyz) Tj ET" for n, (x, y) in enumerate(cells))
    content = files.pdf_with_letters(f"0.4 w {rules} {columns} {shown}", string.ascii_lowercase)
    text = read(content, "a.pdf").text
    assert "| axyz | bxyz |\n| --- | --- |\n| cxyz | dxyz |" in text
    assert "| exyz | fxyz |\n| --- | --- |\n| gxyz | hxyz |" in text


def test_flat_curves_are_no_lines() -> None:
    curves = [f"72 {y} m 172 {y} 272 {y} 322 {y} c S" for y in (600, 620)]
    document = pdfium.PdfDocument(files.pdf_with_letters(" ".join(["0.4 w", *curves, "72 500 m 172 500 l S"]), "a"))
    horizontal, vertical = drawn_lines(document[0])
    assert [(line.at, line.start, line.end) for line in horizontal] == [(500, 72, 172)]
    assert not vertical
