"""The text of the pages of a PDF: columns, headings, divided words, programs, Arabic and Hebrew, forms."""

from dataclasses import replace

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from rag.errors import ParseFailed
from rag.parsing.readers.pdf import page_texts
from rag.parsing.readers.pdf.form_fields import Field, insert
from rag.parsing.readers.pdf.letters.right_to_left import in_reading_order
from rag.parsing.readers.pdf.running_text import Styles, as_markdown, find_styles, join_divided_words
from rag.parsing.readers.pdf.text_lines import TextLine
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


def _line(text: str, bottom: float, *, left: float = 50, height: float = 10, bold: bool = False) -> TextLine:
    return TextLine(text, left, bottom, bottom, height, bold, False, -1)


def _markdown(*lines: TextLine) -> str:
    return as_markdown(lines, frozenset(), find_styles(lines))


def test_columns_are_read_one_after_the_other(read: Read) -> None:
    columns = [
        ["The heron nests in colonies, and", "it comes back to the same tree", "in every spring of its life."],
        ["The stork nests on roofs, where it", "is seen from far away, and people", "put up wheels for it."],
    ]
    page = [Text(56, 780, "Large birds", 18, bold=True)]
    page += [
        Text(56 + 190 * column, 750 - 12 * number, line)
        for column, lines in enumerate(columns)
        for number, line in enumerate(lines)
    ]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert text == "# Large birds\n\n" + "\n\n".join(" ".join(lines) for lines in columns)


def test_a_sentence_goes_on_in_the_next_column() -> None:
    lines = [_line("Herons nest in", 100), _line("colonies near", 88), _line("water.", 700, left=300)]
    assert _markdown(*lines) == "Herons nest in colonies near water."


def test_headings_are_larger_or_bold_and_no_sentences() -> None:
    lines = [
        _line("Birds", 700, height=20),
        _line("Herons nest in colonies near water.", 670),
        _line("Food", 640, bold=True),
        _line("They eat fish and frogs of all kinds.", 620),
        _line("This larger note ends as a sentence does.", 580, height=12),
        _line("7", 540, height=20),
    ]
    headings = [line for line in _markdown(*lines).split("\n") if line.startswith("#")]
    assert headings == ["# Birds", "### Food"]


def _headings(*lines: TextLine) -> list[str]:
    return [line for line in _markdown(*lines).split("\n") if line.startswith("#")]


_SENTENCE = "Herons nest in colonies near water and come back each spring."


def test_bold_headings_may_be_on_each_other_and_have_several_lines() -> None:
    lines = [
        _line("Rules of the club", 720, bold=True),
        _line("1 Members", 690, bold=True),
        _line(_SENTENCE, 670),
        _line("2 Fees that all members of", 640, bold=True),
        _line("the club pay in January", 628, bold=True),
        _line(_SENTENCE, 608),
        _line("Sports Club e. V.", 580, bold=True),
        _line(_SENTENCE, 560),
    ]
    titles = ["Rules of the club", "1 Members", "2 Fees that all members of the club pay in January"]
    assert _headings(*lines) == [f"# {title}" for title in [*titles, "Sports Club e. V."]]


def test_a_colon_ends_a_numbered_heading_but_no_field() -> None:
    lines = [
        _line("2. Payment:", 700, bold=True),
        _line(_SENTENCE, 670),
        _line("Name:", 640, bold=True),
        _line(_SENTENCE, 620),
    ]
    assert _headings(*lines) == ["# 2. Payment:"]


def test_a_number_begins_a_heading_right_below_another_one() -> None:
    lines = [
        _line("5/ Other questions :", 700, bold=True),
        _line("A/ The temple", 688, bold=True),
        _line(_SENTENCE, 670),
        _line("Meeting of the committee in the year", 640, bold=True),
        _line("2021 about the garden", 628, bold=True),
        _line(_SENTENCE, 610),
    ]
    titles = ["5/ Other questions :", "A/ The temple", "Meeting of the committee in the year 2021 about the garden"]
    assert _headings(*lines) == [f"# {title}" for title in titles]


def test_a_heading_above_a_table_in_bold_is_a_heading() -> None:
    lines = [
        _line("1.1 Gates", 700, bold=True),
        _line("Upper   12", 686, bold=True),
        _line("Lower   9", 674, bold=True),
    ]
    lines += [_line("Left   7", 662, bold=True), _line("Right   8", 650, bold=True), _line(_SENTENCE, 600)]
    text = as_markdown(lines, frozenset([1, 2, 3, 4]), Styles(10, (), False, 1.2))
    assert text.startswith("# 1.1 Gates\n\nUpper 12\nLower 9\n")


def test_the_rest_of_bold_text_is_no_heading() -> None:
    first = replace(_line("9:00 Herons and other large", 700), ends_bold=True)
    lines = [_line(_SENTENCE, 730), first, _line("birds of the lakes", 688, bold=True), _line(_SENTENCE, 650)]
    assert _headings(*lines) == []


def test_words_in_capitals_lose_the_hyphen_that_divides_them() -> None:
    assert join_divided_words("GENERAL MEE\ufffe TING and E\ufffe Mail") == "GENERAL MEETING and E-Mail"


def test_a_hyphen_that_is_written_three_times_is_one() -> None:
    assert join_divided_words("Warm-\xad\u2010up") == "Warm-up"


def test_signs_of_markdown_stay_signs(read: Read) -> None:
    page = [Text(56, 700, "# no heading, a * b * c and x_y_z", 10), Text(56, 650, "> no quote in this line", 10)]
    parsed = read(drawn_pdf.draw([page]), "a.pdf")
    assert "a * b * c and x_y_z" in parsed.text
    assert not parsed.headings


def test_divided_words_are_joined_and_names_keep_their_hyphen() -> None:
    assert join_divided_words("insuf\ufffe\r\nficient") == "insufficient"
    assert join_divided_words("Baden\ufffe\r\nWürttemberg") == "Baden-Württemberg"
    assert join_divided_words("Vereins\ufffe\r\nund Platzordnung") == "Vereins- und Platzordnung"
    assert join_divided_words("by e\ufffe\r\nmail") == join_divided_words("by e-\nmail") == "by e-mail"


def test_lines_of_a_program_stay_lines() -> None:
    lines = [TextLine(text, 50, y, y, 10, False, True, -1) for text, y in (("if x:", 700), ("- 1", 688), ("y()", 676))]
    assert as_markdown(lines, frozenset(), Styles(10, (), False, 1.2)) == "if x:\n- 1\ny()"


@pytest.mark.parametrize(
    ("stored", "read_as"),
    [
        ("\u05d3\u05d2 \u05d1\u05d0", "\u05d0\u05d1 \u05d2\u05d3"),
        ("(\u05d1\u05d0) 4.2 \u05d3\u05d2", "\u05d2\u05d3 4.2 (\u05d0\u05d1)"),
    ],
)
def test_arabic_and_hebrew_are_read_from_the_right(stored: str, read_as: str) -> None:
    places = {number: (10.0 * number, 10.0 * number + 10) for number in range(len(stored))}
    assert in_reading_order(stored, places.__getitem__, 20) == read_as


def test_the_letters_of_a_ligature_are_in_order() -> None:
    """Lam and alef are one sign, so they have one place."""
    places = {0: (0.0, 5.0), 1: (0.0, 5.0), 2: (5.0, 9.0)}
    assert in_reading_order("\u0627\u0644\u0633", places.__getitem__, 20) == "\u0633\u0644\u0627"


def test_lines_take_linear_time() -> None:
    def order(text: str) -> None:
        in_reading_order(text, lambda number: (-10.0 * number, 10 - 10.0 * number), 20)

    assert takes_linear_time(order, lambda length, seed: ("\u05d0" + "1 - - %") * (length // 8), 20_000)
    assert takes_linear_time(join_divided_words, lambda length, seed: "a-\n\ufffe " * (length // 5), 100_000)


@pytest.mark.parametrize("unit", ["§ ", "1.", "Article 1", "IV", " "])
def test_the_number_of_a_title_is_found_in_linear_time(unit: str) -> None:
    def write(text: str) -> None:
        title = [_line("Fees and dues", 700, height=12), _line(f"{text}.", 688, height=12)]
        _markdown(*title, _line("b" * (len(text) + 100), 600))

    assert takes_linear_time(write, lambda length, seed: f"{unit * (length // len(unit))}{seed}", 40_000)


def test_a_pdf_that_is_cut_off_is_refused_not_read_with_wrong_letters(read: Read) -> None:
    content = drawn_pdf.draw([[Text(56, 700, "Herons nest in colonies.")]])
    with pytest.raises(ParseFailed, match="cut off"):
        read(content[: content.index(b"xref") - 200], "a.pdf")


def test_text_after_a_list_is_no_part_of_its_last_item() -> None:
    lines = [TextLine(text, left, y, y, 10, False, False, 0) for text, left, y in (
        ("1. Open the valve and wait until the", 60, 100), ("water is clear.", 72, 88), ("Damper: a plate.", 50, 76)
    )]  # fmt: skip
    assert _markdown(*lines) == "1. Open the valve and wait until the water is clear.\n\nDamper: a plate."


def test_ligatures_of_tex_are_letters(read: Read) -> None:
    page = [Text(56, 700, "The o\x0ece o\x0bers \x0cve di\x0berent plans."), Text(56, 685, "All of them are new.")]
    assert read(drawn_pdf.draw([page]), "a.pdf").text == "The office offers five different plans. All of them are new."


def test_the_text_in_a_field_follows_the_line_that_the_field_is_in() -> None:
    lines = [_line("Name:", 100), _line("Plate:", 80), _line("Sign here", 100, left=300)]
    fields = [Field("Ada Byron", 90, 96, 112), Field("BT 482", 90, 76, 92), Field("Remarks", 20, 10, 22)]
    texts = [line.text for line in insert(fields, lines)]
    assert texts == ["Name: Ada Byron", "Plate: BT 482", "Sign here", "Remarks"]


def test_pages_after_the_limit_of_characters_stay_as_they_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = drawn_pdf.draw([[Text(56, 700, "Herons nest in colonies.")]] * 2)
    monkeypatch.setattr(page_texts, "_MAX_PAGES_OF_STYLES", 1)
    monkeypatch.setattr(page_texts, "_MAX_CHARACTERS", 30)
    assert page_texts.improve(content, {1: "as read", 2: "as read"}) == {1: "Herons nest in colonies.", 2: "as read"}


def test_values_of_fields_whose_places_are_objects_of_their_own_are_read(read: Read) -> None:
    content = files.pdf_with_fields([("Where you would like to sit", "22F"), ("The gate from which you leave", "14")])
    text = read(content, "a.pdf").text
    assert text == "Where you would like to sit: 22F\n\nThe gate from which you leave: 14"


def test_words_in_devanagari_are_not_divided_at_signs_that_browsers_write_as_one(read: Read) -> None:
    """The sign of the vowel is drawn on its own, and both have one text."""
    shown = "(a) Tj 7 0 Td /Span << /ActualText <feff0915093e> >> BDC (b) Tj 7 0 Td (c) Tj EMC 3 0 Td (d) Tj"
    content = f"BT /F1 12 Tf 72 700 Td {shown} 12 0 Td {shown} ET"
    words = "\u092a\u0915\u093e\u0932"
    assert read(files.pdf_with_letters(content, words), "a.pdf").text == f"{words} {words}"


def test_spaces_after_letters_of_thai_take_linear_time() -> None:
    def improve(text: str) -> None:
        content = files.pdf_with_letters(f"BT /F1 1 Tf 2 700 Td ({'ab' * len(text)}) Tj ET", "\u0e33\u0e01")
        assert " " not in page_texts.improve(content, {1: text})[1]

    assert takes_linear_time(improve, lambda length, seed: "\u0e33 \u0e01" * (length // 3), 20_000)
