"""Earlier mails that a reply quotes."""

import pytest

from rag.pipeline.answering.extractive.parts.quoted_mails import find_quoted_lines
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import answer, passage

OLD = "The works start on 22 September on floor 4."
NEW = "The works start on 6 October on floor 1."
NOTICE = "Please empty the cupboards in the hall on the evening before."
HEADER = "From: Priya <p@x.example>\nSent: 28 August 2025 09:00\nTo: All\nSubject: Works"
INTRODUCTIONS = [
    HEADER,
    "-----Original Message-----\nFrom: Priya",
    "-------- Ursprüngliche Nachricht --------",
    "Am 13.01.2025 um 08:05 schrieb Priya Nand:",
    "Le 13 janvier 2025 à 08:05, Priya a écrit :",
    "El 13 ene 2025, a las 8:05, Priya escribió:",
    "On Mon, 13 Jan 2025 at 08:05, Priya wrote:",
]


def quoted(text: str, path: str = "a.eml") -> list[str]:
    lines = text.splitlines()
    return [lines[number] for number in sorted(find_quoted_lines(text, path))]


@pytest.mark.parametrize("introduction", INTRODUCTIONS)
def test_what_follows_an_introduction_is_quoted(introduction: str) -> None:
    assert quoted(f"{NEW}\n\n{introduction}\n\n{OLD}")[-1:] == [OLD]
    assert NEW not in quoted(f"{NEW}\n\n{introduction}\n\n{OLD}")


def test_answers_between_marked_lines_are_not_quoted() -> None:
    text = f"On Monday Priya wrote:\n> {OLD}\n\n{NEW}\n\n> And the lift?\n\nIt works."
    assert quoted(text) == quoted(text, "a.txt") == ["On Monday Priya wrote:", f"> {OLD}", "> And the lift?"]


@pytest.mark.parametrize("introduction", INTRODUCTIONS[-4:])
def test_the_introduction_of_marked_lines_is_part_of_what_they_quote(introduction: str) -> None:
    for text in (f"{introduction}\n> {OLD}\n\n{NEW}", f"{NOTICE}\n\n{introduction}\n\n> {OLD}\n\n{NEW}"):
        assert quoted(text) == quoted(text, "a.txt") == [introduction, f"> {OLD}"]


def test_marked_lines_of_other_texts_are_not_quoted() -> None:
    assert not quoted(f"> {OLD}\n\n{NEW}", "notes.md")
    assert not quoted(f"He wrote:\n\n{OLD}", "notes.md")


@pytest.mark.parametrize("introduction", INTRODUCTIONS)
def test_a_reply_is_quoted_instead_of_the_mail_that_it_answers(introduction: str) -> None:
    text = f"{NEW} {NOTICE}\n\nPriya\n\n{introduction}\n\nDear all, {OLD[0].lower()}{OLD[1:]}"
    assert "6 October" in answer("On what date do the works start?", passage(text, path="a.eml"))
    assert "22 September" not in answer("On what date do the works start?", passage(text, path="a.eml"))


def test_a_mail_that_is_quoted_answers_what_the_reply_does_not() -> None:
    text = f"Thanks, we know that. {NOTICE}\n\nOn Monday Priya wrote:\n> {OLD}"
    assert "22 September" in answer("On what date do the works start?", passage(text, path="a.eml"))


def test_a_mail_that_is_forwarded_is_not_quoted() -> None:
    text = f"{HEADER}\n\nSee below.\n\n{HEADER}\n\n{OLD}"
    assert not find_quoted_lines(text, "a.eml", is_beginning=True)
    reply = text.replace("See below.", f"{NEW} {NOTICE}")
    first = len(reply[: reply.rindex(HEADER)].splitlines())
    assert find_quoted_lines(reply, "a.eml", is_beginning=True) == set(range(first, first + 6))


def test_the_header_of_the_mail_itself_quotes_nothing() -> None:
    text = f"{HEADER}\n\n{NEW} {NOTICE}\n\nPriya"
    assert not find_quoted_lines(text, "a.eml", is_beginning=True)


@pytest.mark.parametrize("part", ["> a\n", "On a wrote:\n> ", "am a schrieb ", "le  ", "-- original message --", "\n"])
def test_long_texts_take_linear_time(part: str) -> None:
    def find(text: str) -> object:
        return find_quoted_lines(text, "a.eml")

    assert takes_linear_time(find, lambda size, _: part * (size // len(part)), 100_000)
