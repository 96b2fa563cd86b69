"""A language model's citations, checked against their passages (pipeline contract, sub-contract 5)."""

import pytest

from rag.pipeline.answering.citations import CitedAnswer, extract_citations
from tests.pipeline.answering.test_extractive import passage

YARD = passage("The house is old. Bicycles are parked in the yard. The porter has 3 keys.")
TEA = passage("The kettle is on the second floor. Water boils at 100 degrees.")


def check(answer: str) -> CitedAnswer:
    return extract_citations(answer, [YARD, TEA])


def numbers(found: CitedAnswer) -> list[int]:
    return [each.number for each in found.citations]


def test_a_citation_has_the_passages_own_words() -> None:
    (citation,) = check("You can park a bicycle in the yard [1].").citations
    assert citation.quote == "Bicycles are parked in the yard."
    assert YARD.text[citation.start - YARD.start : citation.end - YARD.start] == citation.quote


@pytest.mark.parametrize("marks", ["[1][2]", "[1, 2]", "[1], [2]", "[1-2]", "【1】[2]"])
def test_numbers_as_models_write_them(marks: str) -> None:
    found = check(f"Bicycles are parked in the yard, and the kettle is on the second floor {marks}.")
    assert (numbers(found), found.dropped) == ([1, 2], 0)


@pytest.mark.parametrize("marks", ["[7]", "[0]", "[7, 9]", "[7-9]"])
def test_numbers_of_no_passage_are_taken_out_and_counted(marks: str) -> None:
    found = check(f"Bicycles are parked in the yard [1] {marks}. Tea is fine {marks}.")
    assert numbers(found) == [1]
    assert found.dropped == 2 * {"[7]": 1, "[0]": 1, "[7, 9]": 2, "[7-9]": 3}[marks]
    assert found.text == "Bicycles are parked in the yard [1]. Tea is fine."


def test_a_passage_that_does_not_say_so_is_no_citation() -> None:
    found = check("Bicycles are parked in the yard [2]. The kettle is on the second floor [2][1].")
    assert found.text == "The kettle is on the second floor [2]."
    assert (numbers(found), found.dropped) == ([2], 2)
    assert found.unsupported_sentences == ("Bicycles are parked in the yard",)


def test_a_few_words_in_common_are_no_support() -> None:
    assert check("The porter invented penicillin while bicycles crossed Australia [1].").citations == ()


def test_a_number_must_be_in_the_passage() -> None:
    assert numbers(check("The porter has 3 keys [1].")) == [1]
    assert check("The porter has 5 keys [1].").unsupported_sentences == ("The porter has 5 keys",)


def test_two_passages_may_support_a_sentence_together() -> None:
    found = check("The porter has keys of the yard, the kettle is on the second floor and water boils [1][2].")
    assert numbers(found) == [1, 2]


def test_code_is_left_alone() -> None:
    answer = "Bicycles are parked in the yard [1]; see `rows[7]`.\n```\nrows[9]\n```"
    assert (check(answer).text, check(answer).dropped) == (answer, 0)


def test_a_number_ahead_of_its_sentence() -> None:
    assert numbers(check("[1] Bicycles are parked in the yard.")) == [1]
