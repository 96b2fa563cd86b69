"""PDF pages that are turned when they are shown."""

import io

import pypdfium2 as pdfium
import pytest

from tests.parsing import files
from tests.parsing.conftest import Read

_WIDTH, _HEIGHT = 612, 792
_LINES = [
    "The boats are at the pier",
    "and every guest gets a vest",
    "which is worn on the lake",
    "until the boat is back.",
]


def _drawn(degrees: int, x: float, y: float, text: str) -> str:
    """Return the operators that draw a text at a place of the page as it is shown."""
    matrix, place = {
        90: ("0 1 -1 0", (_WIDTH - y, x)),
        180: ("-1 0 0 -1", (_WIDTH - x, _HEIGHT - y)),
        270: ("0 -1 1 0", (y, _HEIGHT - x)),
    }[degrees]
    return f"BT /F1 10 Tf {matrix} {place[0]} {place[1]} Tm ({text}) Tj ET"


def _turned(content: str, degrees: int) -> bytes:
    written = io.BytesIO()
    with pdfium.PdfDocument(files.pdf_with_letters(content, "")) as document:
        document[0].set_rotation(degrees)
        document.save(written)
    return written.getvalue()


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_a_turned_page_is_read_column_by_column(read: Read, degrees: int) -> None:
    columns = [(72, _LINES), (320, [line.replace("boat", "ship") for line in _LINES])]
    content = "\n".join(
        _drawn(degrees, x, 500 - 12 * number, line) for x, lines in columns for number, line in enumerate(lines)
    )
    text = read(_turned(content, degrees), "a.pdf").text
    assert text == "\n\n".join(" ".join(lines) for _, lines in columns)
