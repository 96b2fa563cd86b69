"""Splitting a text into quotable units."""

from unittest.mock import Mock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.text.markup import html_tags, plain_structure
from rag.text.sentences.quotable_units import UnitKind, split_units
from tests.support.checks.growth import takes_linear_time

HOSTILE = st.text(alphabet=st.sampled_from(list("aB1. ?!\n\t|-#`[]:é。\u2028\u200b\x85")), max_size=120)


def unit_texts(text: str, lang: str = "") -> list[str]:
    return [text[unit.start : unit.end] for unit in split_units(text, lang)]


@example("![a 1")
@given(st.one_of(HOSTILE, st.text(max_size=200)))
def test_units_cover_the_text_once_and_in_order(text: str) -> None:
    end, covered = 0, ""
    for unit in split_units(text):
        assert end <= unit.start < unit.end <= len(text)
        assert not text[unit.start].isspace()
        covered += text[unit.start : unit.end]
        end = unit.end
    assert {*text} - {*" []0123456789"} <= {*covered} | {character for character in text if character.isspace()}


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Tea is hot. It is green.", ["Tea is hot.", "It is green."]),
        (
            "Dr. Who and J. K. Porter met at 5 p.m. in St. Ives.",
            ["Dr. Who and J. K. Porter met at 5 p.m. in St. Ives."],
        ),
        ("Клуб на ул. Лесная, д. 5. Касса: тел. 555.", ["Клуб на ул. Лесная, д. 5.", "Касса: тел. 555."]),
        ("Llame a la Dra. Ibáñez. Abre a las 9.", ["Llame a la Dra. Ibáñez.", "Abre a las 9."]),
        ("Wir nehmen max. 3 kg an. Mo. 8 bis 12 Uhr.", ["Wir nehmen max. 3 kg an.", "Mo. 8 bis 12 Uhr."]),
        ("Il sig. Rossi, il dott. Bianchi ecc. Vengono.", ["Il sig. Rossi, il dott. Bianchi ecc. Vengono."]),
        ("Escreva ao exmo. Sr. Silva. Abre às 9.", ["Escreva ao exmo. Sr. Silva.", "Abre às 9."]),
        ("Bel dhr. Visser, bijv. Op maandag. Dan mag het.", ["Bel dhr. Visser, bijv. Op maandag.", "Dan mag het."]),
        ("Stir for 5 min. Then add salt. I think so. Go.", ["Stir for 5 min.", "Then add salt.", "I think so.", "Go."]),
        (
            "I think so. 3 of them do. 5 left. Never mind. 9 stay.",
            ["I think so.", "3 of them do.", "5 left.", "Never mind.", "9 stay."],
        ),
        ("Hay 3 uds. Los demás pagan. El max. 5 es azul.", ["Hay 3 uds.", "Los demás pagan.", "El max. 5 es azul."]),
        ("It costs approx. five euros, e.g. for a day.", ["It costs approx. five euros, e.g. for a day."]),
        ("It was built in 1889.[3][4] It is of iron.[5]", ["It was built in 1889.", "It is of iron."]),
        ('"Really?" she asked. "Yes."', ['"Really?" she asked.', '"Yes."']),
        ("**3. Money.** It is short.", ["**3. Money.**", "It is short."]),
        ("_12._ Rain fell. __4.2 Rain.__ It fell.", ["_12._ Rain fell.", "__4.2 Rain.__", "It fell."]),
        ("She read Roe v. Wade. It is long.", ["She read Roe v. Wade.", "It is long."]),
        ("The U.S. Arsenal is in the U.S. They left.", ["The U.S. Arsenal is in the U.S.", "They left."]),
        ("这是茶。那是咖啡。", ["这是茶。", "那是咖啡。"]),
        ("متى يفتح المكتب؟ يفتح في التاسعة.", ["متى يفتح المكتب؟", "يفتح في التاسعة."]),
    ],
)
def test_sentences_are_split_at_their_ends_only(text: str, sentences: list[str]) -> None:
    assert unit_texts(text) == sentences


def test_a_german_ordinal_does_not_end_a_sentence() -> None:
    assert unit_texts("Der Laden ist am 3. Oktober zu. Danach nicht.", "de") == [
        "Der Laden ist am 3. Oktober zu.",
        "Danach nicht.",
    ]
    assert unit_texts("We open at 9. Tea is free.") == ["We open at 9.", "Tea is free."]


def test_wrapped_lines_are_joined_and_short_ones_are_not() -> None:
    wrapped = "Bicycles are parked in the yard behind the house, where the\nporter keeps them. Tea is hot."
    assert unit_texts(wrapped) == [wrapped[: wrapped.index(" Tea")], "Tea is hot."]
    assert unit_texts("Monday 9 to 5\nTuesday 9 to 6\nSunday closed") == [
        "Monday 9 to 5",
        "Tuesday 9 to 6",
        "Sunday closed",
    ]


def test_some_abbreviations_are_words_in_english() -> None:
    assert unit_texts("Das kostet mind. 20 Euro.", "de") == ["Das kostet mind. 20 Euro."]
    assert unit_texts("Never mind. 20 euros are enough.", "en") == ["Never mind.", "20 euros are enough."]


def test_rows_headings_and_code_are_not_split() -> None:
    text = (
        "# Prices\n\n| what | costs. Really |\n| --- | --- |\n| tea | 5. A cup. |\n\n- Tea. It is hot.\n- Coffee\n\n"
        "```\nx = 1. + f(2). y\n```"
    )
    units = [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)]
    assert [unit for unit in units if unit[0] is not UnitKind.RULE] == [
        (UnitKind.HEADING, "# Prices"),
        (UnitKind.ROW, "| what | costs. Really |"),
        (UnitKind.ROW, "| tea | 5. A cup. |"),
        (UnitKind.ITEM, "- Tea."),
        (UnitKind.ITEM, "It is hot."),
        (UnitKind.ITEM, "- Coffee"),
        (UnitKind.CODE, "x = 1. + f(2). y"),
    ]


def test_code_without_fences_is_detected() -> None:
    text = "# The price. Of tea.\ndef price(cups):\n    return cups * 5. + tax(cups)\n\ndef tax(cups):\n    pass"
    assert [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text)][:3] == [
        (UnitKind.CODE, "# The price. Of tea."),
        (UnitKind.CODE, "def price(cups):"),
        (UnitKind.CODE, "return cups * 5. + tax(cups)"),
    ]


def test_items_that_end_with_semicolons_are_no_code() -> None:
    packing = "# List\n\n- eine Jacke;\n- two pairs of socks;\na) la clé du local;\n2. a lamp (with cells):"
    assert [unit.kind for unit in split_units(packing)] == [UnitKind.HEADING, *[UnitKind.ITEM] * 4]
    code = "int count = 0;\n/* Comment;\n * it goes on;\n */\nrun(count);\nreturn count;"
    assert {unit.kind for unit in split_units(code)} - {UnitKind.ITEM} == {UnitKind.CODE}


def test_a_part_of_a_text_may_begin_within_a_code_block() -> None:
    kinds = [unit.kind for unit in split_units("```\n\nTea is hot.\n\nBoil water with:\n\n```\nkettle on now\n")]
    assert kinds == [UnitKind.RULE, UnitKind.SENTENCE, UnitKind.SENTENCE, UnitKind.RULE, UnitKind.CODE]
    kinds = [unit.kind for unit in split_units("kettle on now\n```\n\nTea is hot.\n\n```sh\nkettle off now\n```")]
    assert kinds == [UnitKind.CODE, UnitKind.RULE, UnitKind.SENTENCE, UnitKind.RULE, UnitKind.CODE, UnitKind.RULE]
    kinds = [unit.kind for unit in split_units("Run:\n```\nkettle on now\n```\nThen wait.")]
    assert kinds == [UnitKind.SENTENCE, UnitKind.RULE, UnitKind.CODE, UnitKind.RULE, UnitKind.SENTENCE]


def test_notes_of_myst_are_text() -> None:
    text = "````{tab} Linux\nTea is hot.\n```console\nkettle on now\n```\n````\n\n```{note}\nWait.\n```\n\n"
    text += "```{r}\nx + 1\n```"
    units = [(unit.kind, text[unit.start : unit.end]) for unit in split_units(text) if unit.kind is not UnitKind.RULE]
    assert units == [
        (UnitKind.SENTENCE, "Tea is hot."),
        (UnitKind.CODE, "kettle on now"),
        (UnitKind.SENTENCE, "Wait."),
        (UnitKind.CODE, "x + 1"),
    ]


def test_headings_of_wikis_are_headings() -> None:
    assert [unit.kind for unit in split_units("== Tea ==\nIt is hot.")] == [UnitKind.HEADING, UnitKind.SENTENCE]
    assert [unit.kind for unit in split_units("= = Green tea = =\nIt is hot.")] == [UnitKind.HEADING, UnitKind.SENTENCE]
    assert [unit.kind for unit in split_units("Tea\n=====")] == [UnitKind.HEADING, UnitKind.RULE]


def test_the_first_line_of_a_note_is_no_sentence() -> None:
    for mark in ("!!! note", '??? tip "Hot"', "> [!WARNING]", ":::note", ":::tip[Hot]", ":::", '=== "Hot"'):
        assert [unit.kind for unit in split_units(f"{mark}\n\nTea is hot.")] == [UnitKind.RULE, UnitKind.SENTENCE]


@pytest.mark.parametrize(
    "tag", ["{{< hint style=warning >}}", "{{% /note %}}", '{% include "tea.md" %}', "{%- endif -%}", "<!-- tea -->"]
)
def test_tags_of_site_generators_are_shown_in_code_only(tag: str) -> None:
    units = split_units(f"{tag}\n\nTea is hot.\n\n```\n{tag}\n```")
    assert [unit.kind for unit in units] == [
        UnitKind.RULE,
        UnitKind.SENTENCE,
        UnitKind.RULE,
        UnitKind.CODE,
        UnitKind.RULE,
    ]
    assert html_tags.remove_tags(f"{tag}Tea is hot, says `{tag}`.{tag}") == f"Tea is hot, says `{tag}`."


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Ask at the {% desk 'x' %}desk.", "Ask at the desk."),
        ('Ask {% channel "tea-help" %}.', "Ask tea-help."),
        ('Read {% include "tea help" %}{% page "/tea/" %}it.', "Read it."),
        ("Pour it.{: .note #pour }", "Pour it."),
        ("[Try it](https://tea.example){ .button }", "[Try it](https://tea.example)"),
        ("The set {1, 2} and {.5}", "The set {1, 2} and {.5}"),
        ("`{: .note }` and `a`", "`{: .note }` and `a`"),
    ],
)
def test_tags_that_name_something_are_words_and_attributes_are_left_out(line: str, words: str) -> None:
    assert html_tags.remove_tags(line) == words


def test_attributes_on_a_line_of_their_own_are_no_text() -> None:
    assert unit_texts("Pour it.\n\n{: .note }\nTea is hot.")[-1] == "Tea is hot."
    units = split_units("Pour it.\n\n{: .note }\n\nTea is hot.")
    assert [unit.kind for unit in units] == [UnitKind.SENTENCE, UnitKind.RULE, UnitKind.SENTENCE]


@pytest.mark.parametrize("part", ["{: #a", "){ .a", "{:a=", '{% a "b'])
def test_attributes_are_found_in_linear_time(part: str) -> None:
    assert takes_linear_time(html_tags.remove_tags, lambda size, _: part * (size // len(part)), 20_000)


def test_the_text_of_a_link_may_go_on_below() -> None:
    text = "1. Get the timer from our [Tea\n   Shop](https://tea.example).\n2. Start it."
    units = [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)]
    assert units[:2] == ["1. Get the timer from our [Tea Shop](https://tea.example).", "2. Start it."]
    text = "- You may use your card to get a\n  [new timer](https://tea.example).\n\nLinks to the shop\n[A](a)\n[B](b)"
    units = [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)]
    assert units == [
        "- You may use your card to get a [new timer](https://tea.example).",
        "Links to the shop",
        "[A](a)",
        "[B](b)",
    ]
    text = "1. Follow the\n   [Steps](https://tea.example), and the\n   [Rules](b).\n2. If it rings,\n   `stop` it."
    units = [" ".join(text[unit.start : unit.end].split()) for unit in split_units(text)]
    assert units == [
        "1. Follow the [Steps](https://tea.example), and the [Rules](b).",
        "2. If it rings, `stop` it.",
    ]


def test_blank_lines_are_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk may have 50,000 of them, and answers took three seconds of CPU time for 30,000."""
    is_underlined = Mock(return_value=False)
    monkeypatch.setattr(plain_structure, "is_underlined", is_underlined)
    assert unit_texts("Tea." + "\n" * 1_000 + "Coffee.") == ["Tea.", "Coffee."]
    assert [call.args[1] for call in is_underlined.call_args_list] == [0, 1_000]


@pytest.mark.parametrize("marks", [("(i)", "(ii)", "(iii)"), ("i.", "ii.", "iv."), ("I)", "II)", "XII)")])
def test_roman_numbers_begin_items(marks: tuple[str, ...]) -> None:
    units = split_units("\n".join(f"{mark} tea" for mark in marks))
    assert [unit.kind for unit in units] == [UnitKind.ITEM] * 3
    assert unit_texts("mix. tea") == ["mix. tea"]


def test_items_of_chinese_and_japanese_lists_have_no_space_behind_their_marks() -> None:
    for marks in ("・・", "①②", "●●", ("（1）", "（2）"), ("（一）", "（二）"), ("1、", "2、")):
        units = split_units("\n".join(f"{mark}请穿不怕脏的衣服" for mark in marks))
        assert [unit.kind for unit in units] == [UnitKind.ITEM] * 2
    assert [unit.kind for unit in split_units("一二三年级的学生")] == [UnitKind.SENTENCE]


def test_wrapped_lines_without_spaces_are_joined() -> None:
    lines = (
        "更新を希望する者は、一月三十一日までに更新届を管理事務所に提\n出しなければならない。",
        "駐車場は十八台分です。",
    )
    assert unit_texts("".join(lines), "ja") == list(lines)
    assert unit_texts("春节期间休息\n国庆节照常开放", "zh") == ["春节期间休息", "国庆节照常开放"]


def test_lines_with_a_label_and_a_wide_colon_are_on_their_own() -> None:
    text = "日時：2026年5月16日の午後二時から農園の会議室で開催する予定である\n場所：農園の会議室"
    assert unit_texts(text, "ja") == text.splitlines()
