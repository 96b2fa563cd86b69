"""Grounding by a model that reads question and passage together, in one language or between two."""

import pytest
from django.utils import timezone

from rag.models import DataSource
from rag.pipeline.grounding.assess_grounding import assess_locally
from rag.types import Passage
from tests.support.factories import World
from tests.support.passages import passage

GERMAN, SPANISH = "Wer läutet die Glocke des Hauses?", "¿Quién toca la campana de la casa?"
PORTER = {"en": "The porter rings it.", "de": "Der Pförtner läutet die Glocke.", "es": "El portero toca la campana."}


@pytest.fixture
def source(world: World) -> DataSource:
    """A source whose chunks have vectors of the model for other languages."""
    source = world.source()
    DataSource.objects.filter(pk=source.pk).update(second_model_ready_at=timezone.now())
    return source


def candidate(source: DataSource, lang: str, cosine: float, answer_logit: float | None) -> Passage:
    return passage(PORTER[lang], lang=lang).copy_with(
        source_id=source.pk, multilingual_cosine=cosine, answer_logit=answer_logit, heading_similarity=0.2
    )


def score(question: str, *passages: Passage) -> float:
    return assess_locally(question, passages, "hybrid").score


@pytest.mark.parametrize(
    ("question", "lang"), [(GERMAN, "en"), (SPANISH, "de"), (GERMAN, "de"), (SPANISH, "es")], ids=str
)
def test_what_the_model_reads_counts_more_than_similar_vectors(source: DataSource, question: str, lang: str) -> None:
    has_answer, has_none = candidate(source, lang, 0.3, 2.5), candidate(source, lang, 0.4, -2.5)
    assert score(question, has_answer) > 0.7
    assert score(question, has_none) < score(question, candidate(source, lang, 0.4, None))
    assert score(question, has_none) < 0.5 < score(question, has_answer, has_none)


@pytest.mark.parametrize("lang", ["en", "de"])
def test_a_passage_that_was_not_read_is_less_probable_than_if_none_was(source: DataSource, lang: str) -> None:
    """The others are more relevant, so that it hardly has the answer."""
    unread = candidate(source, lang, 0.4, None)
    assert score(GERMAN, unread) > score(GERMAN, unread, candidate(source, lang, 0.1, -2.5)) > 0


def test_a_higher_logit_is_a_higher_probability(source: DataSource) -> None:
    for lang in ("en", "de"):
        scores = [score(GERMAN, candidate(source, lang, 0.3, float(logit))) for logit in range(-3, 4)]
        assert scores == sorted(scores)
        assert len(set(scores)) == len(scores)
