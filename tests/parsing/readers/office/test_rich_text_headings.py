"""The headings of rich text files, and what of their pages and lists is no text."""

import pytest

from rag.parsing.readers.office import rich_text
from rag.parsing.readers.office.headings.rich_text_headings import mark_headings, write_headings
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

_TEXT = rb"\pard\plain Members pay their fee in January, and the office sends a receipt in the same week.\par "
_STYLES = rb"{\stylesheet{\s0 Normal;}{\s7\outlinelevel1\b heading 2;}}"
_PICTURE = rb"{\*\themedata 504b}{\*\mmathPr\mmathFont34}{\*\shppict{\pict 0102}}"


def _rtf(*parts: bytes) -> bytes:
    return rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}" + _STYLES + _PICTURE + b"".join(parts) + b"}"


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        (rb"\pard\plain\s7 Fees\par ", (2, "Fees")),
        (rb"\pard\plain\outlinelevel2 Fees\par ", (3, "Fees")),
        (rb"\pard\plain{\b Fees}{\b  of \'e9t\'e9}\par ", (2, "Fees of été")),
        (rb"\pard\plain{\b Fe" + b"\r\n" + rb"es}\par ", (2, "Fees")),
        (rb"\pard\plain\ul Fees\ulnone\par ", (3, "Fees")),
        (rb"\pard\plain\fs40 Fees\par ", (1, "Fees")),
        (rb"\pard\plain\b Section 4: Fees\par ", (2, "Section 4: Fees")),
        (b"\\pard\\plain\\fs40 Fees\\\n\\fs24 They pay.\\\n", (1, "Fees")),
    ],
    ids=["style", "level", "bold", "divided", "underlined", "large", "part", "macOS"],
)
def test_styles_and_types_of_rich_text_make_headings(read: Read, line: bytes, heading: tuple[int, str]) -> None:
    parsed = read(_rtf(_TEXT, line, _TEXT), "a.rtf")
    assert [(one.level, one.title) for one in parsed.headings] == [heading]
    assert "image" not in parsed.text


@pytest.mark.parametrize(
    "line",
    [
        rb"\pard\plain Fees\par ",
        rb"\pard\plain\ul Please pay in time.\par ",
        rb"\trowd\cellx900\cellx1800\pard\intbl\s7 Fees\cell Year\cell\row ",
        rb"\pard\plain{\*\bkmkstart a}{\b1\b0 Fees}\par ",
    ],
    ids=["plain", "sentence", "cell", "not bold"],
)
def test_other_lines_of_rich_text_are_no_headings(read: Read, line: bytes) -> None:
    assert read(_rtf(_TEXT, line, _TEXT), "a.rtf").headings == ()


def test_headers_and_footers_of_pages_are_no_text(read: Read) -> None:
    parts = rb"{\header\pard\plain Draft {\b 3}\par}{\footerr \pard\plain Page 2\par}"
    assert read(_rtf(parts, rb"\pard\plain Bees hum.\par "), "a.rtf").text == "Bees hum."


def test_a_group_that_ends_behind_the_number_of_an_item_does_not_divide_it(read: Read) -> None:
    items = rb"\pard\plain\ls1{\listtext 1.\tab}one\par {{\listtext 2.\tab}}\pard \s21\ql\fi-360\ls1 {two\par}"
    assert read(_rtf(items), "a.rtf").text == "1. one\n2. two"


@pytest.mark.parametrize(
    "part",
    [
        rb"{\b a\par",
        rb"\par a",
        rb"{\header ",
        rb"{\listtext 1.}}\pard\ql ",
        rb"{\listtext 1.}}\pard" + rb"\ql" * 30,
        rb"\'e9",
        rb"\u8211?",
        rb"{\*\x{",
    ],
)
def test_rich_text_is_prepared_in_linear_time(part: bytes) -> None:
    def content(length: int, number: int) -> bytes:
        return b"{\\rtf1 %d" % number + part * (length // len(part))

    assert takes_linear_time(rich_text.prepare, content, 200_000)


@pytest.mark.parametrize("part", ["\ue92f", "\ue92f2 a\n", "- \ue92f2", "\n", "a"])
def test_headings_of_rich_text_are_written_in_linear_time(part: str) -> None:
    assert takes_linear_time(
        write_headings, lambda length, seed: f"\ue92f{seed}" + part * (length // len(part)), 200_000
    )


def test_files_with_too_many_parts_are_read_without_marks() -> None:
    content = rb"{\rtf1 " + rb"\par " * 1_000_001 + rb"\b Fees\par\b0 They pay.\par}"
    assert mark_headings(content, bytes.decode) == content
