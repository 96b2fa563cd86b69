"""Hostile files: limits are enforced, errors are precise, and valid files can be parsed afterwards."""

import dataclasses
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as properties
from hypothesis import strategies as st

from rag.errors import ParseFailed, UnsupportedFormat
from rag.parsing import parse
from rag.parsing.parse_markdown import parse_markdown
from tests.support.checks.growth import takes_linear_time
from tests.support.speed.deferred import extracted_markdown

from . import files
from .conftest import Read, error_message
from .files.valid_files import GOOD

pytestmark = pytest.mark.usefixtures("valid_files_are_parsed_afterwards")


# Ten entities, each of which expands to ten times the previous one.
_LAUGHS = "".join(f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(10))


BOMB = f'<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa">{_LAUGHS}]>'


SECRET = "nobody-may-read-this"


# A PDF whose page tree contains itself, with a name in another spelling, which no check recognises beforehand.
_CYCLE = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 9/K#69ds["
    + b"2 0 R " * 40
    + b"]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF"
)


def outcome(read: Read, content: bytes, name: str) -> str:
    """The text, or the error message."""
    try:
        return read(content, name).text
    except (ParseFailed, UnsupportedFormat) as error:
        return f"Refused: {error.message}"


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.epub", "a.odt", "a.odp"])
def test_zip_bombs_are_not_unpacked(read: Read, name: str, settings: Any) -> None:
    members = {"a.docx": "word/document.xml", "a.xlsx": "xl/workbook.xml", "a.pptx": "ppt/presentation.xml"}
    declared = {"a.odt": "text", "a.odp": "presentation"}
    kind = {"mimetype": f"application/vnd.oasis.opendocument.{declared[name]}"} if name in declared else {}
    bomb = files.packed({**kind, members.get(name, "META-INF/container.xml"): b"\0" * 50_000_000})
    assert "bomb" in error_message(read, bomb, name)
    settings.RAG_PARSE_MAX_MEMORY_MB = 64
    assert "unpacks to more than" in error_message(read, bomb, name)


def test_declared_sizes_are_verified(read: Read) -> None:
    """The member declares 100 bytes and unpacks to 50 million."""
    honest = files.packed({"word/document.xml": b"\0" * 50_000_000})
    lying = honest.replace((50_000_000).to_bytes(4, "little"), (100).to_bytes(4, "little"))
    assert lying != honest
    assert "damaged" in error_message(read, lying, "a.docx")


def test_embedded_archives_are_not_unpacked(read: Read) -> None:
    inner = files.packed({"a": b"\0" * 100_000_000})
    body = files.paragraph("Bees hum.")
    assert read(files.docx(body, members={"word/embeddings/a.zip": inner}), "a.docx").text == "Bees hum."


def test_member_names_cannot_write_files(read: Read, tmp_path: Path) -> None:
    target = tmp_path / "evil"
    hostile = files.docx(
        files.paragraph("Bees hum."), members={f"../../../../../../../../{target}": b"x", str(target): b"x"}
    )
    assert read(hostile, "a.docx").text == "Bees hum."
    assert not target.exists()


@pytest.mark.parametrize("media_type", ["docx", "xlsx", "pptx", "epub", "pdf", "msg"])
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_truncated_files_are_reported(read: Read, media_type: str, part: float) -> None:
    content = {
        "docx": files.docx(files.paragraph("Bees hum.")),
        "xlsx": files.xlsx({"S": [["Bees", "hum"]]}),
        "pptx": files.pptx([("Bees", "hum")]),
        "epub": files.epub(["<p>Bees hum.</p>"]),
        "pdf": files.pdf(["Bees hum."]),
        "msg": files.msg("Bees", "They hum.", "ada@example.com"),
    }[media_type]
    result = outcome(read, content[: int(len(content) * part)], f"a.{media_type}")
    # PDF and Outlook files can often be read without their end.
    assert "cut off" in result or (media_type in ("pdf", "msg") and "hum" in result)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (files.pdf(["Bees hum."], password="secret"), "a.pdf"),
        (files.ole({"EncryptedPackage": b"x", "EncryptionInfo": b"y"}), "a.docx"),
        (files.ole({"EncryptedPackage": b"x", "EncryptionInfo": b"y"}), "a.xlsx"),
    ],
)
def test_a_password_is_reported(read: Read, content: bytes, name: str) -> None:
    assert "protected by a password. Remove the protection and send it again" in error_message(read, content, name)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.pdf", "empty"),
        (b" \n\t", "a.txt", "no text"),
        (b"\xef\xbb\xbf", "a.txt", "no text"),
        (b"<html><body></body></html>", "a.html", "no text"),
        (files.pdf([""]), "a.pdf", "OCR"),
        (files.docx(""), "a.docx", "no text"),
        (b" \x08", "a.txt", "no text"),
    ],
)
def test_empty_files_are_reported(read: Read, content: bytes, name: str, message: str) -> None:
    assert message in error_message(read, content, name)


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (files.docx(files.paragraph("x &k; y"), doctype=BOMB), "a.docx"),
        (files.pptx([("t", "x &k; y")], doctype=BOMB), "a.pptx"),
        (files.epub(["<p>x &k; y</p>"], doctype=BOMB), "a.epub"),
        (files.open_document("text", "<text:p>x &k; y</text:p>", doctype=BOMB), "a.odt"),
        (files.open_document("presentation", files.odf_slide("t", "x &k; y"), doctype=BOMB), "a.odp"),
        ((BOMB + "<html><body><p>x &k; y</p></body></html>").encode(), "a.html"),
    ],
)
def test_entities_are_not_expanded(read: Read, content: bytes, name: str) -> None:
    assert len(outcome(read, content, name)) < 2000


@pytest.mark.parametrize("kind", ["docx", "pptx", "epub", "html", "odt", "odp"])
def test_entities_cannot_read_local_files(read: Read, kind: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text(SECRET)
    doctype = f'<!DOCTYPE html [<!ENTITY k SYSTEM "{secret.as_uri()}">]>'
    content = {
        "docx": files.docx(files.paragraph("Bees &k; hum"), doctype=doctype),
        "pptx": files.pptx([("t", "Bees &k; hum")], doctype=doctype),
        "epub": files.epub(["<p>Bees &k; hum</p>"], doctype=doctype),
        "odt": files.open_document("text", "<text:p>Bees &k; hum</text:p>", doctype=doctype),
        "odp": files.open_document("presentation", files.odf_slide("t", "Bees &k; hum"), doctype=doctype),
        "html": f"{doctype}<html><body><p>Bees &k; hum</p></body></html>".encode(),
    }[kind]
    result = outcome(read, content, f"a.{kind}")
    assert "Bees" in result or (kind == "odt" and "damaged" in result)
    assert SECRET not in result


@pytest.mark.parametrize("tag", ["div", "b", "table><tr><td", "ul><li"])
def test_deeply_nested_pages_are_refused(read: Read, tag: str) -> None:
    content = b"<html><body>" + f"<{tag}>".encode() * 100_000 + b"Bees hum."
    assert "too deeply" in error_message(read, content, "a.html")


@pytest.mark.parametrize("depth", [100, 250, 1000])
def test_nested_text_is_never_dropped_silently(read: Read, depth: int) -> None:
    content = b"<html><body>" + b"<div>" * depth + b"Bees hum." + b"</div>" * depth + b"<p>The end.</p>"
    result = outcome(read, content, "a.html")
    assert "Bees hum." in result or "too deeply" in result


@pytest.mark.parametrize(
    "content",
    [
        files.pdf(["Bees hum."], kids="2 0 R 2 0 R"),
        files.pdf(["Bees hum."], kids="4 0 R " * 2),
        files.pdf(["x"], content=zlib.compress(b"q " * 10_000_000)),
        files.pdf(["x"], content=zlib.compress(b"(" * 10_000_000)),
        files.pdf(["Bees hum."]).replace(b"/Count 1", b"/Count 999999999"),
    ],
    ids=["recursive", "repeated", "long", "deep", "counted"],
)
def test_hostile_pdfs_terminate(read: Read, content: bytes) -> None:
    assert outcome(read, content, "a.pdf")


def test_a_hostile_pdf_does_not_take_the_time_of_text_recognition(read: Read, settings: Any) -> None:
    settings.RAG_PARSE_TIMEOUT_SECONDS, settings.RAG_OCR_TIMEOUT_SECONDS = 1, 20
    with pytest.raises(ParseFailed, match="more than 1 seconds"):
        read(_CYCLE, "a.pdf", ocr=True)


@pytest.mark.parametrize("content", [b"[" * 500_000, b'{"a":' * 500_000], ids=["lists", "objects"])
def test_deeply_nested_json_is_kept_as_text(read: Read, content: bytes) -> None:
    assert read(content, "a.json").text.startswith(content[:10].decode())


def test_long_markdown_is_parsed_within_limits(read: Read, settings: Any) -> None:
    """A list needs 500 times its size in memory: a file of 20 MB would have taken 9 GB of the worker's."""
    settings.RAG_PARSE_MAX_MEMORY_MB = 96
    prose = "# Bees\n\n" + "Bees hum. " * 30_000 + "\n\n## Honey\n\nIt is sweet."
    for parsed in (read(prose.encode(), "a.md"), parse.parse_text(prose, content_type="text/markdown", path="a")):
        assert parsed == dataclasses.replace(parse_markdown(prose), media_type="text/markdown")
    hostile = "- a\n" * 500_000
    assert "more than 96 MB of memory" in error_message(read, hostile.encode(), "a.md")
    with pytest.raises(ParseFailed, match="more than 96 MB of memory"):
        parse.parse_text(hostile, content_type="", path="a.md")


def test_a_malformed_field_of_a_calendar_is_skipped(read: Read, settings: Any) -> None:
    """The field has no colon, and may be divided into parameters in very many ways."""
    settings.RAG_PARSE_TIMEOUT_SECONDS = 10
    field = b"A" + b";" * 40 + b'"'
    lines = (b"BEGIN:VCALENDAR", b"BEGIN:VEVENT", b"SUMMARY:Meeting", field, b"END:VEVENT", b"END:VCALENDAR")
    assert "Meeting" in read(b"\r\n".join(lines), "a.ics").text


@properties(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(
        st.binary(min_size=1, max_size=2000),
        st.text(min_size=1, max_size=500).map(str.encode),
        st.tuples(st.sampled_from(list(GOOD.values())), st.integers(0, 10**6), st.binary(max_size=30)).map(
            lambda one: one[0][: one[1] % len(one[0])] + one[2] + one[0][one[1] % len(one[0]) + len(one[2]) :]
        ),
    ),
    name=st.sampled_from(
        [
            "a.pdf",
            "a.docx",
            "a.odt",
            "a.rtf",
            "a.xls",
            "a.html",
            "a.csv",
            "a.json",
            "a.eml",
            "a.srt",
            "a.ipynb",
            "a.txt",
            "",
        ]
    ),
)
def test_random_bytes_raise_only_known_errors(read: Read, content: bytes, name: str) -> None:
    try:
        parsed = read(content, name)
    except (ParseFailed, UnsupportedFormat) as error:
        message = error.message
        parsed = None
    if parsed is None:
        assert message.endswith(".")
        return
    assert parsed.text.strip()
    assert "\x00" not in parsed.text
    for starts in ([heading.start for heading in parsed.headings], [page.start for page in parsed.pages]):
        assert starts == sorted(starts)
        assert all(0 <= start < len(parsed.text) for start in starts)


@pytest.mark.parametrize(
    "part",
    ["```\nx\n", "![", "![](", "~~~~ x\n", "**", "*", "`"],
    ids=["closed blocks", "pictures", "addresses", "open blocks", "strong", "emphasis", "code"],
)
def test_cleaning_extracted_markdown_takes_linear_time(part: str) -> None:
    def text_of(length: int, number: int) -> str:
        return f"{number} " + part * (length // len(part))

    assert takes_linear_time(
        lambda text: extracted_markdown.strip_formatting(extracted_markdown.remove_pictures(text)), text_of, 200_000
    )


def test_only_closed_blocks_of_code_keep_their_marks() -> None:
    text = "``` *a*\n*b*\n```\n*c*\n~~~~\n*d*\n~~~\n*e*\n"
    assert extracted_markdown.strip_formatting(text) == "``` *a*\n*b*\n```\nc\n~~~~\nd\n~~~\ne\n"
    assert (
        extracted_markdown.strip_formatting("```\n*a*\n~~~\n*b*\n``` x\n*c*\n```  \n*d*")
        == "```\n*a*\n~~~\n*b*\n``` x\n*c*\n```  \nd"
    )


def test_references_to_pictures_are_removed() -> None:
    assert extracted_markdown.remove_pictures("a ![](image_0.png) b ![A plan](x/y.png)c [d](e)") == "a  b c [d](e)"
