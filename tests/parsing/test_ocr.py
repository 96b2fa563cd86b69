"""Text recognition of pictures and scanned pages, and the order of what was recognised."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image, ImageOps

from rag.errors import ParseFailed, UnsupportedFormat
from rag.parsing import formats, parse
from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.ocr import layout, models
from rag.parsing.ocr.lines import Line, correct_text
from rag.parsing.ocr.locate_lines import locate_lines
from rag.parsing.ocr.regions import Rectangle
from rag.parsing.readers.pdf.large_pictures import find_pages_of_pictures
from rag.types import LineBox, Page
from tests.support.checks.growth import takes_linear_time

from . import files
from .conftest import Read
from .files import pictures


def distance(text: str, other: str) -> int:
    """The number of characters to insert, delete or replace (Levenshtein)."""
    row = list(range(len(other) + 1))
    for number, character in enumerate(text, 1):
        previous, row[0] = row[0], number
        for column, target in enumerate(other, 1):
            cost = min(row[column] + 1, row[column - 1] + 1, previous + (character != target))
            previous, row[column] = row[column], cost
    return row[-1]


def test_scans_in_six_languages_are_read_clean_skewed_and_noisy(read: Read, settings: Any) -> None:
    settings.RAG_PARSE_TIMEOUT_SECONDS = 0  # text recognition has a limit of its own
    clean = pictures.accents()
    scans = clean, pictures.skewed(clean), pictures.noisy(clean)
    parsed = read(pictures.encoded(*scans, kind="TIFF"), "a.tiff", ocr=True)
    assert [page.number for page in parsed.pages] == [1, 2, 3]
    assert parsed.media_type == formats.TIFF
    ends = [page.start for page in parsed.pages[1:]] + [len(parsed.text)]
    texts = [parsed.text[page.start : end].split() for page, end in zip(parsed.pages, ends, strict=True)]
    expected = " ".join(pictures.ACCENTS)
    errors = [distance(" ".join(text), expected) / len(expected) for text in texts]
    assert errors[0] <= 0.02, texts[0]
    assert max(errors[1:]) <= 0.05, texts[1:]


def test_only_pages_without_a_text_layer_are_recognised(read: Read) -> None:
    scan = pictures.page(["Wasps build nests of paper."])
    content = files.pdf(["Bees are remarkable insects.", scan, "", "Ants are too."])
    parsed = read(content, "a.pdf", ocr=True)
    texts = ["Bees are remarkable insects.", "Wasps build nests of paper.", "Ants are too."]
    assert parsed.text == "\n\n".join(texts)
    assert parsed.pages == tuple(
        Page(parsed.text.index(text), number) for text, number in zip(texts, (1, 2, 4), strict=True)
    )
    assert read(content, "a.pdf", ocr=False).text == f"{texts[0]}\n\n{texts[2]}"


def test_a_text_layer_whose_signs_are_no_letters_is_recognised(read: Read) -> None:
    scan, signs = pictures.page(["Wasps build nests of paper."]), "!#$%&'*+,/:;<=>?@[]^{}~" * 6
    assert read(files.pdf([scan], layer=signs), "a.pdf", ocr=True).text == "Wasps build nests of paper."
    for layer in (signs[:90], f"{signs}{'A name of 1905 ' * 5}", f"{'. . . . ' * 20}12"):
        parsed = read(files.pdf([scan], layer=layer), "a.pdf", ocr=True)
        assert bool(parsed.recognitions) == (not any(map(str.isalnum, layer)))


def test_a_picture_with_a_short_text_on_it_is_recognised(read: Read) -> None:
    line, stamp = pictures.page(["Wasps build nests of paper."]), "Copy 7"
    scan = Image.new("L", (line.width, line.width), "white")
    scan.paste(line, (0, 100))
    assert read(files.pdf([scan], layer=stamp), "a.pdf", ocr=True).text == "Wasps build nests of paper."
    assert not read(files.pdf([scan], layer="A name of 1905 " * 10), "a.pdf", ocr=True).recognitions


def test_backgrounds_and_small_pictures_are_not_recognised() -> None:
    large, small = Image.new("L", (300, 300), "white"), Image.new("L", (300, 100), "white")
    assert find_pages_of_pictures(files.pdf([large, small]), [1, 2]) == [1]
    assert find_pages_of_pictures(files.pdf([large] * 3), [1, 2, 3]) == []


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_pictures_are_refused_if_recognition_is_off(read: Read, kind: str) -> None:
    content = pictures.encoded(pictures.page(["Bees"]), kind=kind)
    with pytest.raises(UnsupportedFormat, match=r"text recognition \(OCR\) is off. Turn it on"):
        read(content, "a.txt")
    with pytest.raises(ParseFailed, match=r"a scan\), and text recognition \(OCR\) is off"):
        read(pictures.encoded(pictures.page(["Bees"]), kind="PDF"), "a.pdf")


def test_without_its_packages_recognition_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "is_installed", lambda: False)
    picture = pictures.encoded(pictures.page(["Bees"]), kind="PNG")
    with pytest.raises(UnsupportedFormat, match="an administrator may have to install it"):
        parse.detect_type(picture, content_type="", name="a.png", ocr=True)


def test_limits_of_recognition(read: Read, settings: Any) -> None:
    settings.RAG_OCR_MAX_PAGES = 1
    two = [pictures.page(["Bees hum."])] * 2
    for kind in ("PDF", "TIFF"):
        with pytest.raises(ParseFailed, match="More than 1 pages are pictures"):
            read(pictures.encoded(*two, kind=kind), "a", ocr=True)
    with pytest.raises(ParseFailed, match="67 million pixels"):
        read(pictures.encoded(Image.new("1", (9000, 9000)), kind="PNG"), "a.png", ocr=True)
    with pytest.raises(ParseFailed, match="damaged or cut off"):
        read(pictures.encoded(two[0], kind="PNG")[:200], "a.png", ocr=True)
    with pytest.raises(ParseFailed, match="No text was recognised"):
        read(pictures.encoded(Image.new("RGB", (64, 64)), kind="WEBP"), "a.webp", ocr=True)


def test_a_turned_picture_is_read(read: Read) -> None:
    page = pictures.page(["Bees are remarkable insects.", "Wasps are too."])
    for turned in (page.transpose(Image.Transpose.ROTATE_180), page.transpose(Image.Transpose.ROTATE_270)):
        text = read(pictures.encoded(turned, kind="PNG"), "a.png", ocr=True).text
        assert text == "Bees are remarkable insects. Wasps are too."


@pytest.mark.parametrize("colour", [0, 255])
def test_dark_and_bright_text_without_a_background_is_read(read: Read, colour: int) -> None:
    ink = ImageOps.invert(pictures.page(["Bees are remarkable insects."]).convert("L"))
    drawing = Image.merge("RGBA", [*[Image.new("L", ink.size, colour)] * 3, ink])
    text = read(pictures.encoded(drawing, kind="PNG"), "a.png", ocr=True).text
    assert text == "Bees are remarkable insects."


@pytest.mark.parametrize(
    ("recognised", "corrected"),
    [
        ("Loans of up to150 euros", "Loans of up to 150 euros"),
        ("Von8 bis12 Uhr, ,,Haus“", "Von 8 bis 12 Uhr, „Haus“"),
        ("Family $3O, € 1.O5O,OO", "Family $30, € 1.050,00"),
        ("Auto2000 and H2O, v2, a/to150, TO220", "Auto2000 and H2O, v2, a/to150, TO220"),
    ],
)
def test_recognised_lines_are_corrected(recognised: str, corrected: str) -> None:
    assert correct_text(recognised) == corrected


def test_correcting_takes_a_time_in_proportion_to_the_length() -> None:
    assert takes_linear_time(correct_text, lambda length, number: f"to{number} to1,,$1O" * length, 20_000)


def ink_of(picture: Image.Image, box: LineBox) -> tuple[float, ...]:
    """The edges of what is written in a box that is a little larger, in shares of the page."""
    width, height = picture.size
    left, top = max(0, int(box.left * width) - 4), max(0, int(box.top * height) - 4)
    part = picture.convert("L").crop((left, top, int(box.right * width) + 4, int(box.bottom * height) + 4))
    ink = part.point(lambda value: 255 if value < 128 else 0).getbbox()
    assert ink
    return (left + ink[0]) / width, (top + ink[1]) / height, (left + ink[2]) / width, (top + ink[3]) / height


WRITTEN = ["Bees are remarkable insects.", "Wasps build nests of paper."]


@pytest.mark.parametrize("turn", [None, Image.Transpose.ROTATE_180, Image.Transpose.ROTATE_270], ids=str)
@pytest.mark.parametrize("kind", ["PNG", "PDF"])
def test_recognised_lines_keep_page_and_box(read: Read, kind: str, turn: Image.Transpose | None) -> None:
    page = pictures.page(WRITTEN)
    page = page.transpose(turn) if turn is not None else page
    parsed = read(pictures.encoded(page, kind=kind), "a", ocr=True)
    assert [parsed.text[box.start : box.end] for box in parsed.line_boxes] == WRITTEN
    assert [box.page for box in parsed.line_boxes] == [1, 1]
    edges = [(box.left, box.top, box.right, box.bottom) for box in parsed.line_boxes]
    for number, box in enumerate(parsed.line_boxes):
        # The whole line and nothing of the other one is in the box.
        assert ink_of(page, box) == pytest.approx(edges[number], abs=0.08)
    first, second = edges
    is_level = turn in (None, Image.Transpose.ROTATE_180)
    assert (first[3] < second[3] if turn is None else first[1] > second[1]) if is_level else first[0] > second[0]
    assert [recognition.engine for recognition in parsed.recognitions] == ["built-in"]
    assert parsed.recognitions[0].seconds > 0


def test_only_recognised_pages_have_boxes(read: Read) -> None:
    parsed = read(files.pdf(["Bees are remarkable insects.", pictures.page(WRITTEN[1:])]), "a.pdf", ocr=True)
    ((box,), (recognition,)) = parsed.line_boxes, parsed.recognitions
    assert (parsed.text[box.start : box.end], box.page) == (WRITTEN[1], 2)
    assert recognition.engine == "built-in"
    plain = read(files.pdf(["Bees are remarkable insects."]), "a.pdf", ocr=True)
    assert (plain.line_boxes, plain.recognitions) == ((), ())


def test_divided_words_cells_and_headings_are_located(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line("A large title", 0, 0, height=60), line("remark-", 0, 150), line("able | insects", 0, 190)]
    lines += [
        line(cell, 400 * x, 400 + 60 * y) for y, row in enumerate(["AB", ["C", "a|b"]]) for x, cell in enumerate(row)
    ]
    builder = MarkdownBuilder()
    builder.add_page(1)
    ordered = layout.add_lines(builder, lines)
    parsed = builder.build()
    boxes = locate_lines(parsed, {1: ordered})
    texts = ["A large title", "remark", "able | insects", "A", "B", "C", "a\\|b"]
    assert [parsed.text[box.start : box.end] for box in boxes] == texts
    assert all(before.end <= after.start for before, after in itertools.pairwise(boxes))
    monkeypatch.setattr("rag.parsing.ocr.locate_lines.MAX_LINE_BOXES", 2)
    assert locate_lines(parsed, {1: ordered}) == boxes[:2]
    assert locate_lines(parsed, {1: [line("Nothing of it", 0, 0), *ordered]}) == boxes[:2]


def line(text: str, left: float, top: float, *, height: float = 30) -> Line:
    width = len(text) * height / 2
    return Line(text, 1.0, Rectangle(left + width / 2, top + height / 2, width, height, 0.0))


def page_text(lines: list[Line]) -> str:
    builder = MarkdownBuilder()
    layout.add_lines(builder, lines)
    return builder.build().text


@pytest.fixture(params=[0.0, 0.05], ids=["straight", "skewed"])
def lay(request: pytest.FixtureRequest) -> Callable[[list[Line]], str]:
    """Returns the text of lines on a page that lies straight or at an angle of 3 degrees."""
    cos, sin = math.cos(request.param), math.sin(request.param)

    def turned(one: Line) -> Line:
        box = one.box
        return Line(
            one.text,
            1.0,
            Rectangle(box.x * cos - box.y * sin, box.x * sin + box.y * cos, box.width, box.height, request.param),
        )

    return lambda lines: page_text([turned(one) for one in lines])


def test_columns_are_read_one_after_the_other(lay: Callable[[list[Line]], str]) -> None:
    left = [line(f"The left column has line {number} of", 0, 100 + 40 * number) for number in range(4)]
    right = [line(f"The right column has line {number},", 700, 100 + 40 * number) for number in range(4)]
    title = line("A title over both columns", 0, 0, height=50)
    text = lay([title, *(one for pair in zip(right, left, strict=True) for one in pair)])
    assert text.startswith("## A title over both columns\n\nThe left column has line 0 of The left")
    assert text.index("left column has line 3") < text.index("right column has line 0")


def test_tables_keep_rows_and_columns(lay: Callable[[list[Line]], str]) -> None:
    rows = [["Name", "Town", "Year"], ["Ada", "", "1815"], ["Grace Hopper", "York", "1906"]]
    cells = [line(cell, 400 * x, 60 * y) for y, row in enumerate(rows) for x, cell in enumerate(row) if cell]
    below = line("These are the people who are in it.", 0, 300)
    assert lay([*cells, below]) == (
        "| Name | Town | Year |\n| --- | --- | --- |\n| Ada |  | 1815 |\n| Grace Hopper | York | 1906 |\n\n"
        "These are the people who are in it."
    )


def test_paragraphs_and_divided_words_are_joined() -> None:
    first = [line("Bees are remark-", 0, 0), line("able insects of the", 0, 40), line("garden.", 0, 80)]
    assert (
        page_text([*first, line("Wasps are too.", 0, 180)])
        == "Bees are remarkable insects of the garden.\n\nWasps are too."
    )


@pytest.mark.parametrize("heading", ["2. Boats", "3.1 Winter storage", "§ 4 Guests", "Opening hours"])
def test_a_short_line_above_a_full_one_is_its_heading(heading: str) -> None:
    text = "Boats may be taken out from seven to sunset. Beginners"
    lines = [line(heading, 100, 100), line(text, 100, 140), line("must wear a life jacket until the test.", 100, 180)]
    assert page_text(lines) == f"## {heading}\n\n{text} must wear a life jacket until the test."


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Close the valve.", "Then wait until the lamp is green, and open it again."),
        ("1. Close the valve", "before the lamp is green, or the water runs out again."),
        ("Dear members,", "Boats may be taken out from seven to sunset. Beginners"),
        ("River Road 5", "40213 Riverside"),
        ("Boats may be taken out from seven to sunset", "Beginners must wear a life jacket until the test."),
    ],
)
def test_other_first_lines_belong_to_their_paragraph(first: str, second: str) -> None:
    assert page_text([line(first, 100, 100), line(second, 100, 140)]) == f"{first} {second}"


def test_items_begin_paragraphs() -> None:
    lines = ["Guests may bring:", "1. a towel", "2. their own boat, which is", "not longer than 4 m.", "3. a friend"]
    text = page_text([line(one, 100, 100 + 40 * number) for number, one in enumerate(lines)])
    assert text == "Guests may bring:\n\n1. a towel\n\n2. their own boat, which is not longer than 4 m.\n\n3. a friend"


@pytest.mark.parametrize(("text", "is_heading"), [("RULES FOR GUESTS", True), ("TOTAL: 7", False), ("NATO", False)])
def test_a_line_in_capitals_on_its_own_is_a_heading(text: str, is_heading: bool) -> None:
    below = line("Boats may be taken out from seven to sunset.", 100, 200)
    assert page_text([line(text, 100, 100), below]).startswith(f"## {text}" if is_heading else text)


def test_capitals_are_found_in_linear_time() -> None:
    def lay_line(text: str) -> str:
        return page_text([line(text, 100, 100)])

    assert takes_linear_time(lay_line, lambda length, seed: f"{seed}" + "A " * (length // 2), 50_000)
