"""The letters of a PDF page: accents that are drawn over their letters."""

import string

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from rag.parsing.readers.pdf.letters.overprinted import leave_out_copies
from rag.parsing.readers.pdf.letters.raised import join_raised
from rag.parsing.readers.pdf.letters.spacing_accents import LEFT_OUT, Accents
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

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


@pytest.mark.parametrize(("letter", "shown"), [("\x96", "–"), ("\xad", "-")])
def test_dashes_and_hyphens_are_read_as_they_are_drawn(read: Read, letter: str, shown: str) -> None:
    assert read(files.pdf_with_letters(_drawn((72, "14.00 a 15.30")), letter), "a.pdf").text == f"14.00 {shown} 15.30"


def test_a_large_initial_does_not_make_a_heading(read: Read) -> None:
    lines = "".join(f"BT /F1 10 Tf 72 {708 - 12 * number} Td (of every summer on the lake) Tj ET " for number in (0, 1))
    first = "BT /F1 22 Tf 72 720 Td (T) Tj /F1 10 Tf (he boats sail on the first day) Tj ET "
    parsed = read(files.pdf_with_letters(first + lines, "a"), "a.pdf")
    assert parsed.text.startswith("The boats sail on the first day of every")


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


def test_words_that_are_printed_on_each_other_are_one() -> None:
    line = "Fees – Fees – in May in May"
    lefts = [50.0, 56, 62, 68, 74, 80, 86, *[50.5, 56.5, 62.5, 68.5, 74.5, 80.5, 86.5]]
    lefts += [92.0, 98, 104, 110, 116, 122, 128, *[92.5, 98.5, 104.5, 110.5, 116.5, 122.5]]
    once = leave_out_copies(line, 0, lambda number: (lefts[number], 100.0, lefts[number] + 5, 108.0))
    assert " ".join(once.replace(LEFT_OUT, "").split()) == "Fees – in May"


def test_signs_of_ligatures_beside_no_letter_are_spaces(read: Read) -> None:
    """Some programs write the end of a line and a space between words, TeX the ligature "fl" as the same sign."""
    content = _drawn((72, "abcd"), (108, "e"), (122, "bcda"))
    assert read(files.pdf_with_letters(content, "wxyz\r"), "a.pdf").text == "wxyz xyzw"
    assert read(files.pdf_with_letters(_drawn((72, "ebcd")), "wxyz\r"), "a.pdf").text == "flxyz"


def test_words_that_are_repeated_beside_each_other_stay(read: Read) -> None:
    text = read(files.pdf_with_letters(_drawn((72, "abcd abcd")), "wxyz"), "a.pdf").text
    assert text == "wxyz wxyz"


def test_long_lines_take_linear_time() -> None:
    def look(line: str) -> str:
        return leave_out_copies(line, 0, lambda number: (number * 6.0, 0.0, number * 6.0 + 5, 8.0))

    assert look("aa bb " * 20) == "aa bb " * 20
    assert takes_linear_time(look, lambda length, attempt: f"aa{attempt} " * (length // 4), 40_000)


def test_labels_that_were_written_behind_the_text_stand_before_their_items(read: Read) -> None:
    """WeasyPrint draws the bullets and numbers of a page last."""
    items = ["boats", "rafts", "with oars"]
    lines = [Text(72, 700 - 30 * number, text) for number, text in enumerate(items)]
    labels = [Text(300, 600, "•"), Text(62, 640, "•"), Text(58, 700, "1."), Text(58, 670, "2.")]
    text = read(drawn_pdf.draw([[*lines, *labels]]), "a.pdf").text
    assert text.split("\n\n") == ["1. boats", "2. rafts", "- with oars"]


def test_labels_without_an_item_at_their_right_stay(read: Read) -> None:
    lines = [Text(72, 700, "The boats are ready."), Text(56, 650, "1."), Text(72, 600, "The rafts are not.")]
    assert read(drawn_pdf.draw([lines]), "a.pdf").text.split("\n\n")[1] == "1."


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (Text(85.8, 703.5, "th", 6), "On May 12th we meet."),
        (Text(98.9, 703.5, "th", 6), "On May 12 th we meet."),  # farther away
    ],
)
def test_raised_letters_stay_in_their_line(read: Read, raised: Text, text: str) -> None:
    before = Text(36.7, 700, "On May 12")
    after = Text(raised.x + 8, 700, "we meet.")
    assert text in read(drawn_pdf.draw([[before, raised, after]]), "a.pdf").text


def test_raised_letters_are_found_in_linear_time() -> None:
    def join(text: str) -> None:
        join_raised(text, lambda number: (0, 0, 0, 0), lambda number: 0, lambda number: 10)

    assert takes_linear_time(join, lambda length, attempt: f"a{attempt}\r\nb " * (length // 8), 40_000)


@pytest.mark.parametrize("sign", ["\ufffd", "\u08a2"])
def test_ligatures_without_letters_are_known_by_their_width(read: Read, sign: str) -> None:
    """Some programs name a letter of another script instead."""
    # The sign for "z" is as wide as "ti" in this font, that for "m" as no ligature.
    letters = string.ascii_lowercase.replace("z", sign).replace("m", "\ufffd")
    content = "BT /F1 12 Tf 72 700 Td (the rulers of our nazon find that acm is a sign) Tj 0 -14 Td (z) Tj ET"
    text = read(files.pdf_with_letters(content, letters), "a.pdf").text
    assert "rulers of our nation find that ac\ufffd is" in text


def test_icons_of_a_font_are_no_ligatures(read: Read) -> None:
    text = read(files.pdf_with_letters(_drawn((72, "abcde")), "wxyz\ue92c"), "a.pdf").text
    assert text.startswith("wxyz")
    assert "ti" not in text
