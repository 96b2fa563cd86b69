"""Scores of parts: the similarity of a part alone and the question, and what is read together with a part."""

import uuid

import numpy as np
import pytest

from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.parts.pointing_sentences import is_pointer, mostly_points
from rag.pipeline.answering.extractive.parts.split_into_parts import says_nothing
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.answering.extractive.scores.sentence_similarity import SentenceSimilarity
from rag.text.sentences.quotable_units import UnitKind
from rag.types.token_vectors import TokenVectors
from tests.support.passages import passage

TEXT = "Cups are blue and round.\n\nSpoons are grey and thin."
PARAGRAPHS = "Cups are blue. They are quite round.\n\nSpoons are grey. They are quite thin."


class Similarity(SentenceSimilarity):
    """States the similarity of texts and the question, and of what contains these texts."""

    def __init__(self, both_ways: dict[str, float], within: dict[str, float], text: str = TEXT) -> None:
        super().__init__()
        self._both_ways, self._within, self.text = both_ways, within, text

    def score_both_ways(self, document_id: uuid.UUID, start: int, end: int) -> float | None:
        return self._both_ways.get(self.text[start:end], 0.0)

    def token_scores(self, document_id: uuid.UUID, start: int, end: int) -> TokenVectors | None:
        scores = [score for text, score in self._within.items() if text in self.text[start:end]]
        return np.array([max(scores, default=0.0)], dtype=np.float32)


def answered(similarity: Similarity) -> str:
    page = passage(similarity.text, start=0, end=len(similarity.text))
    return render_quotes(extract_quotes("Which tools do people use?", [page], similarity))


@pytest.mark.parametrize("best", TEXT.split("\n\n"))
def test_a_part_that_says_the_same_as_the_question_is_better(best: str) -> None:
    assert answered(Similarity({best: 1.0}, {})) == best


def test_a_line_that_is_no_sentence_is_worse_than_a_sentence() -> None:
    """The lines at the top of a letter or a policy have the words of many questions, and answer none."""
    line = "Tools that people use in the rooms of the house and in the yard, valid from May"
    sentence = "Spoons are grey and thin."
    assert answered(Similarity({line: 1.0}, {}, f"## House\n\n{line}\n\n## Spoons\n\n{sentence}")) == sentence


@pytest.mark.parametrize(("question", "best"), [("Why does it show e-12?", "E-12"), ("Why does it show it?", "E-31")])
def test_the_part_with_the_code_of_the_question_is_better_than_a_similar_one(question: str, best: str) -> None:
    """Codes look similar to the models, and consist of words that other parts have: "E", "12"."""
    text = "E-12 The cup is stuck.\n\nE-31 The spoon is bent: wait 12 minutes.\n\nThe E-series has cups."
    similarity = Similarity({"E-31 The spoon is bent: wait 12 minutes.": 1.0}, {}, text)
    page = passage(text, start=0, end=len(text))
    assert render_quotes(extract_quotes(question, [page], similarity)).startswith(best)


def test_a_name_with_underscores_is_not_that_of_the_same_words_in_another_order() -> None:
    text = "`found_cups` counts cups.\n\n`cups_found` lists what is blue.\n\nCups are round.\n\nSpoons are thin."
    similarity = Similarity({"`found_cups` counts cups.": 1.0}, {}, text)
    page = passage(text, start=0, end=len(text))
    assert render_quotes(extract_quotes("What has the field cups_found?", [page], similarity)).startswith(
        "`cups_found`"
    )


def test_of_parts_with_a_code_the_one_with_another_code_of_the_question_is_the_best() -> None:
    """The search may rank the passage about the other model first, and that may have more words of the question."""
    others = "\n\n".join(f"E-{number} The lamp is red." for number in range(20, 25))
    models = [("AX-2", "The kettle shows that the kitchen is cold."), ("AX-1", "The spoon is bent.")]
    pages = [passage(f"## Model {model}\n\nE-12 {text}\n\n{others}") for model, text in models]
    question = "Our AX-1 kettle shows E-12, and the kitchen is cold."
    assert "spoon" in render_quotes(extract_quotes(question, pages)[:1])


def test_a_part_has_the_codes_of_the_headings_above_it() -> None:
    others = "Machines squeak if they are dry.\n\nMachines are cleaned on Fridays.\n\nMachines are grey."
    pages = [passage(others), passage("Oil it on Mondays.", headings=("Machine HX-5",))]
    assert "Oil it" in render_quotes(extract_quotes("Why does the machine HX-5 squeak?", pages))


@pytest.mark.parametrize(("weights", "best"), [((0.9, 0.1), "Cups"), ((0.1, 0.9), "Spoons")])
def test_tokens_of_the_question_count_by_their_weights(weights: tuple[float, float], best: str) -> None:
    class Weighted(Similarity):
        def token_scores(self, document_id: uuid.UUID, start: int, end: int) -> TokenVectors | None:
            text = self.text[start:end]
            return np.array(["Cups" in text, "Spoons" in text], dtype=np.float32)

    similarity = Weighted({}, {})
    similarity.token_weights = np.array(weights, np.float32)
    assert answered(similarity).startswith(best)


@pytest.mark.parametrize("best", PARAGRAPHS.split("\n\n"))
def test_a_part_of_a_paragraph_that_says_the_same_is_better(best: str) -> None:
    """No sentence alone is similar."""
    assert answered(Similarity({}, {best: 1.0}, PARAGRAPHS)) == best


@pytest.mark.parametrize(
    ("text", "points"),
    [
        ("Learn how to store tea.", True),
        ("For the details, see the next chapter.", True),
        ("This chapter describes how tea is stored.", True),
        ("More information can be found in the cellar.", True),
        ("The [tea\nmanual](tea.md) says how it is stored.", True),
        ("The manual lists nothing.", False),
        ("The tea is stored in this cellar.", False),
        ("These cups are listed by colour.", False),
        ("See that the lid is closed, " + "and closed again, " * 20 + "then drink.", False),
    ],
)
def test_sentences_that_mostly_say_where_to_read_on(text: str, points: bool) -> None:
    assert mostly_points(text) is points


def test_a_sentence_with_nothing_but_links_is_a_pointer() -> None:
    assert is_pointer("Please refer to :ref:`cows` and [goats](goats.md) for details.")
    assert is_pointer("See https://tea.example/cows.")
    assert not is_pointer("See :ref:`cows` before you milk one.")


@pytest.mark.parametrize(
    ("text", "says_something"),
    [("(Version 2 or later)", False), ("> (optional)", False), ("(Hours for a 15 GB backup file.)", True)],
)
def test_remarks_in_brackets_say_nothing_unless_they_are_sentences(text: str, says_something: bool) -> None:
    assert says_nothing(UnitKind.SENTENCE, text) is not says_something


@pytest.mark.parametrize(
    ("question", "similar", "number"),
    [
        ("How many cups may people have?", "Cups are what people have and want.", "Up to 30 are allowed."),
        ("Which version do people need?", "The newest version is at 127.0.0.1:80.", "Kettle 2.4 or later."),
    ],
)
def test_a_part_with_the_number_is_better_than_a_similar_one_without(question: str, similar: str, number: str) -> None:
    """What a thing is for, and how it is updated, resembles the question more than how many there may be."""
    text = f"## Kettles\n\n{similar}\n\n## Cups\n\n{number}\n\n## Spoons\n\nSpoons are thin."
    page = passage(text, start=0, end=len(text))
    similarity = Similarity({similar: 1.0}, {similar: 1.0, number: 0.5}, text)
    assert render_quotes(extract_quotes(question, [page], similarity)) == number


@pytest.mark.parametrize(("named", "other"), [("tent", "hut"), ("hut", "tent")])
def test_a_row_is_named_by_its_first_cell_with_letters(named: str, other: str) -> None:
    row = f"| 31-40 | Safari {other} | 6 | large |"
    text = f"| Number | Model | Beds | Air |\n| --- | --- | --- | --- |\n| 27-30 | Safari {named} | 5 | no |\n{row}"
    page = passage(text, start=0, end=len(text))
    quotes = extract_quotes(f"How large is the safari {named}?", [page], Similarity({row: 0.1}, {}, text))
    assert f"Model: Safari {named}" in render_quotes(quotes)


def test_a_row_has_the_words_of_its_columns() -> None:
    table = "| Room | Floor covering | Light |\n| --- | --- | --- |\n| Attic (north) | oak | weak |"
    text = f"The attic is cleaned on Fridays.\n\n{table}"
    answer = render_quotes(extract_quotes("Which floor covering does the attic have?", [passage(text)]))
    assert answer.startswith("- Attic (north) — Floor covering: oak")


def test_a_row_is_as_similar_as_the_names_of_its_columns() -> None:
    header = "| Utensil | Colour |"
    text = f"Cups are blue and round.\n\n{header}\n| --- | --- |\n| Ladle | grey |"
    assert answered(Similarity({}, {"Cups": 0.5, header: 1.0}, text)) == "- Ladle — Colour: grey"
    assert answered(Similarity({}, {"Cups": 1.0, header: 0.9}, text)) == "Cups are blue and round."


@pytest.mark.parametrize(("number", "written"), [("1,100", "1.100"), ("1100", "1,100"), ("1.100", "1'100")])
def test_numbers_are_the_same_with_other_signs_between_their_thousands(number: str, written: str) -> None:
    """1.100 was the words 1 and 100, which the bag and item (1) have, too."""
    best, other = f"- container {written} litres: 38 euros", "- bag 100 litres: 1 euro"
    text = f"(1) Bins are round.\n\n{other}\n{best}"
    page = passage(text, start=0, end=len(text))
    quotes = extract_quotes(f"What does one of {number} litres cost?", [page], Similarity({}, {}, text))
    assert render_quotes(quotes).endswith(best.removeprefix("- "))


@pytest.mark.parametrize(
    ("question", "is_number_best"), [("At what age is a cup sold?", True), ("Why is a cup sold?", False)]
)
def test_a_part_with_a_number_is_better_where_an_amount_is_asked_for(question: str, is_number_best: bool) -> None:
    similar, number = "A cup is sold when it is old.", "After 30 weeks a cup goes."
    text = f"## Blue\n\n{similar}\n\n## Grey\n\n{number}\n\n## Spoons\n\nSpoons are thin."
    similarity = Similarity({similar: 0.9, number: 0.8}, {similar: 0.9, number: 0.8}, text)
    quotes = extract_quotes(question, [passage(text, start=0, end=len(text))], similarity)
    assert render_quotes(quotes) == (number if is_number_best else similar)


def test_a_reply_is_better_than_a_mail_that_it_quotes() -> None:
    reply, quoted = "Ana opens the gate.", "Ben opens the gate."
    text = f"{reply}\n\n{'Spoons are thin. ' * 8}\n\n> {quoted}"
    similarity = Similarity({reply: 0.8, quoted: 0.94}, {reply: 0.8, quoted: 0.94}, text)
    page = passage(text, start=0, end=len(text), path="a.eml")
    assert "Ana" in render_quotes(extract_quotes("Who opens the gate?", [page], similarity))[:20]
