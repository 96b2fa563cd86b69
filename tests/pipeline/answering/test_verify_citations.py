"""Citations of a language model are verified against their passages (pipeline contract, sub-contract 5)."""

import re

import pytest
from markdown_it import MarkdownIt

from rag.pipeline.answering.verify_citations import CitedAnswer, extract_citations
from tests.support.passages import passage

YARD = passage("The house is old. Bicycles are parked in the yard. The porter has 3 keys.")
_PARKED = "Bicycles are parked in the yard [1]."
TEA = passage("The kettle is on the second floor. Water boils at 100 degrees.")


def check(answer: str) -> CitedAnswer:
    return extract_citations(answer, [YARD, TEA])


def numbers(answer: CitedAnswer) -> list[int]:
    return [citation.number for citation in answer.citations]


def test_a_citation_quotes_its_passage() -> None:
    (citation,) = check("You can park a bicycle in the yard [1].").citations
    assert citation.quote == "Bicycles are parked in the yard."
    assert YARD.text[citation.start - YARD.start : citation.end - YARD.start] == citation.quote


@pytest.mark.parametrize("marks", ["[1][2]", "[1, 2]", "[1], [2]", "[1-2]", "【1】[2]"])
def test_all_formats_of_citations_are_recognized(marks: str) -> None:
    cited = check(f"Bicycles are parked in the yard, and the kettle is on the second floor {marks}.")
    assert (numbers(cited), cited.dropped) == ([1, 2], 0)


@pytest.mark.parametrize("marks", ["[7]", "[0]", "[7, 9]", "[7-9]"])
def test_citations_of_unknown_passages_are_dropped_and_counted(marks: str) -> None:
    cited = check(f"Bicycles are parked in the yard [1] {marks}. Tea is fine {marks}.")
    assert numbers(cited) == [1]
    assert cited.dropped == 2 * {"[7]": 1, "[0]": 1, "[7, 9]": 2, "[7-9]": 3}[marks]
    assert cited.text == "Bicycles are parked in the yard [1]. Tea is fine."


def test_citations_of_unrelated_passages_are_dropped() -> None:
    cited = check("Bicycles are parked in the yard [2]. The kettle is on the second floor [2][1].")
    assert cited.text == "The kettle is on the second floor [2]."
    assert (numbers(cited), cited.dropped) == ([2], 2)
    assert cited.unsupported_sentences == ("Bicycles are parked in the yard",)


@pytest.mark.parametrize("answer", ["{} [1]. [2]", "{} [2]. [1]", "{} [2] – [1].", "[2] {}. [1]"])
def test_a_sentence_that_one_citation_supports_stays_and_is_not_listed(answer: str) -> None:
    sentence = "Bicycles are parked in the yard"
    cited = check(answer.format(sentence))
    assert sentence in cited.text
    assert (numbers(cited), cited.unsupported_sentences) == ([1], ())
    assert cited.text.count(".") == 1


@pytest.mark.parametrize("picture", ["! [9][x]", "!【9】[x]", "!【1, 9】"])
def test_a_dropped_citation_leaves_no_picture(picture: str) -> None:
    cited = check(f"Bicycles are parked in the yard [1]. Bicycles are parked {picture}(https://x.example/a.png).")
    assert "(https://x.example/a.png)" in cited.text
    assert "![" not in cited.text


@pytest.mark.parametrize(
    "definition",
    [
        "[1](https://x.example)",
        "[1]: https://x.example",
        "[1]:https://x.example 'Yard'",
        "> [ 1 ]: https://x.example",
    ],
)
def test_no_citation_becomes_a_link(definition: str) -> None:
    """Clients that render Markdown would show the link, and not the line that says where it leads."""
    cited = check(f"{_PARKED}\n\n{definition}")
    assert numbers(cited) == [1]
    assert not re.search(r"<a [^>]*>\s*1", MarkdownIt("commonmark").render(cited.text))


def test_few_shared_words_are_not_enough() -> None:
    assert check("The porter invented penicillin while bicycles crossed Australia [1].").citations == ()


def test_a_number_must_be_in_the_passage() -> None:
    assert numbers(check("The porter has 3 keys [1].")) == [1]
    assert check("The porter has 5 keys [1].").unsupported_sentences == ("The porter has 5 keys",)


def test_two_passages_may_support_a_sentence_together() -> None:
    cited = check("The porter has keys of the yard, the kettle is on the second floor and water boils [1][2].")
    assert numbers(cited) == [1, 2]


def test_code_is_not_changed() -> None:
    answer = "Bicycles are parked in the yard [1]; see `rows[7]`.\n```\nrows[9]\n```"
    assert (check(answer).text, check(answer).dropped) == (answer, 0)


def test_a_citation_can_precede_its_sentence() -> None:
    assert numbers(check("[1] Bicycles are parked in the yard.")) == [1]
