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
        ("Corporate template", "", "Corporate template"),
        ("", "", ""),
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


def _text_box(text: str, *, top: int, size: int) -> str:
    place = f'<p:spPr><a:xfrm><a:off x="0" y="{top}"/></a:xfrm></p:spPr>'
    runs = f'<a:r><a:rPr sz="{size}"/><a:t>{text}</a:t></a:r>'
    return f"<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr>{place}<p:txBody><a:p>{runs}</a:p></p:txBody></p:sp>"


@pytest.mark.parametrize(
    ("size", "top", "text"),
    [
        (4400, 100, "# Bees\n\nThey hum."),
        (1800, 100, "# Slide 1\n\nThey hum.\n\nBees"),
        (4400, 900, "# Slide 1\n\nThey hum.\n\nBees"),
    ],
)
def test_large_text_at_the_top_is_the_title_of_a_slide_without_one(read: Read, size: int, top: int, text: str) -> None:
    boxes = _text_box("They hum.", top=500, size=2000) + _text_box("Bees", top=top, size=size)
    with zipfile.ZipFile(io.BytesIO(files.pptx([("", "")]))) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    slide = "ppt/slides/slide1.xml"
    whole = re.sub(rb"<p:spTree>.*</p:spTree>", f"<p:spTree>{boxes}</p:spTree>".encode(), members[slide])
    assert read(files.packed(members | {slide: whole}), "a.pptx").text == text
