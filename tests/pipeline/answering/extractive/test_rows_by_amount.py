"""The row or item whose range has an amount of the question is quoted."""

import pytest

from tests.support.passages import answer, passage

LIMITS = (
    "# Approval\n\nWho approves an order depends on its value. It is approved by the person named here:\n\n"
    "| Order value | Approved by |\n| --- | --- |\n| up to 1,500 € | team leader |\n"
    "| over 1,500 € up to 15,000 € | head of department |\n| over 15,000 € | board |\n"
)
POSTAGE = "# Versand\n\n- bis 2 kg: 4,90 €\n- über 2 kg bis 10 kg: 8,90 €\n- über 10 kg: 14,90 €\n"
TICKETS = (
    "# Tickets\n\n| Age | Ticket |\n| --- | --- |\n| under 6 | free |\n| 6–14 | child |\n| 15 and over | adult |\n"
)


@pytest.mark.parametrize(
    ("text", "question", "row"),
    [
        (LIMITS, "Who approves an order of 1,500 €?", "team leader"),
        (LIMITS, "Who approves an order of 12,000 €?", "head of department"),
        (LIMITS, "My order is worth €40,000, who approves it?", "board"),
        (POSTAGE, "Was kostet der Versand von 5 kg?", "8,90 €"),
        (POSTAGE, "Was kostet der Versand von 12,5 kg?", "14,90 €"),
        (TICKETS, "Which ticket for a girl of 5 years?", "free"),
        (TICKETS, "Which ticket for my 9-year-old?", "child"),
    ],
)
def test_the_row_of_the_amount_is_quoted(text: str, question: str, row: str) -> None:
    others = {"team leader", "head of department", "board", "4,90 €", "8,90 €", "14,90 €", "free", "child", "adult"}
    quoted = answer(question, passage(text))
    assert row in quoted
    assert not any(other in quoted for other in others - {row} if other not in row)


def test_amounts_of_another_unit_choose_no_row() -> None:
    assert answer("Who approves an order of 20 kg?", passage(LIMITS)) == answer(
        "Who approves an order of 12 kg?", passage(LIMITS)
    )


def test_a_single_range_is_no_table_of_ranges() -> None:
    """What is said of all others may be in the other rows."""
    text = "| Kind | Limit |\n| --- | --- |\n| letters | up to 2 kg |\n| parcels | see the counter |\n"
    assert "parcels" in answer("Where can I send parcels of 1 kg?", passage(text))
