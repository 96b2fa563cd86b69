"""Titles of PDF files by their type, names in a row, signs of lists and words with a background."""

import string
from dataclasses import replace
from itertools import accumulate

import pytest

from benchmarks.support import drawn_pdf
from benchmarks.support.drawn_pdf import Text
from rag.parsing.readers.pdf.running_text import as_markdown, find_styles
from rag.parsing.readers.pdf.text_lines import TextLine
from tests.parsing import files
from tests.parsing.conftest import Read


def _line(text: str, bottom: float, *, height: float = 10) -> TextLine:
    return TextLine(text, 50, bottom, bottom, height, False, False, -1)


_TEXT = [
    _line("The club has a boat, and its members sail on the lake every day of the summer.", 300 - 12 * n)
    for n in range(9)
]
_NAMES = ["Mary Poole, chair", "Tom Lake", "Ann Reed", "Joe Rivers", "Sue Brook, treasurer"]


def _width(word: str) -> float:
    """Return about how wide a word is in Helvetica of 10 points."""
    return sum({"m": 8.3, "M": 8.3, "i": 2.2, "r": 3.3, "t": 2.8, "s": 5.0}.get(letter, 5.56) for letter in word)


def _markdown(*lines: TextLine) -> str:
    return as_markdown(lines, frozenset(), find_styles(lines))


def test_names_in_large_type_below_a_title_are_text() -> None:
    names = [_line(name, 660 - 30 * number, height=14) for number, name in enumerate(_NAMES)]
    text = _markdown(_line("The board", 700, height=20), *names, *_TEXT)
    assert text.startswith("# The board\n\nMary Poole, chair\n\nTom Lake\n\nAnn Reed\n\nJoe Rivers\n\n## Sue Brook")
    assert _markdown(*names).startswith("Mary Poole, chair")


def test_a_long_text_in_large_type_is_no_heading() -> None:
    verses = [_line(f"Verse {number} of the song", 690 - 18 * number, height=14) for number in range(7)]
    sentence = _line("The boats of the club sail on the lake until the sun goes down in the evening", 0, height=14)
    paragraph = [replace(sentence, bottom=500 - 18 * number, end=500 - 18 * number) for number in range(3)]
    for lines in (verses, paragraph):
        assert "#" not in _markdown(*lines, *_TEXT)
        assert _markdown(*lines[:2], *_TEXT).startswith("# ")


def test_a_few_titles_on_each_other_and_numbered_ones_stay() -> None:
    few = [_line(name, 660 - 30 * number, height=14) for number, name in enumerate(_NAMES[:4])]
    assert _markdown(*few, *_TEXT).count("# ") == 4
    numbered = [_line(f"{number}. {name}", 660 - 30 * number, height=14) for number, name in enumerate(_NAMES, 1)]
    assert _markdown(*numbered, *_TEXT).count("# ") == 5


def test_round_and_square_signs_begin_items() -> None:
    lines = [_line(f"{sign} Bring {sign}", 400 - 12 * number) for number, sign in enumerate("●○■")]
    assert _markdown(*lines) == "- Bring ●\n\n- Bring ○\n\n- Bring ■"


def test_items_in_large_type_and_what_goes_on_below_are_text() -> None:
    texts = ["• Bring a coat, and tell", "the others when you come"]
    items = [replace(_line(text, 700 - 24 * number, height=20), start=1) for number, text in enumerate(texts)]
    assert _markdown(*items, *_TEXT).startswith("- Bring a coat, and tell the others when you come\n\n")


def test_an_o_of_equal_width_is_a_bullet_of_word(read: Read) -> None:
    items = [Text(70, 700 - 14 * number, "o", 10, bold=True) for number in range(3)]
    items += [Text(90, 700 - 14 * number, text) for number, text in enumerate(["swim", "sail", "o rest"])]
    content = drawn_pdf.draw([[items[place] for place in (0, 3, 1, 4, 2, 5)]])
    text = read(content.replace(b"/Helvetica-Bold", b"/Courier-Bold  "), "a.pdf").text
    assert text == "- swim\n- sail\n- o rest"


def test_the_lines_of_a_numbered_title_in_the_middle_are_one_title() -> None:
    lines = [replace(_line("2. Boats of members", 700, height=14), left=90, start=1)]
    lines.append(_line("and of their guests on the lake", 684, height=14))
    assert _markdown(*lines, *_TEXT).startswith("# 2. Boats of members and of their guests on the lake\n\n")


def test_type_with_a_line_around_its_letters_is_bold(read: Read) -> None:
    rows = ["we meet at the old boathouse on the lake", "and sail until it is dark"]
    text = "".join(f" 0 -14 Td ({row}) Tj" for row in rows * 2)
    content = f"BT /F1 12 Tf 72 700 Td 2 Tr (summer days) Tj 0 Tr 0 -10 Td {text} ET"
    parsed = read(files.pdf_with_letters(content, string.ascii_lowercase), "a.pdf")
    assert [heading.title for heading in parsed.headings] == ["summer days"]


def test_words_with_a_background_are_no_cells(read: Read) -> None:
    rows = ["we meet at the old boathouse on the lake", "and sail until it is dark", "and the moon shines"]
    places = [(70, 190), (260, 40), (300, 60)]
    areas = "".join(f" {x} {694 - 14 * row} {width} 14 re f" for row in range(3) for x, width in places)
    text = "".join(f" 0 -14 Td ({row}) Tj" for row in rows)
    content = f"0.9 g{areas} 0 g BT /F1 12 Tf 72 712 Td {text} ET"
    assert "|" not in read(files.pdf_with_letters(content, string.ascii_lowercase), "a.pdf").text


@pytest.mark.parametrize(
    ("color", "is_heading"),
    [((47, 84, 150), True), ((0, 0, 0), False), ((35, 31, 32), False)],
    ids=["blue", "black", "black of another colour space"],
)
def test_titles_of_word_in_another_color_are_headings(color: tuple[int, int, int], *, is_heading: bool) -> None:
    """They are hardly larger than the text, and not bold."""
    title = replace(_line("How to moor", 324, height=11), color=color)
    text = [replace(line, color=(0, 0, 0)) for line in _TEXT]
    assert _markdown(title, *text).startswith("# How to moor\n" if is_heading else "How to moor\n")


def test_links_in_another_color_are_text() -> None:
    link = replace(_line("www.example.org", 324), color=(0, 0, 255))
    assert "#" not in _markdown(link, *(replace(line, color=(0, 0, 0)) for line in _TEXT))


@pytest.mark.parametrize("mark", ["\u2022", "a)", "aa)", "1.", "o"])
def test_items_whose_text_is_far_from_their_mark_have_all_of_their_lines(read: Read, mark: str) -> None:
    """Office programs set the text of an item at a tab, so that the mark looks like the first cell of a row."""
    texts = ["The boathouse is closed at night.", "Bring a warm coat and boots, and leave", "the dog at home."]
    page = [Text(90, 700 - 13 * number, text) for number, text in enumerate(texts)]
    page = [Text(60, 700, mark), page[0], Text(60, 687, mark), *page[1:]]
    text = read(drawn_pdf.draw([page]), "a.pdf").text
    assert "closed at night." in text.splitlines()[0]
    assert "Bring a warm coat and boots, and leave the dog at home." in text


def test_a_line_that_is_spread_to_the_margins_is_no_row(read: Read) -> None:
    words = ["Members", "bring", "their", "boats", "to", "the"]
    places = list(accumulate((_width(word) + 14 for word in words), initial=60.0))
    spread = [Text(x, y, word) for y in (700, 687) for x, word in zip(places, words, strict=False)]
    text = read(drawn_pdf.draw([[*spread, Text(60, 674, "boathouse in autumn.")]]), "a.pdf").text
    assert text.endswith("bring their boats to the boathouse in autumn.")


def test_letters_with_a_dot_begin_items_and_abbreviations_do_not() -> None:
    texts = ["The board", "a. invites to the meeting,", "ii. keeps the books of the club", "e. V. and its funds."]
    lines = [_line(text, 400 - 12 * number) for number, text in enumerate(texts)]
    assert _markdown(*lines) == (
        "The board\n\na. invites to the meeting,\n\nii. keeps the books of the club e. V. and its funds."
    )


def test_signs_for_private_use_are_bullets() -> None:
    lines = [_line(f"{sign} Bring a boat", 400 - 12 * number) for number, sign in enumerate("\uf0a7\uf0d8")]
    assert _markdown(*lines) == "- Bring a boat\n\n- Bring a boat"


@pytest.mark.parametrize("number", ["3.", "Article 3:", "§ 3"])
def test_a_short_numbered_line_above_indented_text_is_a_heading(number: str) -> None:
    title, below = f"{number} Boats of members", "The boats of members lie at the pier from May to October."
    lines = [_line(title, 400), replace(_line(below, 384), left=80)]
    assert _markdown(*lines, *_TEXT).startswith(f"## {title}\n\n")
    assert _markdown(lines[0], _line(below, 384), *_TEXT).startswith(title), "not indented"
    assert _markdown(_line(f"{title}.", 400), lines[1], *_TEXT).startswith(title), "a sentence"


def test_an_item_is_no_heading() -> None:
    """Its next line goes on, or is about as long."""
    for first, second in [("3. Boats", "are for members of the club and guests."), ("3. Boats of all", "Our members")]:
        lines = [_line(first, 400), replace(_line(second, 388), left=80)]
        assert "#" not in _markdown(*lines, *_TEXT)


def test_a_number_within_a_sentence_begins_no_item() -> None:
    texts = ["(a) members for more than five", "(5) years; and", "(b) their children."]
    lines = [_line(text, 400 - 12 * number) for number, text in enumerate(texts)]
    assert _markdown(*lines) == "(a) members for more than five (5) years; and\n\n(b) their children."


def test_an_item_whose_first_line_alone_is_indented_goes_on() -> None:
    first = replace(_line("a) honorary members, whom the meeting elects by a show", 400), left=80, start=1)
    assert _markdown(first, _line("Of hands at the end of the sailing season in autumn", 388)) == (
        "a) honorary members, whom the meeting elects by a show Of hands at the end of the sailing season in autumn"
    )
    short = replace(first, text="a) honorary members")
    assert "\n\nThe meeting" in _markdown(short, _line("The meeting elects them by a show of hands", 388))


def test_bold_items_with_a_dash_are_no_headings() -> None:
    items = [replace(_line("- Boats of members", 400 - 24 * number), is_bold=True) for number in range(2)]
    assert "#" not in _markdown(*items, *_TEXT)


def _bold(text: str, bottom: float) -> TextLine:
    return replace(_line(text, bottom), is_bold=True, ends_bold=True)


@pytest.mark.parametrize("title", ["Artículo 4. Las cuotas.", "Art. 12 - Die Beiträge.", "§ 7 Members.", "Article IV."])
def test_titles_of_articles_may_end_with_a_full_stop(title: str) -> None:
    assert _markdown(_bold(title, 330), *_TEXT).startswith(f"# {title}")
    assert not _markdown(_bold("Nobody may smoke.", 330), *_TEXT).startswith("#")


def test_a_numbered_title_at_the_end_of_a_page_is_one() -> None:
    for title in ("Artículo 8. Convocatoria.", "6. The boats"):
        assert _markdown(*_TEXT, _bold(title, 170)).endswith(f"\n# {title}")
    assert not _markdown(*_TEXT, _bold("Mary Poole", 170)).endswith("# Mary Poole")


def test_a_paragraph_in_larger_type_is_text() -> None:
    lines = ["Our work is for all of those who", "sail on the lakes in the west, and", "who help others."]
    paragraph = [_line(text, 400 - 15 * number, height=12) for number, text in enumerate(lines)]
    assert "#" not in _markdown(*paragraph, *_TEXT)
    assert _markdown(*paragraph[:2], *_TEXT).startswith("# ")
