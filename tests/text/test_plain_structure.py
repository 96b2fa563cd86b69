"""The structure of plain texts: underlined headings, terms with their explanations, and code after `::`."""

import pytest

from rag.parsing import parse
from rag.text.sentences.quotable_units import UnitKind, split_units
from tests.support.checks.growth import takes_linear_time

README = """\
.. image:: https://badges.example/v1.svg
   :target: https://example.org

Tea timer
=========

It rings.

installing the timer
--------------------

Run::

    pip install tea-timer

    tea-timer --check

Options
-------

--minutes N
    How long the tea is in the water.

Two lines of a paragraph
are not a heading
=================
"""


def test_headings_of_plain_texts_are_underlined() -> None:
    parsed = parse.parse_text(README, content_type="text/plain", path="README.rst")
    assert [(heading.title, heading.level) for heading in parsed.headings] == [
        ("Tea timer", 1),
        ("installing the timer", 2),
        ("Options", 2),
    ]
    assert all(README[heading.start :].startswith(heading.title) for heading in parsed.headings)
    assert not parse.parse_text(README, content_type="text/x-python", path="tea.py").headings


def test_headings_of_manual_pages_are_in_capitals() -> None:
    page = "NAME\n       tea - make tea\n\nEXIT STATUS\n       0 if the tea is good\n\nNOT A HEADING\nbut a line."
    headings = parse.parse_text(page, content_type="text/plain", path="tea.txt").headings
    assert [heading.title for heading in headings] == ["NAME", "EXIT STATUS"]


def test_terms_code_and_markup_are_units_of_their_own() -> None:
    units = [(unit.kind, README[unit.start : unit.end]) for unit in split_units(README)]
    shown = [unit for unit in units if unit[0] is not UnitKind.RULE]
    assert shown[:9] == [
        (UnitKind.HEADING, "Tea timer"),
        (UnitKind.SENTENCE, "It rings."),
        (UnitKind.HEADING, "installing the timer"),
        (UnitKind.SENTENCE, "Run::"),
        (UnitKind.CODE, "pip install tea-timer"),
        (UnitKind.CODE, "tea-timer --check"),
        (UnitKind.HEADING, "Options"),
        (UnitKind.TERM, "--minutes N"),
        (UnitKind.SENTENCE, "How long the tea is in the water."),
    ]


def test_a_line_is_a_term_only_above_its_explanation() -> None:
    def terms(text: str) -> list[str]:
        return [text[unit.start : unit.end] for unit in split_units(text) if unit.kind is UnitKind.TERM]

    assert terms("A text.\n\n-a\n--all\n  Show all of them.\n-v\n  Say more.") == ["-a", "--all", "-v"]
    assert terms("kettle\nThe kettle boils two litres of water.") == ["kettle"]
    assert not terms("Bring the following things:\n  a passport")
    assert not terms("A text.\n\n5.2 An exchange with a tenant of any council is\n    possible at any time.")
    assert not terms("cut off at the beginning of a chunk and goes on\n    below, where it ends.")


def test_a_word_between_bars_is_no_cell() -> None:
    assert [unit.kind for unit in split_units("This sets the |max age|__ of a response.")] == [UnitKind.SENTENCE]
    assert [unit.kind for unit in split_units("tea | 5 | hot")] == [UnitKind.ROW]
    assert [unit.kind for unit in split_units("It is tea | or not.")] == [UnitKind.SENTENCE]


def test_two_named_cells_are_a_row() -> None:
    assert [unit.kind for unit in split_units("Item: visa | Amount: 5 €")] == [UnitKind.ROW]


@pytest.mark.parametrize("part", ["a: b | ", "a: ", "a: b |"])
def test_named_cells_are_found_in_linear_time(part: str) -> None:
    assert takes_linear_time(split_units, lambda size, _: part * (size // len(part)), 20_000)


def test_the_titles_of_tabs_are_not_shown() -> None:
    tabs = ".. tab:: Web/Desktop\n\n  Stir it.\n\n.. note:: Drink it."
    units = [tabs[unit.start : unit.end] for unit in split_units(tabs) if unit.kind is not UnitKind.RULE]
    assert units == ["Stir it.", "Drink it."]


def test_a_note_that_begins_on_the_line_of_its_mark_is_a_sentence() -> None:
    text = "Pour it.\n\n.. warning:: The water is hot, so that\n             you may be burnt.\n"
    units = [(unit.kind, " ".join(text[unit.start : unit.end].split())) for unit in split_units(text)]
    assert units[1:] == [(UnitKind.SENTENCE, "The water is hot, so that you may be burnt.")]


def test_comments_are_no_text() -> None:
    text = "..\n  Underline chapters.\n\n  And sections.\n\nTea is hot.\n\n```\n..\n  code\n```"
    kinds = [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text) if unit.kind is not UnitKind.RULE]
    assert kinds == [(UnitKind.SENTENCE, "Tea is hot."), (UnitKind.CODE, ".."), (UnitKind.CODE, "code")]


def test_in_code_marks_of_definitions_and_notes_stay() -> None:
    text = "Run:\n\n```\n: ${A:=1}\n```\n\nThen::\n\n   .. note:: Tea"
    units = [text[unit.start : unit.end] for unit in split_units(text) if unit.kind is UnitKind.CODE]
    assert units == [": ${A:=1}", ".. note:: Tea"]


def test_definitions_explain_the_line_above() -> None:
    assert [unit.start for unit in split_units(": It boils.")] == [2]
    text = "A text.\n\nkettle\n:   It boils water.\n\n#### `POT`\n\n: It holds tea."
    units = [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)]
    assert units[1:] == [
        (UnitKind.TERM, "kettle"),
        (UnitKind.SENTENCE, "It boils water."),
        (UnitKind.HEADING, "#### `POT`"),
        (UnitKind.SENTENCE, "It holds tea."),
    ]
