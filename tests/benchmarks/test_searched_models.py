"""With which embedding models the sets of an evaluation are searched."""

from typing import Any

import pytest

from benchmarks.eval.runner import modes, searched_models
from rag.models import EmbeddingModel
from rag.providers.embedders import multilingual
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db
GERMAN = "Wer bezahlt die Reise?"


def searched(world: World, text: str) -> list[str]:
    scopes = searched_models.scopes(modes.question(text), world.home.sources.get().pk)
    return [EmbeddingModel.objects.get(pk=scope.model_id).name for scope in scopes]


@pytest.mark.parametrize("text", ["The company reimburses train tickets.", "Die Firma erstattet Fahrkarten."])
def test_vectors_for_other_languages_are_complete_before_a_question_is_asked(
    world: World, settings: Any, text: str
) -> None:
    """A pass that ends early, as it does after the sweep's interval, is repeated."""
    settings.RAG_SWEEP_INTERVAL_SECONDS = 0
    source = world.source()
    ingest_text(source, "a", text, lang="de" if text.startswith("Die") else "en")
    searched_models.prepare(source, ["Who pays for the trip?"])
    assert (source.second_model_ready_at is not None) == text.startswith("Die"), "English alone needs none"
    searched_models.prepare(source, [GERMAN])
    assert source.second_model_ready_at
    assert searched(world, GERMAN) == [multilingual.NAME]
    assert len(searched(world, "Who pays for the trip?")) == 2
