"""Presentations of PowerPoint and OpenDocument."""

import io
import re
import zipfile
from collections.abc import Callable

import pytest

from rag.errors import ParseFailed
from rag.types import Heading, Page
from tests.parsing import files
from tests.parsing.conftest import Read


def test_each_slide_is_a_page_with_its_notes(read: Read) -> None:
    parsed = read(files.pptx([("First", "alpha"), ("Second", "beta")], notes={2: "say it slowly"}), "a.pptx")
    assert parsed.text == "# First\n\nalpha\n\n# Second\n\nbeta\n\nNotes: say it slowly"
    assert parsed.pages == (Page(0, 1), Page(16, 2))
    assert parsed.headings == (Heading(0, 1, "First"), Heading(16, 1, "Second"))


@pytest.mark.parametrize(
    ("declared", "first", "title"),
    [
        ("PowerPoint-Präsentation", "Bees of Trub", "Bees of Trub"),
        ("Présentation PowerPoint", "Bees of Trub", "Bees of Trub"),
        ("Corporate template", "Bees of Trub", "Bees of Trub"),
        ("Bees and wasps", "Bees of Trub", "Bees and wasps"),
        ("Corporate template", "", "alpha"),
        ("", "", "alpha"),
    ],
)
def test_the_title_of_a_template_is_not_that_of_the_slides(read: Read, declared: str, first: str, title: str) -> None:
    assert read(files.pptx([(first, "alpha"), ("Second", "beta")], title=declared), "a.pptx").title == title


def test_a_title_without_a_word_of_the_slides_is_that_of_another_presentation(read: Read) -> None:
    for declared, title in [("Comma splices", "Events in forms"), ("Forms of 2011.1219", "Forms of 2011.1219")]:
        content = files.pptx([("Events in forms", "alpha beta " * 120)], title=declared)
        assert read(content, "a.pptx").title == title


SLIDES = files.odf_slide("First", "alpha<text:line-break/>beta") + files.odf_slide("Second", "gamma", notes="slowly")


@pytest.mark.parametrize("build", [files.open_document, files.flat_open_document])
def test_open_document_slides_are_pages_with_notes(read: Read, build: Callable[..., bytes]) -> None:
    parsed = read(build("presentation", SLIDES, title="Talk"), "a.odp")
    assert parsed.text == "# First\n\nalpha\nbeta\n\n# Second\n\ngamma\n\nNotes: slowly"
    assert parsed.pages == (Page(0, 1), Page(21, 2))
    assert parsed.title == "Talk"


def test_flat_documents_that_are_damaged_are_reported(read: Read) -> None:
    with pytest.raises(ParseFailed, match="damaged"):
        read(files.flat_open_document("presentation", SLIDES)[:-200], "a.fodp")


@pytest.mark.parametrize(
    ("paragraphs", "text"),
    [
        (
            [("arabicPeriod", 0), ("alphaLcParenR", 1), ("alphaLcParenR", 1), ("arabicPeriod", 0)],
            "1. x\na) x\nb) x\n2. x",
        ),
        ([("arabicPeriod", 0), ("", 0), ("arabicPeriod", 0)], "1. x\n\nx\n\n1. x"),
        ([("arabicPeriod", 0), ("", 1), ("arabicPeriod", 0)], "1. x\n\nx\n\n2. x"),
        ([('romanUcPeriod" startAt="4', 0), ('romanUcPeriod" startAt="4', 0)], "IV. x\nV. x"),
        ([("arabicParenBoth", 0), ("circleNumDbPlain", 0), ("unknown", 0)], "(1) x\n① x\n1. x"),
    ],
)
def test_numbers_of_slides(read: Read, paragraphs: list[tuple[str, int]], text: str) -> None:
    content = ""
    for scheme, level in paragraphs:
        number = f'<a:buAutoNum type="{scheme}"/>' if scheme else ""
        content += f'<a:p><a:pPr lvl="{level}">{number}</a:pPr><a:r><a:t>x</a:t></a:r></a:p>'
    with zipfile.ZipFile(io.BytesIO(files.pptx([("Rules", "@")]))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    slide = "ppt/slides/slide1.xml"
    whole = re.sub(rb"<a:p>(?:(?!<a:p>).)*?@.*?</a:p>", content.encode(), members[slide])
    assert read(files.packed(members | {slide: whole}), "a.pptx").text == f"# Rules\n\n{text}"


Place = tuple[int, int, int, int]  # left, top, width and height


def _text_box(text: str, place: Place, *, size: int = 2000) -> str:
    left, top, width, height = place
    xfrm = f'<a:xfrm><a:off x="{left}" y="{top}"/><a:ext cx="{width}" cy="{height}"/></a:xfrm>'
    paragraphs = "".join(f'<a:p><a:r><a:rPr sz="{size}"/><a:t>{line}</a:t></a:r></a:p>' for line in text.split("\n"))
    return f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:spPr>{xfrm}</p:spPr><p:txBody>{paragraphs}</p:txBody></p:sp>"


def _slide(*boxes: str) -> bytes:
    with zipfile.ZipFile(io.BytesIO(files.pptx([("", "")]))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    slide = "ppt/slides/slide1.xml"
    whole = re.sub(rb"<p:spTree>.*</p:spTree>", f"<p:spTree>{''.join(boxes)}</p:spTree>".encode(), members[slide])
    return files.packed(members | {slide: whole})


@pytest.mark.parametrize(
    ("size", "top", "text"),
    [
        (4400, 100, "# Bees\n\nThey hum."),
        (1800, 100, "# Bees\n\nThey hum."),
        (4400, 450, "# Bees\n\nThey hum."),
        (1800, 450, "# Slide 1\n\nThey hum.\n\nBees"),
        (4400, 900, "# Slide 1\n\nThey hum.\n\nBees"),
    ],
)
def test_a_text_above_all_others_is_the_title_of_a_slide_without_one(
    read: Read, size: int, top: int, text: str
) -> None:
    boxes = _text_box("They hum.", (0, 500, 900, 300)), _text_box("Bees", (0, top, 900, 200), size=size)
    assert read(_slide(*boxes), "a.pptx").text == text


def test_the_number_of_a_section_beside_its_title_is_none(read: Read) -> None:
    number, title = _text_box("2", (0, 90, 100, 300), size=6000), _text_box("How bees\nhum", (200, 100, 600, 200))
    text = _text_box("They hum.", (0, 500, 900, 300))
    assert read(_slide(number, text, title), "a.pptx").text == "# How bees hum\n\n2\n\nThey hum."


@pytest.mark.parametrize(
    ("box", "text"),
    [
        ("Bees", "# Bees"),
        ("Bees\nand\ntheir\nhives", "# Bees\n\nand\n\ntheir\n\nhives"),
        ("Bees hum. " * 20, "# Slide 1\n\n" + ("Bees hum. " * 20).strip()),
    ],
)
def test_the_only_text_of_a_slide_is_its_title_if_it_is_short(read: Read, box: str, text: str) -> None:
    assert read(_slide(_text_box(box, (0, 0, 900, 900))), "a.pptx").text == text


COLUMNS = {
    "North: It rains.": (0, 200, 400, 200),
    "South: It is dry.": (500, 200, 400, 200),
    "Weather": (0, 0, 900, 100),
    "The north": (0, 120, 400, 70),
    "The south": (500, 120, 400, 70),
}
IN_ORDER = "# Weather\n\nThe north\n\nNorth: It rains.\n\nThe south\n\nSouth: It is dry."


def test_boxes_are_read_before_those_below_them_and_column_by_column(read: Read) -> None:
    boxes = [_text_box(text, place) for text, place in COLUMNS.items()]
    assert read(_slide(*boxes), "a.pptx").text == IN_ORDER


def test_boxes_that_are_written_in_an_order_of_reading_keep_it(read: Read) -> None:
    rows = {
        "One": (0, 0, 400, 100),
        "Two": (500, 0, 400, 100),
        "Three": (0, 200, 400, 100),
        "Four": (500, 200, 400, 100),
    }
    boxes = [_text_box(text, place) for text, place in rows.items()]
    assert read(_slide(*boxes), "a.pptx").text == "# Slide 1\n\nOne\n\nTwo\n\nThree\n\nFour"


def _frame(text: str, place: Place, kind: str = "") -> str:
    sides = " ".join(
        f'svg:{name}="{side / 50}cm"' for name, side in zip(("x", "y", "width", "height"), place, strict=True)
    )
    paragraphs = "".join(f"<text:p>{line}</text:p>" for line in text.split("\n"))
    return f"<draw:frame {kind} {sides}><draw:text-box>{paragraphs}</draw:text-box></draw:frame>"


def test_boxes_of_open_document_slides(read: Read) -> None:
    boxes = "".join(_frame(text, place) for text, place in COLUMNS.items())
    content = files.open_document("presentation", f'<draw:page draw:name="a">{boxes}</draw:page>')
    assert read(content, "a.odp").text == IN_ORDER


@pytest.mark.parametrize(
    ("kind", "box", "text"),
    [
        ("subtitle", "Bees", "# Bees"),
        ("title", "Bees\n" + "They hum. " * 20, "# Bees\n\n" + ("They hum. " * 20).strip()),
        (
            "title",
            "Bees<text:line-break/>" + "They hum. " * 20,
            "# Bees\n\nBees\n" + ("They hum. " * 20).strip(),
        ),
    ],
)
def test_a_title_of_an_open_document_slide_with_a_text(read: Read, kind: str, box: str, text: str) -> None:
    frame = _frame(box, (0, 0, 900, 900), f'presentation:class="{kind}"')
    content = files.open_document("presentation", f'<draw:page draw:name="a">{frame}</draw:page>')
    assert read(content, "a.odp").text == text
