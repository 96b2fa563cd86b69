"""The letters of a PDF page: accents that are drawn over their letters."""

import pytest

from rag.parsing.readers.pdf.letters.spacing_accents import LEFT_OUT, Accents
from tests.parsing import files
from tests.parsing.conftest import Read

# Letters of Helvetica with 12 points: "a", "b" and "d" to "h" are as wide, "c" is narrower.
_WIDTH, _NARROW = 6.67, 6.0


def _drawn(*texts: tuple[float, str]) -> str:
    """Return the operators that draw each text at a place of the line."""
    return " ".join(f"BT /F1 12 Tf {left:.2f} 720 Td ({text}) Tj ET" for left, text in texts)


def test_accents_are_put_over_their_letters(read: Read) -> None:
    # "c", "a", "f", "e", an accent and a dotless "i" in the places of "a" to "f".
    second = 72 + 4 * _WIDTH + 2 * _NARROW
    content = _drawn(
        (72, "ab"),
        (72 + _WIDTH, "e"),  # over the second letter
        (72 + 2 * _WIDTH, "cd"),
        (second, "abcd"),
        (second + 2 * _WIDTH + _NARROW, "e"),  # over the last one
        (second + 5 * _WIDTH, "e"),
        (second + 5 * _WIDTH, "f"),
    )
    assert read(files.pdf_with_letters(content, "cafe´ı"), "a.pdf").text == "cáfe café í"


@pytest.mark.parametrize(("text", "composed"), [("a´", f"á{LEFT_OUT}"), ("1´", "1´"), ("b´", "b´")])
def test_only_known_letters_get_an_accent(text: str, composed: str) -> None:
    accents = Accents(lambda number: (50.0, 100.0, 56.0, 108.0), lambda number: 100.0, lambda number: 10.0)
    assert accents.compose(text) == composed


def test_signs_beside_letters_stay() -> None:
    accents = Accents(
        lambda number: (50.0 + 6 * number, 100.0, 56.0 + 6 * number, 108.0), lambda _: 100.0, lambda _: 10
    )
    assert accents.compose("`id`") == "`id`"


def test_many_accents_take_no_time() -> None:
    def fails(number: int) -> float:
        raise AssertionError(number)

    text = "´a" * 4_000
    assert Accents(lambda number: (0, 0, fails(number), 0), fails, fails).compose(text) == text
