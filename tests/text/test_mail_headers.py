"""Subjects of mails are the titles of what the mails say."""

from collections.abc import Callable

import pytest

from rag.parsing import parse
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.plain_text import parse_plain
from rag.text.markup.titles.mail_headers import find_mail_headers, subject_of
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import answer, passage

THREAD = """\
From: porter@hut.example
To: all members
Date: Mon, 25 March 2024 20:14
Subject: Camp in the hut

The camp begins on 3 May. Bring a lamp.

---

From: cook@hut.example
To: porter@hut.example
Date: Tue, 26 March 2024 07:52
Subject: Re: Re: CHANGE OF DATE of the camp

The road is closed in the first week, so we go from 10 to 14 May.

**Food**

Rice.

**Drinks**

Tea.

**Beds**

Bring a bag.
"""


def titles(text: str, path: str = "thread.txt") -> list[tuple[str, int]]:
    parsed = parse.parse_text(text, content_type="", path=path)
    return [(heading.title, heading.level) for heading in parsed.headings]


def header(*lines: str) -> str:
    return "\n".join(lines) + "\n\nThe camp begins on 3 May.\n"


@pytest.mark.parametrize("path", ["thread.txt", "thread.md"])
def test_subjects_are_titles_above_those_within_the_mails(path: str) -> None:
    subjects = [("Camp in the hut", 1), ("CHANGE OF DATE of the camp", 1)]
    assert titles(THREAD, path) == [*subjects, ("Food", 2), ("Drinks", 2), ("Beds", 2)]
    assert titles(f"# Mails\n\n{THREAD}", path)[:2] == [("Mails", 1), ("Camp in the hut", 2)]
    assert titles(THREAD.replace("Bring a lamp.", "\n\n## Lamps\n\nBring a lamp."), path)[1] == ("Lamps", 3)


@pytest.mark.parametrize(
    "lines",
    [
        ["Von: Anna", "Gesendet: 3. Mai 2024", "An: Ben", "Betreff: AW: Camp"],
        ["De : Anna", "Envoyé : 3 mai 2024", "À : Ben", "Objet : TR: Camp"],
        ["De: Anna", "Enviado el: 3 de mayo de 2024", "Para: Ben", "Asunto: RE: Fwd: Camp"],
        ["De: Anna", "Enviada: 3 de maio de 2024", "Para: Ben", "Assunto: RES: Camp"],
        ["Van: Anna", "Verzonden: 3 mei 2024", "Aan: Ben", "Onderwerp: Antw: Camp"],
        ["> From: Anna", "> Date: 2024-05-03", "> Subject: Re[2]: Camp"],
        ["**From:** Anna <anna@hut.example>\\", "**To:** Ben\\", "**Subject:** Camp\\"],
        ["Subject: Camp", "From: anna@hut.example", "Cc:", "Date: 3 May"],
    ],
)
def test_headers_of_other_programs(lines: list[str]) -> None:
    assert titles(header(*lines)) == [("Camp", 1)]


@pytest.mark.parametrize(
    "lines",
    [
        ["From: Rome", "To: Paris", "Date: 3 May 2024"],
        ["Subject: Camp", "Date: 3 May 2024", "To: Ben"],
        ["From: Anna", "Subject: Camp"],
        ["From: Anna", "Date: 3 May 2024", "Subject: Re:"],
        ["From: Anna", "", "Date: 3 May 2024", "Subject: Camp"],
        ["```", "From: Anna", "Date: 3 May 2024", "Subject: Camp", "```"],
        # A timetable, a travel plan, and the minutes of a meeting
        ["Subject: Physics", "From: 9:00", "To: 10:30", "Date: Monday"],
        ["From: Rome", "To: Paris", "Date: 3 May", "Subject: trip"],
        ["Datum: 3. Mai", "Von: 9 Uhr", "An: Vorstand", "Betreff: Haushalt"],
        ["From: anna@hut.example", "To: Ben", "Subject: Camp", "retries: 5"],
    ],
)
@pytest.mark.parametrize("path", ["thread.txt", "thread.md"])
def test_other_lines_with_labels_are_no_headers(lines: list[str], path: str) -> None:
    assert titles(header(*lines), path) == []


def test_headers_are_not_quoted_and_the_subject_selects_its_mail() -> None:
    assert answer("When is the camp after the change of date?", passage(THREAD)).startswith("The road is closed in the")
    for question in ("Camp in the hut", "Change of date of the camp", "What begins on 3 May?"):
        quoted = answer(question, passage(THREAD))
        assert not any(label in quoted for label in ("From:", "To:", "Date:", "Subject:"))


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote the mail about the camp?", "From: porter@hut.example"),
        ("When was the mail about the camp sent?", "Date: Mon, 25 March 2024"),
        ("What is the porter's e-mail address?", "porter@hut.example"),
    ],
)
def test_headers_are_quoted_for_questions_about_the_mail(question: str, expected: str) -> None:
    assert expected in answer(question, passage(THREAD[: THREAD.index("---")]))


def test_a_mail_within_a_document_has_no_part_in_the_sections_that_follow() -> None:
    mail = header("From: anna@hut.example", "To: Ben", "Subject: Welcome")
    text = f"# Handbook\n\n## Welcome mail\n\n{mail}\n# Pets\n\nNo.\n"
    assert titles(text) == [("Handbook", 1), ("Welcome mail", 2), ("Welcome", 3), ("Pets", 1)]


def test_a_list_is_introduced_by_the_subject_without_its_label() -> None:
    mail = "From: anna@hut.example\nTo: Ben\nSubject: Re: Food for the camp\n\n- 20 kg of rice\n- 2 kg of tea\n"
    assert answer("What food is needed for the camp?", passage(mail)).startswith("Food for the camp:\n- 20 kg of rice")


def test_the_line_of_a_subject() -> None:
    assert subject_of("Subject: Re: Camp") == "Camp"
    assert subject_of("From: Anna") == subject_of("Camp") == subject_of("Subject:") == ""


@pytest.mark.parametrize(
    "part", ["From: a\n", "From: a@b\nTo: b\nSubject: c\n\nd\n", "Re:", "Subject: Re: ", "> ", "*", "To:\n"]
)
@pytest.mark.parametrize("find", [parse_plain, parse_markdown, lambda text: find_mail_headers(text.splitlines())])
def test_headers_are_found_in_linear_time(part: str, find: Callable[[str], object]) -> None:
    assert takes_linear_time(find, lambda size, _: part * (size // len(part)), 100_000)
