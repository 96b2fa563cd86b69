"""Questions that name a section by its number."""

import pytest

from rag.text.markup.titles.cited_sections import find_cited_sections, section_number, without_cited_sections
from tests.support.checks.growth import takes_linear_time
from tests.support.passages import answer, passage


@pytest.mark.parametrize(
    ("question", "numbers"),
    [
        ("What does § 3 say?", {"3"}),
        ("Was steht in §3 und in Artikel 4?", {"3", "4"}),
        ("What does clause 2.1 regulate?", {"2.1"}),
        ("Is art. iv binding?", {"IV"}),
        ("Che cosa dice l'articolo 5?", {"5"}),
        ("O que diz o artigo 5.º?", {"5"}),
        ("Wat staat er in hoofdstuk 4 en in artikel 2?", {"4", "2"}),
        ("Who pays 3 francs in section A?", set()),
        ("Which section I need", set()),
    ],
)
def test_numbers_of_sections_in_questions(question: str, numbers: set[str]) -> None:
    assert find_cited_sections(question) == numbers


@pytest.mark.parametrize(
    ("heading", "number"),
    [
        ("## § 3 Fees", "3"),
        ("2.1. Dogs", "2.1"),
        ("# Article IV", "IV"),
        ("## Artigo 5.º Reservas", "5"),
        ("# 3 kg of honey", "3"),
        ("Fees of 2024", ""),
        ("# 2.x branch", ""),
    ],
)
def test_numbers_of_headings(heading: str, number: str) -> None:
    assert section_number(heading) == number


@pytest.mark.parametrize("unit", ["§", "art ", "1.", "# ", "a"])
def test_citations_are_found_in_linear_time(unit: str) -> None:
    assert takes_linear_time(find_cited_sections, lambda length, seed: f"{seed}" + unit * length, 400_000)
    assert takes_linear_time(without_cited_sections, lambda length, seed: f"{seed}" + unit * length, 400_000)
    assert takes_linear_time(section_number, lambda length, seed: unit * length, 400_000)


STATUTES = """# {0}1 Name

The club is named Trub.

# {0}2 Purpose

The club keeps bees. It is a charity.

# {0}3 Fees

(1) Members pay a fee each year.
(2) The fee is due in January.
"""


@pytest.mark.parametrize("mark", ["", "§ ", "Article "])
def test_the_section_that_is_named_is_quoted(mark: str) -> None:
    page = passage(STATUTES.format(mark))
    assert answer("What does § 2 say?", page) == "The club keeps bees. It is a charity. [1]"
    assert answer("What does section 3 say?", page) == (
        "(1) Members pay a fee each year.\n(2) The fee is due in January. [1]"
    )
