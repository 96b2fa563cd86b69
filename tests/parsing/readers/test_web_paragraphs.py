"""Paragraphs and headings of web pages that have line breaks instead."""

import pytest

from rag.parsing.readers.web import read_web
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time

LIMITS = Limits(timeout_seconds=60, memory_bytes=2**30, text_bytes=2**20)
TEXT = "Members pay their fee in January, and the office sends a receipt before the end of the month."


def _headings(read: Read, body: str) -> list[str]:
    return [heading.title for heading in read(f"<html><body>{body}</body></html>".encode(), "a.html").headings]


@pytest.mark.parametrize(
    ("body", "headings"),
    [
        (f"<p><b>Fees</b><br>{TEXT}</p><p><strong>Members</strong><br/>{TEXT}</p>", ["Fees", "Members"]),
        (f"<div><b>Fees</b><br><br>{TEXT}<br> <br><b>Members</b><br>{TEXT}</div>", ["Fees", "Members"]),
        (f"<p><b>Fees:</b><br>20 euros</p><p>{TEXT}</p>", []),
        (f"<p>The <b>fees</b><br>{TEXT}</p>", []),
        (f"<p><b>{TEXT} {TEXT}</b><br>{TEXT}</p>", []),
    ],
)
def test_a_bold_first_line_is_a_heading(read: Read, body: str, headings: list[str]) -> None:
    assert _headings(read, body) == headings


def test_lines_between_two_breaks_are_paragraphs(read: Read) -> None:
    parts = "<br> <br>\n".join(
        f"§ {number} {name}<br><br>{TEXT}" for number, name in enumerate(("Name", "Fees", "End"), 1)
    )
    assert _headings(read, f"<h1>Statutes</h1><p>{parts}</p>") == ["Statutes", "§ 1 Name", "§ 2 Fees", "§ 3 End"]


def test_the_parts_of_a_divided_block_keep_their_order(read: Read) -> None:
    body = "<div>One <i>two</i><br><br>three<ul><li>four</li></ul>five<br>six<br><br><br><u>seven</u> eight</div>"
    words = read(f"<html><body>{body}</body></html>".encode(), "a.html").text.replace("-", " ").split()
    assert words == ["One", "two", "three", "four", "five", "six", "seven", "eight"]


@pytest.mark.parametrize(
    ("body", "headings"),
    [
        ("<h2>Board</h2><h5><ul><li>Chair</li><li>Bea</li></ul></h5>", ["Board"]),
        (f"<h3><h1>Bees</h1>Trub 5, Switzerland</h3><p>{TEXT}</p>", ["Bees"]),
    ],
)
def test_a_heading_around_lists_or_other_headings_is_none(read: Read, body: str, headings: list[str]) -> None:
    assert _headings(read, body) == headings


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("<strong>40 euros a year</strong>Single", "40 euros a year Single"),
        ("<strong>Half a fee</strong>for pupils", "Half a fee for pupils"),
        ("<span>40 euros a year</span><small>For singles</small>", "40 euros a year For singles"),
        ("<span>From theor</span>y to use", "From theory to use"),
        ("<b>Half</b>way", "Halfway"),
        ("<strong>40 euros</strong>, paid", "40 euros, paid"),
        ("<strong>40 euros</strong> paid", "40 euros paid"),
        ("<code><b>a b</b>c</code>", "a bc"),
    ],
)
def test_words_of_boxes_that_stand_next_to_each_other_are_not_joined(read: Read, line: str, words: str) -> None:
    text = read(f"<html><body><p>{TEXT}</p><div>{line}</div><p>{TEXT}</p></body></html>".encode(), "a.html").text
    assert words in text.replace("`", "").splitlines()


@pytest.mark.parametrize("part", ["a<br>", "<br>", "<b>a</b><br>", "<b>a b</b>c", "<b>a</b><br>b<br><br>"])
def test_line_breaks_are_read_in_linear_time(part: str) -> None:
    def page(length: int, number: int) -> str:
        return f"<html><body><p>{number}{part * (length // len(part))}</p></body></html>"

    assert takes_linear_time(lambda text: read_web.parse_html(text, LIMITS), page, 60_000)
