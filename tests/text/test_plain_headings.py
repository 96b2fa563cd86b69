"""Headings of plain texts that are written in Markdown, or that have titles without any marks."""

import random
from collections.abc import Callable

import pytest

from rag.parsing import parse
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.plain_text import parse_plain
from rag.text.sentences.quotable_units import split_units
from tests.support.checks.growth import takes_linear_time

HANDBOOK = """\
# Handbook of the ferry

## Timetable ##

The ferry leaves every hour.
### Holidays
It leaves every two hours.

```sh
# not a heading

ferry --next
```

## Fares
#1 is the cheapest one.

# 7
#Tickets
"""
PARAGRAPH = "The ferry carries bicycles if there is room, and dogs are welcome on deck."
POLICY = f"""\
FERRY COMPANY

Who is covered

{PARAGRAPH}

1. Definitions

1.1 "Crossing" means a journey from one bank of the river to the other one.

2. Bicycles (and trailers)
{PARAGRAPH}

Does it run at night?

{PARAGRAPH}

The first line
{PARAGRAPH}

A sentence is no title.

{PARAGRAPH}
"""


def headings(text: str, path: str = "ferry") -> list[tuple[str, int]]:
    parsed = parse.parse_text(text, content_type="text/plain", path=path)
    assert parsed.text == text
    assert all(heading.title in text[heading.start :].partition("\n")[0] for heading in parsed.headings)
    return [(heading.title, heading.level) for heading in parsed.headings]


def test_markdown_that_is_sent_as_plain_text_has_its_headings() -> None:
    expected = [("Handbook of the ferry", 1), ("Timetable", 2), ("Holidays", 3), ("Fares", 2)]
    assert headings(HANDBOOK) == [*expected[:2], expected[3]], "a heading has an empty line or a heading above it"
    assert headings(HANDBOOK.replace("### Holidays", "\n### Holidays")) == expected


def test_headings_of_markdown_may_follow_each_other_and_be_underlined() -> None:
    text = "# Ferry\n## Fares\n\nTwo euros.\n\nDogs\n----\n\nFree."
    assert headings(text) == [("Ferry", 1), ("Fares", 2), ("Dogs", 2)]


@pytest.mark.parametrize(
    "text",
    [
        "# This file configures the ferry.\n\nport = 1\n\n# Its name:\n\nname = ferry",
        "# a remark\n# of two lines\n\nport = 1\n\n# another\n# remark",
        "port = 1\n\n# the name of the ferry\nname = ferry",
        "port = 1\n\n## the name\n## of the ferry\nname = ferry",
    ],
)
def test_remarks_of_a_configuration_are_no_headings(text: str) -> None:
    assert headings(text) == []


def test_short_lines_above_paragraphs_are_headings() -> None:
    assert headings(POLICY) == [
        ("Who is covered", 1),
        ("1. Definitions", 2),
        ("2. Bicycles (and trailers)", 2),
        ("Does it run at night?", 1),
    ]
    assert headings(POLICY.replace("\n", "\r\n")) == headings(POLICY)


def test_short_lines_are_no_headings_beside_those_of_markdown() -> None:
    lines = "".join(f"{title}\n\n{PARAGRAPH}\n\n" for title in ("Fares", "Dogs", "Bicycles"))
    assert headings(f"# Ferry\n\n{lines}## Timetable\n") == [("Ferry", 1), ("Timetable", 2)]


def test_one_short_line_and_names_of_speakers_are_no_headings() -> None:
    assert headings(f"Who is covered\n\n{PARAGRAPH}\n\nThe end") == []
    assert headings("".join(f"{name}\n\n{PARAGRAPH}\n\n" for name in ("Anna", "Ben") * 4)) == []
    assert headings("".join(f"{title}\n\n" for title in ("Milk", "Eggs", "Bread", "Tea"))) == []


def test_numbered_titles_of_contracts_and_manuals() -> None:
    contract = "\n".join(f"{title}\n\n{PARAGRAPH}\n" for title in ("§ 1 Fares", "§ 2 Dogs", "§ 3 Bicycles"))
    assert headings(contract) == [("§ 1 Fares", 1), ("§ 2 Dogs", 1), ("§ 3 Bicycles", 1)]
    contract = contract.replace("§ 1", "Artikel 1").replace("§ 2 Dogs\n", "Article 2 Dogs")
    assert headings(contract) == [("Artikel 1 Fares", 1), ("Article 2 Dogs", 1), ("§ 3 Bicycles", 1)]
    contract = (
        contract.replace("Artikel 1", "Articolo 1").replace("Article 2", "Artigo 2.º").replace("§ 3", "Hoofdstuk 3")
    )
    assert headings(contract) == [("Articolo 1 Fares", 1), ("Artigo 2.º Dogs", 1), ("Hoofdstuk 3 Bicycles", 1)]
    manual = f"1. Engine\n\n1.1 Oil\n   {PARAGRAPH}\n\n1.2 Filters\n\n   {PARAGRAPH}\n\n2. Deck\n\n    {PARAGRAPH}\n"
    assert headings(manual) == [("1. Engine", 1), ("1.1 Oil", 2), ("1.2 Filters", 2), ("2. Deck", 1)]
    assert headings(manual.replace("    The", "        The")) == headings(manual)[:3], "code is indented more"


def test_the_first_line_of_a_wrapped_paragraph_is_no_title() -> None:
    wrapped = "Bicycles are parked on the lower deck and not\nin the cabin. In a storm the lower deck is closed.\n"
    assert headings("\n".join(f"1.{number} {wrapped}" for number in range(1, 5))) == []


def test_source_code_has_no_headings() -> None:
    assert not parse.parse_text(HANDBOOK, content_type="", path="ferry.py").headings


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Q: {}", "A: {}"), ("Q1: {}", "A1: {}"), ("Q1. {}", "A1. {}"), ("**Q2)** {}", "**A2)** {}"),
        ("**Q:** {}", "**A:** {}"), ("**Q: {}**", "A: {}"),
        ("Question 1: {}", "Answer:\n{}"), ("F: {}", "A: {}"), ("Frage: {}", "Antwort: {}"),
        ("Pergunta: {}", "Resposta: {}"), ("Vraag: {}", "Antwoord: {}"), ("V: {}", "A: {}"),
        ("Question : {}", "Réponse : {}"),
        ("Q : {}", "R : {}"), ("P: {}", "R: {}"), ("D: {}", "\nR: {}"), ("{}", "{}"), ("**{}**", "{}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["faq.txt", "faq.md"])
def test_the_questions_of_an_faq_are_titles(question: str, answer: str, path: str) -> None:
    titles = ["Do dogs pay?", "May I bring my bicycle?", "Is there a café?"]
    text = "\n\n".join(f"{question.format(title)}\n{answer.format('Nobody knows it.')}" for title in titles)
    assert [heading.title for heading in parse.parse_text(text, content_type="", path=path).headings] == titles


QUESTIONS = [f"Q: {title}\nA: No.\n" for title in ("Do dogs pay?", "Is it cold?", "Is there a café?")]


def test_questions_are_below_all_other_titles() -> None:
    expected = [("Do dogs pay?", 2), ("Is it cold?", 2), ("Is there a café?", 2)]
    assert headings("\n".join(["# Ferry\n", *QUESTIONS])) == [("Ferry", 1), *expected]
    bold = [f"**{title}**\n" for title in ("Fares", "On board", "Food")]
    parts = [part for pair in zip(bold, QUESTIONS, strict=True) for part in pair]
    titles = [("Fares", 1), expected[0], ("On board", 1), expected[1], ("Food", 1), expected[2]]
    assert headings("\n".join(parts)) == titles


def test_bold_questions_are_titles_like_other_bold_lines_unless_these_group_them() -> None:
    questions = [f"**{title}**\nNobody knows it.\n" for title in ("Do dogs pay?", "Is it cold?")]
    text = "\n".join([f"**Fares**\n\n{PARAGRAPH}\n", *questions])
    assert headings(text) == [("Fares", 1), ("Do dogs pay?", 1), ("Is it cold?", 1)]
    groups = [f"**{title}**\n" for title in ("Fares", "On board", "Food")]
    assert headings("\n".join([*groups[:2], *questions, groups[2], "**Is there a café?**\nOn the upper deck.\n"])) == [
        ("Fares", 1), ("On board", 1), ("Do dogs pay?", 2), ("Is it cold?", 2), ("Food", 1), ("Is there a café?", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("divider", ["~" * 10, "~" * 72])
def test_lines_of_tildes_divide_sections_and_open_no_code(divider: str) -> None:
    sections = [
        f"{'#' * level} {title}\n\n{PARAGRAPH}\n\n" for level, title in ((1, "Ferry"), (2, "Fares"), (2, "Food"))
    ]
    assert headings(f"{divider}\n\n".join(sections)) == [("Ferry", 1), ("Fares", 2), ("Food", 2)]


def test_a_wrapped_question_is_one_title() -> None:
    text = "\n\n".join(f"Q: Do {animals}\n   pay for a crossing?\nA: No." for animals in ("dogs", "cats", "hens"))
    parsed = parse.parse_text(text, content_type="text/plain", path="faq")
    assert [heading.title for heading in parsed.headings] == [
        f"Do {animals} pay for a crossing?" for animals in ("dogs", "cats", "hens")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Q: Do dogs pay?\nA: No.\n\nQ: Is it cold?\nA: No.\n",  # two may be anything
        "Q: Do dogs pay?\nA: No.\n\n" * 3,  # so may what is repeated
        "Dogs travel free. Who pays for cats?\nTheir owners pay for them.\n\n" * 3 + "Is it late?\nIt is not late.",
        "Name?\nAnna\n\nAge?\n40\n\nTown?\nKiel\n",
        "Q: Do dogs pay?\n\nNobody knows.\n\n" * 3,
        "Do dogs pay?\n- no\n- never\n\n" * 3,
        "He asked: do dogs pay?\n\n" * 3 + "Nobody knows.",
        "Do dogs pay?\nIs it cold?\n\n" * 3,
        # Phones and addresses, decisions and actions, initials, abbreviations, the choices of a quiz.
        "\n\n".join(f"Person {number}\nP: 0664 12345{number}\nA: Main Street {number}" for number in range(4)),
        "\n\n".join(f"D: The roof is repaired in {month}.\nA: Anna asks." for month in ("May", "June", "July")),
        "P. Novak\nR. Smith\nD. Brown\nA. White\nF. Green\nR. Black\nP. Blue\nA. Grey\n",
        "\n".join(f"Q{number}. Revenue rose.\nA{number}. Costs fell." for number in range(1, 5)),
        "D: Diameter\nR: Radius\nP: Pressure\nA: Area\nF: Force\nR: Resistance\n",
        "\n".join(f"{number}. Which city?\nA. Paris\nB. Rome\nC. Bern\nD. Vienna" for number in range(1, 5)),
        "\n".join(f"    {line}" for question in QUESTIONS for line in question.splitlines()),
        "\n".join(["```", *QUESTIONS, "```"]),
    ],
)
@pytest.mark.parametrize("path", ["ferry.txt", "ferry.md"])
def test_other_labels_and_questions_are_no_titles(text: str, path: str) -> None:
    parsed = parse.parse_text(text, content_type="", path=path)
    assert [heading.title for heading in parsed.headings] == []


def test_a_question_that_is_asked_in_two_parts_is_a_title_of_both() -> None:
    text = "\n".join(["# Basic\n", *QUESTIONS, "# Pro\n", QUESTIONS[0]])
    assert [title for title, _ in headings(text)].count("Do dogs pay?") == 2


def test_questions_that_share_an_answer_are_no_titles_of_each_other() -> None:
    text = "\n".join(["Q: Do dogs pay?\nQ: Do cats pay?\nA: No.\n", *QUESTIONS[1:], "Q: Is it late?\nA: No."])
    assert [title for title, _ in headings(text)] == ["Do cats pay?", "Is it cold?", "Is there a café?", "Is it late?"]


@pytest.mark.parametrize("path", ["ferry.txt", "ferry.md"])
def test_bold_lines_are_titles_below_all_headings(path: str) -> None:
    bold = "\n\n".join(f"**{title}**\n\n{PARAGRAPH}" for title in ("Fares", "Do dogs pay?", "Bicycles:"))
    parsed = parse.parse_text(f"# Ferry\n\n{bold}", content_type="", path=path)
    expected = [("Ferry", 1), ("Fares", 2), ("Do dogs pay?", 2), ("Bicycles", 2)]
    assert [(heading.title, heading.level) for heading in parsed.headings] == expected


@pytest.mark.parametrize(
    "lines",
    [
        ["**Fares**", "**Dogs**"],
        ["**Note**"] * 4,
        ["**Anna:**", "**Ben:**", "**Cleo:**", "**Dan:**", "**Anna:**"],
        ["**Chair: Anna**", "**Start: 19:00**", "**End: 21:00**"],
        ["**-**", "**?**", "**…**"],
        ["__init__", "__main__", "__all__"],
        ["**Dogs pay.**", "**Bicycles do not.**", "**Fares, in euros,**"],
        ["**Fares** and more", "**Dogs** too", "**Bicycles** as well"],
    ],
)
def test_other_bold_text_is_no_title(lines: list[str]) -> None:
    assert headings("\n\n".join(f"{line}\n\n{PARAGRAPH}" for line in lines)) == []


@pytest.mark.parametrize(
    "part",
    [
        "# a\n\n", "## ", "#\t", "```\n", f"Title\n\n{PARAGRAPH}\n\n", "1. A\n", "1. A\n\n", "A\n\n\n\n\n", "# a # ",
        "Q: a\n", "Q: a\nA: b\n", "A?\nb\n\n", "A?", "**", "** a", "**a**\n\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("find", [parse_plain, parse_markdown, split_units])
def test_headings_are_found_in_linear_time(part: str, find: Callable[[str], object]) -> None:
    assert takes_linear_time(find, lambda size, attempt: f"{attempt}\n\n" + part * (size // len(part)), 60_000)


def test_headings_are_titles_of_lines_of_any_text() -> None:
    random_parts = random.Random(7)
    parts = ["# ", "## ", "\n", "\n\n", "\r\n", "Ferry", " ", "1. ", "===", PARAGRAPH, "```", "?"]
    for _ in range(2_000):
        text = "".join(random_parts.choices(parts, k=20))
        starts = [heading.start for heading in parse_plain(text).headings]
        assert starts == sorted(set(starts)), repr(text)
        assert all(start == 0 or text[start - 1] in "\r\n" for start in starts), repr(text)


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("== Warp ==\nWind it.\n\n=== Buy linen ===\nAt Fife.\n", [(2, "Warp"), (3, "Buy linen")]),
        ("====== Loom ======\n\n===== Warp =====\n\nWind it.\n", [(1, "Loom"), (2, "Warp")]),
        ("h1(#loom). Loom\n\nh2. Warp\n\nWind it.\n", [(1, "Loom"), (2, "Warp")]),
        ("== passed ==\n\nAll tests.\n", []),  # a line of a log
        ("== 1 ==\n== 2 ==\n", []),
        ("== Warp ===\n\n=== Buy ==\n", []),
    ],
)
def test_headings_of_wikis_are_headings(text: str, headings: list[tuple[int, str]]) -> None:
    parsed = parse_plain(text)
    assert [(heading.level, heading.title) for heading in parsed.headings] == headings
    assert all(heading.title in text[heading.start :].split("\n")[0] for heading in parsed.headings)


@pytest.mark.parametrize("unit", ["== a ", "= =\n", "h1(a. b", "h1. a\n", "=a=\n"])
def test_headings_of_wikis_take_linear_time(unit: str) -> None:
    assert takes_linear_time(parse_plain, lambda length, seed: unit * (length // len(unit)), 100_000)
