"""Statements that change what the best part says."""

import datetime

import pytest

from rag.types import Passage
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import answer, passage

OTHERS = "The yard is behind the house. The office has two rooms. Dogs are kept on a lead."


def old(text: str, **fields: object) -> Passage:
    """The passage that the search ranks first, with other sentences."""
    return passage(f"{text}\n\n{OTHERS}", **{"relevance": 0.9, **fields})


@pytest.mark.parametrize(
    ("question", "before", "change", "expected"),
    [
        (
            "How much is the annual fee for students?",
            "The annual fee for students is 60 euros.",
            "From 1 January 2026 the annual fee for students is 72 euros.",
            "72 euros",
        ),
        (
            "When does the library close on Fridays?",
            "The library closes at 18:00 on Fridays.",
            "The library now closes at 16:00 on Fridays.",
            "16:00",
        ),
        (
            "deadline grant application",
            "The grant application must arrive by 15 March.",
            "The deadline of the grant application has been moved to 30 April.",
            "30 April",
        ),
        (
            "How many places does the beginners' course have?",
            "The beginners' course has 12 places.",
            "Because of the demand the beginners' course now has 16 places.",
            "16 places",
        ),
        (
            "Wie hoch ist die Leihgebühr für das Zelt?",
            "Die Leihgebühr für das Zelt beträgt 25 €.",
            "Ab 1. März beträgt die Leihgebühr für das Zelt 30 €.",
            "30 €",
        ),
        (
            "Jusqu'à quelle heure la piscine est-elle ouverte ?",
            "La piscine est ouverte jusqu'à 19 h 30.",
            "À partir du 1er juin, la piscine est ouverte jusqu'à 21 h 00.",
            "21 h 00",
        ),
        (
            "¿Cuánto cuesta la clase de prueba?",
            "La clase de prueba cuesta 15 euros.",
            "La clase de prueba cuesta ahora 18 euros.",
            "18 euros",
        ),
        # The introduction says from when it is valid
        (
            "What does a guest card cost?",
            "A guest card costs £6.50.",
            "Charges with effect from 1 May:\n\n- guest card: £7.00\n- day card: unchanged",
            "£7.00",
        ),
        # A heading that matches selects the old section
        (
            "Opening hours of the library",
            "## Opening hours of the library\n\nThe library is open until 18:00.",
            "The opening hours have changed: the library is now open until 16:00.",
            "16:00",
        ),
    ],
)
def test_the_change_is_quoted_instead(question: str, before: str, change: str, expected: str) -> None:
    lang = "de" if " die " in question else ""
    assert expected in answer(question, old(before, lang=lang), passage(change, relevance=0.9, lang=lang))
    assert expected not in answer(question, old(before, lang=lang))


@pytest.mark.parametrize(
    ("question", "before", "other"),
    [
        # About something else, with most words of the question
        (
            "How much is the annual fee for students?",
            "The annual fee for students is 60 euros.",
            "From 1 January 2026 the annual fee for families is 140 euros.",
        ),
        (
            "When does the library close on Fridays?",
            "The library closes at 18:00 on Fridays.",
            "The café of the library now closes at 17:00 on Mondays.",
        ),
        # With another word of the row's name
        (
            "What does a guest card cost?",
            "| card | price |\n| --- | --- |\n| guest card | £6.50 |\n| day card | £9.00 |",
            "From 1 May a day card costs £9.50.",
        ),
        # About something else, with the rarest words of the question
        (
            "What does a day ticket for a child cost?",
            "A day ticket for a child costs £3.00.",
            "From 1 May a day ticket for adults costs £6.00. The child must be under 12.",
        ),
        (
            "When does the sauna open?",
            "The pool is open from 9:00 to 20:00, the sauna from 11:00 to 22:00.",
            "The sauna now closes at 21:00.",
        ),
        # A value of another kind
        (
            "How long may I keep a book?",
            "You may keep a book for 4 weeks.",
            "A lost book now costs 12 euros.",
        ),
        (
            "How long does the annual fee for students apply?",
            "The annual fee for students, 60 euros, is for 12 months.",
            "From 1 May the annual fee for students is 72 euros.",
        ),
        # The same value
        ("What does a guest card cost?", "A guest card costs £6.50.", "A new guest card costs £6.50."),
        # Nothing changes: a rule, or a period that returns every year
        ("What does a guest card cost?", "A guest card costs £6.50.", "For children a guest card costs £3.50."),
        (
            "What does a guest card cost?",
            "A guest card costs £6.50.",
            "From 1 April to 30 September a guest card with sauna costs £9.00.",
        ),
        # The only date is that from which something else is valid
        (
            "When is the parents' evening?",
            "The parents' evening is on 12 March.",
            "From 1 May the parents' evening is in the new hall.",
        ),
        # The past is asked for
        ("What is the previous price of a guest card?", "A guest card costs £6.50.", "A guest card now costs £7.00."),
        (
            "What does a guest card cost in 2024?",
            "A guest card costs £6.50.",
            "From 1 January 2025 a guest card costs £7.00.",
        ),
        # What is quoted says itself that it has changed
        ("What does a guest card cost?", "A guest card now costs £6.50.", "Until July a guest card now costs £7.00."),
    ],
)
def test_other_statements_change_nothing(question: str, before: str, other: str) -> None:
    expected = answer(question, old(before))
    assert expected in answer(question, old(before), passage(other, relevance=0.9))


def test_the_name_of_an_item_says_what_it_is_about() -> None:
    """It is not the rarest word of the question."""
    before = old("- Consultations: £20 if you do not come.\n- Operations: £60.", relevance=0.8)
    change = "Agreed with effect from 1 May:\n\n- {name}: £25\n- tea fund: as before"
    question = "charge for a consultation if I do not come"
    assert "£25" in answer(question, before, passage(change.format(name="missed consultation"), relevance=0.9))
    assert "£25" not in answer(question, before, passage(change.format(name="come in"), relevance=0.9))


@pytest.mark.parametrize(("relevance", "expected"), [(0.9, "72 euros"), (0.8, "72 euros"), (0.6, "60 euros")])
def test_a_change_that_answers_much_worse_is_not_quoted(relevance: float, expected: str) -> None:
    """Among many parts that answer nearly as well as the best one, a little is much."""
    before = (
        "The annual fee for students is 60 euros. Students pay the annual fee of 60 euros in spring. The annual fee of "
        "60 euros is paid by card. Students who pay the annual fee of 60 euros get a receipt. The office lists the "
        "annual fee of 60 euros. Whoever leaves gets the annual fee of 60 euros back."
    )
    change = passage("From 1 January 2026 the annual fee for students is 72 euros.", relevance=relevance)
    assert expected in answer("How much is the annual fee for students?", passage(before, relevance=0.9), change)


def test_the_change_is_not_older() -> None:
    change = passage("A guest card now costs £7.00.", relevance=0.9, path="minutes-2023.txt")
    assert "£6.50" in answer("guest card price", old("A guest card costs £6.50.", title="Prices 2025"), change)
    assert "£7.00" in answer("guest card price", old("A guest card costs £6.50.", title="Prices 2021"), change)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"path": "prices-2024.md"}, {"path": "prices-2025.md"}),
        ({"title": "Prices 2024"}, {"title": "Prices 2025"}),
        ({"headings": ("Prices in 2024",)}, {"headings": ("Prices in 2025",)}),
        ({"date": datetime.datetime(2024, 1, 1)}, {"date": datetime.datetime(2025, 1, 1)}),
    ],
)
def test_of_two_documents_with_the_same_statement_the_later_one_is_quoted(
    earlier: dict[str, object], later: dict[str, object]
) -> None:
    before, after = "A guest card for the sauna costs £6.50.", "A guest card for the sauna costs £7.00."
    question = "What does a guest card for the sauna cost?"
    assert "£7.00" in answer(question, old(before, **earlier), passage(after, relevance=0.9, **later))
    assert "£7.00" in answer(question, old(after, **later), passage(before, relevance=0.9, **earlier))
    assert "£6.50" in answer(
        f"{question[:-1]} in 2024?", old(before, **earlier), passage(after, relevance=0.9, **later)
    )
    assert "£6.50" in answer(question, old(before), passage(after, relevance=0.9, **later))


def test_the_later_document_must_say_the_same() -> None:
    before = old("A guest card for the sauna costs £6.50.", path="p-2024.md")
    later = "A guest card for the sauna with a towel and a drink in the garden café costs £9.00."
    assert "£6.50" in answer("guest card sauna", before, passage(later, relevance=0.9, path="p-2025.md"))


@pytest.mark.parametrize(
    "run",
    [
        "\n- a",
        "\n- a: 1 €",
        "from 1 ",
        "from the 1. ",
        "à partir du ",
        "has been ",
        "au lieu ",
        "20",
        "2024 ",
        "ab den ",
    ],
)
def test_long_texts_take_linear_time(run: str) -> None:
    def text_of(length: int, attempt: int) -> str:
        return f"A guest card costs £{attempt}. {run * (length // len(run))}"

    before = old("A guest card costs £6.50.")
    assert takes_linear_time(
        lambda text: answer("guest card price", before, passage(text, relevance=0.9)), text_of, 20_000
    )
