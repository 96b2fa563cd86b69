"""The content of a file decides its format. Formats that cannot be read are refused with advice."""

import pytest

from rag.errors import RagError, UnsupportedFormat
from rag.parsing import detection, formats, parse
from rag.types import Heading
from tests.support.checks.growth import takes_linear_time

from . import files
from .conftest import Read
from .files.valid_files import GOOD


@pytest.mark.parametrize("media_type", GOOD)
def test_the_content_decides_the_format(read: Read, media_type: str) -> None:
    """Without a name, and with the name and type of another binary format."""
    assert read(GOOD[media_type], "").media_type == media_type
    other = (formats.DOCX, "a.docx") if media_type == formats.PDF else (formats.PDF, "a.pdf")
    parsed = read(GOOD[media_type], other[1], other[0])
    assert parsed.media_type == media_type
    assert "Bees" in parsed.text


def test_the_content_of_a_submitted_text_decides_its_format() -> None:
    parsed = parse.parse_text("<h1>Bees</h1><p>They hum.</p>", content_type="text/html", path="")
    assert (parsed.text, parsed.headings) == ("# Bees\n\nThey hum.", (Heading(0, 1, "Bees"),))
    # Plain text with the URL of a web page is not converted.
    unchanged = parse.parse_text("Bees hum. 1 < 2", content_type="", path="https://example.com/bees.html")
    assert (unchanged.text, unchanged.media_type) == ("Bees hum. 1 < 2", "text/plain")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"GIF89a" + b"\0" * 50, "a.txt", "picture"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 50, "a.txt", "OCR"),
        (b"\xff\xd8\xff\xe0" + b"\0" * 50, "a.pdf", "OCR"),
        (b"\x1f\x8b\x08" + b"\0" * 50, "a.docx", "compressed"),
        (files.ole({"Unknown": b"x"}), "a.doc", "OLE"),
        (files.packed({"a.txt": "x"}), "a.zip", "Unpack"),
        (files.packed({"a.txt": "x"}), "a.docx", "Unpack"),
        (bytes(range(256)) * 4, "a.txt", "neither text"),
    ],
)
def test_unsupported_files_are_refused_with_advice(read: Read, content: bytes, name: str, message: str) -> None:
    with pytest.raises(UnsupportedFormat, match=message):
        read(content, name)


def test_unsupported_declared_types_are_refused() -> None:
    with pytest.raises(UnsupportedFormat, match="image/png"):
        parse.detect_type(b"Bees hum.", content_type="image/png", name="a.png", ocr=True)


@pytest.mark.parametrize("media_type", GOOD)
def test_the_first_thousand_bytes_are_enough_to_detect_the_format(media_type: str) -> None:
    detected = parse.detect_type(GOOD[media_type][:1000], content_type="", name="", ocr=True)
    assert detected == media_type or detected in formats.CONTAINERS


def test_unsupported_formats_have_an_error_code() -> None:
    assert issubclass(UnsupportedFormat, RagError)
    assert UnsupportedFormat.code == "UNSUPPORTED_FORMAT"


@pytest.mark.parametrize("start", ["", "<?xml version='1.0'?>"])
@pytest.mark.parametrize("name", ["a.html", "a.xml", "a"])
def test_many_comments_are_read_once(start: str, name: str) -> None:
    """Each could end at every later one: 22 of them took five seconds, and each further one doubled the time."""
    head = (start + "<!---->" * 60).encode()
    assert parse.detect_type(head, content_type="", name=name, ocr=True)
    html = f"{start}<!-- a -->\n<!-- b --> <html><p>Bees hum.</p></html>".encode()
    expected = formats.HTML if name != "a.xml" else "application/xml"
    assert parse.detect_type(html, content_type="", name=name, ocr=True) == expected


def test_info_files_are_text(read: Read) -> None:
    text = "This is kiln.info.\n\n\x1f\nFile: kiln.info,  Node: Top\n\nHeat it.\n\x1f\nTag Table:\n"
    assert "Heat it." in read(text.encode(), "kiln.info").text


@pytest.mark.parametrize("unit", ["<tt ", "<tt ='http://www.w3.org/", '="http://www.w3.org/ns', "<!-- "])
def test_beginnings_of_markup_are_read_in_linear_time(unit: str) -> None:
    def detect(text: str) -> None:
        detection.detect_text_type(text, content_type="", name="a.xml")

    assert takes_linear_time(detect, lambda length, seed: f"<tt a='{seed}" + unit * (length // 4), 200_000)
