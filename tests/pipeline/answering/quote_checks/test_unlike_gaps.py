"""Words of a question that nothing in the passages is like."""

from collections.abc import Mapping, Sequence
from typing import Never

import pytest
from pytest_django import Settings

from rag.errors import IndexUnavailable
from rag.pipeline.answering.quote_checks.unlike_gaps import find_unlike_gaps
from rag.providers import provider_factory
from tests.support.passages import passage, signed

TARIFF = (
    "Hire of the flat-bottomed barge, per tide: 60 pounds.",
    "Hire of the tumbler, per half day: 22 pounds. Members of the co-operative purchase their own knives.",
    "The shop is open from Tuesday to Saturday. There is a terrace with a view of the bay.",
)


@pytest.mark.parametrize(
    ("question", "gaps", "unlike"),
    [
        ("shop wifi password", ["wifi password"], ("wifi password",)),
        ("What does the hire of a piano cost?", ["piano"], ("piano",)),
        # Something similar was found
        ("Where do I buy knives?", ["buy"], ()),
        ("What does the rent of the boat cost?", ["rent", "boat"], ()),
        # It only tells what happened
        ("My password is long, what does the barge cost?", ["password", "long"], ()),
        # The answer to another question stands
        ("What does the barge cost, and is there a password?", ["password"], ()),
        # Names are compared by their letters elsewhere
        ("What does the hire of a Password cost?", ["Password"], ()),
        # Only English words can be compared
        ("¿Cuánto cuesta alquilar un piano?", ["piano"], ()),
        # Nothing is missing
        ("What does the barge cost?", [], ()),
    ],
)
def test_it_is_about_something_else(question: str, gaps: list[str], unlike: tuple[str, ...]) -> None:
    assert find_unlike_gaps(question, gaps, signed(*TARIFF)) == unlike


def test_nothing_is_compared_without_signatures(settings: Settings) -> None:
    question, gaps = "shop wifi password", ["wifi password"]
    settings.RAG_TOKEN_SIGNATURES = "off"
    assert find_unlike_gaps(question, gaps, signed(*TARIFF)) == ()


class _Store:
    """A store without signatures, or one that does not answer."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    def token_signatures(self, chunk_ids: Sequence[object]) -> Mapping[object, Never]:
        if self.error:
            raise self.error
        return {}


@pytest.mark.parametrize("error", [None, IndexUnavailable("The store does not answer.")])
def test_the_answer_stands_if_no_signatures_can_be_read(
    error: Exception | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_factory, "chunk_store", lambda: _Store(error))
    assert find_unlike_gaps("shop wifi password", ["wifi password"], [passage(text) for text in TARIFF]) == ()
