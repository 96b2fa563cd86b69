"""Pages of hostile PDF files are drawn in the sandbox, or refused."""

import io
from pathlib import Path

import pytest
from PIL import Image

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.sandbox import parse_in_sandbox
from rag.parsing.sandbox.draw_cited_page import draw_cited_page, draw_cited_picture
from rag.types import LineBox
from tests.parsing.files import pictures
from tests.parsing.files.pdfs import pdf

WORDS = "The quick brown fox jumps over the lazy dog."


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "file.pdf"


@pytest.mark.parametrize("content", [b"%PDF-1.7 and nothing else", pdf([WORDS], password="secret")])
def test_damaged_and_encrypted_files_and_pages_that_do_not_exist_are_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ParseFailed):
        parse_in_sandbox.draw_cited_page_in_sandbox(file, formats.PDF, [1], WORDS)
    file.write_bytes(pdf([WORDS]))
    with pytest.raises(ParseFailed, match="no such page"):
        parse_in_sandbox.draw_cited_page_in_sandbox(file, formats.PDF, [2, 10**9], WORDS)


def test_the_picture_of_a_huge_page_is_small(file: Path) -> None:
    file.write_bytes(pdf([WORDS]).replace(b"[0 0 612 792]", b"[0 0 14400 14400]"))
    picture = Image.open(io.BytesIO(parse_in_sandbox.draw_cited_page_in_sandbox(file, formats.PDF, [1], WORDS)))
    assert picture.width <= 1_100
    assert picture.height <= 2_200


def test_the_page_with_most_of_the_passage_is_drawn() -> None:
    content = pdf(["Nothing of it, but the quick brown fox jumps.", WORDS, "Nothing"])
    assert draw_cited_page(content, [1, 2, 3], WORDS) == draw_cited_page(content, [2], WORDS)
    assert draw_cited_page(content, [3], WORDS) == draw_cited_page(content, [3], "")
    assert draw_cited_page(content, [2], "") != draw_cited_page(content, [2], WORDS)


def test_the_picture_with_most_of_the_passage_is_drawn_with_its_lines_marked(file: Path) -> None:
    file.write_bytes(
        pictures.encoded(*(Image.new("RGB", (2200, 1000 * number), "white") for number in (1, 2)), kind="TIFF")
    )
    boxes = [LineBox(0, 9, 1, 0, 0, 0.1, 0.1), LineBox(9, 99, 2, 0.5, 0.25, 1, 0.5)]
    drawn = parse_in_sandbox.draw_cited_page_in_sandbox(file, formats.TIFF, [1, 2], WORDS, boxes)
    picture = Image.open(io.BytesIO(drawn)).convert("RGB")
    assert picture.size == (1100, 1000)
    blue = picture.getchannel("B").point(lambda value: 255 if value < 128 else 0)
    assert blue.getbbox() == (550, 250, 1100, 500)
    with pytest.raises(ParseFailed, match="no such picture"):
        parse_in_sandbox.draw_cited_page_in_sandbox(file, formats.TIFF, [3], WORDS)
    assert draw_cited_picture(file.read_bytes(), [1], []) == draw_cited_picture(file.read_bytes(), [1], boxes[1:])
