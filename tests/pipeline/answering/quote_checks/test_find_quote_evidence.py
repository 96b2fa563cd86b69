"""What limits the confidence of an answer that consists of quotes."""

import pytest

from rag.pipeline.answering.extractive.extract import EXTRACTIVE_MODEL, extract_quotes
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.answering.quote_checks.find_quote_evidence import find_quote_evidence
from rag.pipeline.grounding.quote_confidence import QuoteEvidence, confidence_of_quotes
from rag.types import Grounding, Passage
from tests.support.passages import passage


def evidence(question: str, quoted: Passage) -> QuoteEvidence:
    quotes = extract_quotes(question, [quoted])
    generation = PreparedGeneration(
        EXTRACTIVE_MODEL,
        iter(()),
        quotes=tuple(citation for quote in quotes for citation in quote.citations),
        first_quote=quotes[0],
        headings=tuple(quote.heading for quote in quotes),
        quoted_text="\n".join(quote.text for quote in quotes),
    )
    return find_quote_evidence(question, generation, Grounding(True, 0.99, (quoted,), ()))


def confidence(question: str, quoted: Passage) -> float:
    return confidence_of_quotes(0.99, evidence(question, quoted))


def section(heading: str, text: str, relevance: float = 0.999, maxsim: float | None = 0.5) -> Passage:
    return passage(
        f"## {heading}\n\n{text}", title="House", headings=("House", heading), relevance=relevance, maxsim=maxsim
    )


def test_a_section_that_is_much_more_relevant_than_others_may_be_sure() -> None:
    question, heading, text = "Who rings the bell?", "Ringing the bell", "The porter rings the bell at noon."
    assert confidence(question, section(heading, text)) > 0.9
    assert confidence(question, section(heading, text, relevance=0.99)) == 0.75
    assert confidence(question, section(heading, text, relevance=0.6, maxsim=None)) > 0.9, "not of late interaction"


def test_a_quote_in_another_language_may_be_surer_if_a_model_has_read_it() -> None:
    question, quoted = "Wer läutet die Glocke?", passage("The porter rings the bell at noon.", lang="en")
    assert confidence(question, quoted) == 0.5
    assert confidence(question, quoted.copy_with(answer_logit=2.0)) == 0.75


@pytest.mark.parametrize(
    ("question", "heading", "text"),
    [
        ("Who rings the bell?", "The bell does not ring", "Call the porter, who rings the bell."),
        ("The porter does not ring the bell", "Ringing the bell", "The porter rings the bell at noon."),
        ("Who rings the bell?", "Ringing the bell", "Learn more about who rings the bell in the manual."),
        ("How do I ring the bell?", "2. Ring the bell", "Ring the bell with the rope."),
        ("How do I ring the bell?", "Step 2: Ring the bell", "Ring the bell with the rope."),
        ("Why is the bell ringing?", "Ringing the bell", "The bell is ringing at noon."),
    ],
)
def test_quotes_about_the_opposite_or_without_all_that_is_asked_are_not_sure(
    question: str, heading: str, text: str
) -> None:
    assert confidence(question, section(heading, text)) == 0.75


def test_the_reason_of_what_does_not_work_may_be_below_any_heading() -> None:
    text = "The bell does not ring while the porter sleeps, because he has the rope."
    assert confidence("Why does the bell not ring while the porter sleeps?", section("Ringing the bell", text)) > 0.9
    assert confidence("Who rings the bell?", section("2. Ring the bell", "The porter rings the bell.")) > 0.9
