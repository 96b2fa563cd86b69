"""A question is groundable if one passage stands out from the others, though words of the question are missing."""

import uuid

import pytest
from pytest_django import Settings

from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.grounding.best_passage_margin import adjust_to_margin, heading_stands_out
from rag.providers import provider_factory
from rag.services.queries.agent import selected_text_passage
from rag.types import Context, Passage

QUESTION = "How do I log in without a password?"
ANSWER = "Sign in with the link that you get by mail, so that no password is needed."
OTHERS = (
    "The settings page has a list of languages, and a choice of colours for the profile.",
    "Members write to each other in rooms, which the owner of a room may close.",
    "A room has a name, a picture and at most 200 members.",
    "Pictures are stored for thirty days, and then removed from the server.",
    "The server sends an e-mail if somebody writes to a member who is away.",
)


def signed(*texts: str, coverage: float = 0.3, relative_similarity: float = 0.0) -> tuple[Passage, ...]:
    """Passages with the signatures that a search reads."""
    _, signatures = provider_factory.local_embedder().embed_with_token_signatures(texts)
    return tuple(
        selected_text_passage(text).copy_with(
            chunk_id=uuid.uuid4(),
            signatures=stored,
            coverage=coverage,
            relative_similarity=relative_similarity,
        )
        for text, stored in zip(texts, signatures, strict=True)
    )


def test_the_probability_rises_with_the_margin_of_the_best_passage() -> None:
    alone, similar = signed(ANSWER, *OTHERS), signed(ANSWER, *OTHERS, f"{ANSWER} This takes a day.")
    assert adjust_to_margin(QUESTION, alone, 0.25) == 0.6, "the highest that was measured"
    assert adjust_to_margin(QUESTION, similar, 0.25) < 0.45
    assert adjust_to_margin(QUESTION, similar, 0.25) > adjust_to_margin(QUESTION, similar, 0.15)


def test_a_passage_about_something_else_does_not_stand_out_from_others() -> None:
    other = "The paid version is 4 euros a month for each person."
    assert adjust_to_margin("How much is the bus ticket?", signed(other, *OTHERS), 0.25) < 0.45


@pytest.mark.parametrize(
    ("question", "passages"),
    [
        pytest.param("Wie melde ich mich ohne Passwort an?", (ANSWER, *OTHERS), id="question in another language"),
        pytest.param(QUESTION, (ANSWER, *OTHERS[:3]), id="few passages"),
    ],
)
def test_it_is_kept_where_the_margin_says_nothing(question: str, passages: tuple[str, ...]) -> None:
    assert adjust_to_margin(question, signed(*passages), 0.25) == 0.25


def test_a_question_in_other_words_is_groundable_where_one_passage_stands_out(settings: Settings) -> None:
    context = Context("", (*signed(ANSWER), *signed(*OTHERS, relative_similarity=-1.0)), 0)
    standing_out = assess_grounding(QUESTION, context)
    assert (standing_out.is_groundable, standing_out.relevant) == (True, context.passages)
    settings.RAG_TOKEN_SIGNATURES = "off"
    by_words = assess_grounding(QUESTION, context)
    assert not by_words.is_groundable
    assert by_words.score < standing_out.score


def test_a_very_improbable_answer_stays_one() -> None:
    """However much a passage stands out."""
    improbable = signed(ANSWER, *OTHERS, relative_similarity=-1.0)
    assert not assess_grounding(QUESTION, Context("", improbable, 0)).is_groundable


def below_headings(*similarities: float, relevances: tuple[float, ...] = (0.97,)) -> list[Passage]:
    """Passages whose headings have these similarities; the relevances after the given ones are 0.5."""
    return [
        selected_text_passage(text).copy_with(
            chunk_id=uuid.uuid4(), headings=(f"Heading {number}",), heading_similarity=similarity, relevance=relevance,
            coverage=0.1, relative_similarity=0.2,
        )
        for number, (text, similarity, relevance) in enumerate(
            zip((ANSWER, *OTHERS), similarities, (*relevances, *[0.5] * 5), strict=False)
        )
    ]  # fmt: skip


def test_a_question_is_answered_from_the_passage_whose_heading_stands_out() -> None:
    passages = [
        passage.copy_with(signatures=compared.signatures)
        for passage, compared in zip(
            below_headings(0.45, 0.3, 0.2, 0.2, 0.1, 0.1), signed(ANSWER, *OTHERS), strict=True
        )
    ]
    grounding = assess_grounding("Is the front door ever left open?", Context("", tuple(passages), 0))
    assert grounding.is_groundable
    assert [passage.headings for passage in grounding.relevant] == [("Heading 0",)]


@pytest.mark.parametrize(
    "passages",
    [
        pytest.param(below_headings(0.3, 0.1, 0.1, 0.1, 0.1), id="hardly similar"),
        pytest.param(below_headings(0.45, 0.4, 0.2, 0.2, 0.1), id="another heading is as similar"),
        pytest.param(below_headings(0.45, 0.2, 0.2, 0.2, 0.1, relevances=(0.9, 0.8)), id="another passage is as good"),
        pytest.param(below_headings(0.45, 0.2, 0.2, 0.1), id="few passages"),
        pytest.param(below_headings(0.2, 0.45, 0.2, 0.2, 0.1), id="the heading of another passage"),
        pytest.param([selected_text_passage(ANSWER), *below_headings(0.45, 0.2, 0.2, 0.2, 0.1)], id="no heading"),
        pytest.param([], id="nothing"),
    ],
)
def test_a_heading_that_does_not_stand_out_changes_nothing(passages: list[Passage]) -> None:
    assert not heading_stands_out(passages, 0.05)


def test_a_heading_repeated_by_the_next_passage_stands_out() -> None:
    first, second, *rest = below_headings(0.45, 0.45, 0.2, 0.2, 0.1, 0.1)
    assert heading_stands_out([first, second.copy_with(headings=first.headings), *rest], 0.05)


@pytest.mark.parametrize(
    ("passages", "probability", "stands_out"),
    [
        pytest.param(below_headings(0.3, 0.4, 0.1, 0.1, 0.1), 0.2, True, id="only the relevance is higher"),
        pytest.param(below_headings(0.3, 0.4, 0.1, 0.1, 0.1), 0.05, False, id="improbable"),
        pytest.param(below_headings(0.2, 0.1, 0.1, 0.1, 0.1), 0.2, False, id="hardly similar"),
        pytest.param(below_headings(0.3, 0.1, 0.1, 0.1, 0.1, relevances=(0.97, 0.7)), 0.2, False, id="hardly higher"),
    ],
)
def test_a_passage_that_is_clearly_more_relevant_needs_a_less_similar_heading(
    passages: list[Passage], probability: float, stands_out: bool
) -> None:
    assert heading_stands_out(passages, probability) == stands_out
