"""Quotes of rows other than the one that a question names."""

import pytest

from rag.pipeline.answering.extractive.quotes import Quote
from rag.pipeline.answering.quote_checks.other_things.other_rows import is_of_other_row
from rag.types import Citation
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import passage

FEES = """| Service | Animal | Fee |
| --- | --- | --- |
| Spaying | Dog | £398 |
| Spaying | Cat | £139 |
| Nail clipping | Rabbit | £9 |
| Dental care | Horse | price per tooth |
| Boarding | | £20 |"""
TICKETS = """season: 2025 | ticket: Balcony | price: 22
season: 2026 | ticket: Balcony | price: 24
season: 2026 | ticket: Box (4 seats) | price: 110"""


def quote(text: str, *rows: str, title: str = "Prices") -> Quote:
    page = passage(text, title=title)
    starts = [page.start + text.index(row) for row in rows]
    citations = [Citation(1, page, row, start, start + len(row)) for start, row in zip(starts, rows, strict=True)]
    return Quote(1, tuple(citations), "\n".join(rows), is_block=True, continues=False, is_in_section=True)


DOG, CAT = "| Spaying | Dog | £398 |", "| Spaying | Cat | £139 |"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What does spaying cost for a rabbit?", quote(FEES, DOG)),
        ("What does spaying cost for a rabbit?", quote(FEES, DOG, CAT)),
        ("What does nail clipping cost for a dog?", quote(FEES, DOG)),
        ("What did a box cost in 2025?", quote(TICKETS, "season: 2025 | ticket: Balcony | price: 22")),
    ],
)
def test_another_row_is_named(question: str, first: Quote) -> None:
    assert is_of_other_row(question, first)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What does spaying cost for a dog?", quote(FEES, DOG)),
        ("What does spaying cost for a cat or a dog?", quote(FEES, DOG, CAT)),
        ("What does spaying cost for a tortoise?", quote(FEES, DOG)),  # no row is about it
        ("price of spaying a dog", quote(FEES, DOG)),
        ("What does spaying cost for a rabbit?", quote(FEES, "| Service | Animal | Fee |")),  # names of columns only
        ("What does boarding cost for a dog?", quote(FEES, "| Boarding | | £20 |")),
        ("What is the fee for a dog at the rabbit clinic?", quote(FEES, DOG, title="Rabbit clinic")),
        ("What did a balcony seat cost in 2025?", quote(TICKETS, "season: 2025 | ticket: Balcony | price: 22")),
        ("What does spaying cost for a rabbit?", quote("Spaying a dog costs £398.", "Spaying a dog costs £398.")),
    ],
)
def test_the_quoted_rows_may_be_meant(question: str, first: Quote) -> None:
    assert not is_of_other_row(question, first)


def test_rows_are_compared_in_linear_time() -> None:
    def compare(rows: str) -> None:
        is_of_other_row("What does spaying cost for a rabbit?", quote(rows + FEES, DOG))

    assert takes_linear_time(compare, lambda length, _: "| Spaying | Dog | 1 |\n" * (length // 22), 2_000)
