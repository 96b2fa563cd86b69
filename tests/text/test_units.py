"""What of a text can be quoted as it stands."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.text.units import UnitKind, split_units

HOSTILE = st.text(alphabet=st.sampled_from(list("aB1. ?!\n\t|-#`[]:é。\u2028\u200b\x85")), max_size=120)


def cut(text: str, lang: str = "") -> list[str]:
    return [text[piece.start : piece.end] for piece in split_units(text, lang)]


@settings(deadline=None)
@given(st.one_of(HOSTILE, st.text(max_size=200)))
def test_nothing_is_lost_doubled_or_out_of_order(text: str) -> None:
    end, seen = 0, ""
    for piece in split_units(text):
        assert end <= piece.start < piece.end <= len(text)
        assert not text[piece.start].isspace()
        seen += text[piece.start : piece.end]
        end = piece.end
    assert {*text} - {*" []0123456789"} <= {*seen} | {each for each in text if each.isspace()}


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Tea is hot. It is green.", ["Tea is hot.", "It is green."]),
        (
            "Dr. Who and J. K. Porter met at 5 p.m. in St. Ives.",
            ["Dr. Who and J. K. Porter met at 5 p.m. in St. Ives."],
        ),
        ("It costs approx. five euros, e.g. for a day.", ["It costs approx. five euros, e.g. for a day."]),
        ("It was built in 1889.[3][4] It is of iron.[5]", ["It was built in 1889.", "It is of iron."]),
        ('"Really?" she asked. "Yes."', ['"Really?" she asked.', '"Yes."']),
        ("这是茶。那是咖啡。", ["这是茶。", "那是咖啡。"]),
    ],
)
def test_where_a_sentence_ends(text: str, sentences: list[str]) -> None:
    assert cut(text) == sentences


def test_a_german_ordinal_ends_no_sentence() -> None:
    assert cut("Der Laden ist am 3. Oktober zu. Danach nicht.", "de") == [
        "Der Laden ist am 3. Oktober zu.",
        "Danach nicht.",
    ]
    assert cut("We open at 9. Tea is free.") == ["We open at 9.", "Tea is free."]


def test_a_broken_line_goes_on_and_a_short_one_does_not() -> None:
    wrapped = "Bicycles are parked in the yard behind the house, where the\nporter keeps them. Tea is hot."
    assert cut(wrapped) == [wrapped[: wrapped.index(" Tea")], "Tea is hot."]
    assert cut("Monday 9 to 5\nTuesday 9 to 6\nSunday closed") == ["Monday 9 to 5", "Tuesday 9 to 6", "Sunday closed"]


def test_rows_items_headings_and_code_are_whole() -> None:
    text = (
        "# Prices\n\n| what | costs. Really |\n| --- | --- |\n| tea | 5. A cup. |\n\n- Tea. It is hot.\n- Coffee\n\n"
        "```\nx = 1. + f(2). y\n```"
    )
    found = [(piece.kind, text[piece.start : piece.end]) for piece in split_units(text)]
    assert [each for each in found if each[0] is not UnitKind.RULE] == [
        (UnitKind.HEADING, "# Prices"),
        (UnitKind.ROW, "| what | costs. Really |"),
        (UnitKind.ROW, "| tea | 5. A cup. |"),
        (UnitKind.ITEM, "- Tea."),
        (UnitKind.ITEM, "It is hot."),
        (UnitKind.ITEM, "- Coffee"),
        (UnitKind.CODE, "x = 1. + f(2). y"),
    ]


def test_code_without_fences_is_known_by_its_lines() -> None:
    text = "# The price. Of tea.\ndef price(cups):\n    return cups * 5. + tax(cups)\n\ndef tax(cups):\n    pass"
    assert [(piece.kind, text[piece.start : piece.end]) for piece in split_units(text)][:3] == [
        (UnitKind.CODE, "# The price. Of tea."),
        (UnitKind.CODE, "def price(cups):"),
        (UnitKind.CODE, "return cups * 5. + tax(cups)"),
    ]
