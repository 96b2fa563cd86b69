"""A search that leaves out copies says so if it then has fewer passages than requested, and there may be more."""

import dataclasses

import pytest

from rag.pipeline.retrieval import find_candidates
from rag.pipeline.retrieval.retrieve import find_passages
from rag.types import Question, SearchScope
from tests.support.factories import World, ingest_text

TEXT = " ".join(f"Zebra number {number} has stripes of its own." for number in range(8))


@pytest.fixture
def scope(world: World) -> SearchScope:
    """Four copies of a text and another text."""
    source = world.source()
    for number in range(4):
        ingest_text(source, f"copy-{number}", TEXT)
    ingest_text(source, "other", "The canteen opens at noon.")
    return SearchScope((source.pk,), source.embedding_model_id)


def test_it_is_said_if_the_candidates_were_cut(scope: SearchScope, monkeypatch: pytest.MonkeyPatch) -> None:
    question = Question("Which zebra has stripes?", 2, deduplicate=True)
    complete = find_passages(question, [scope])
    assert (len(complete.passages), complete.warnings) == (2, ())
    monkeypatch.setattr(find_candidates, "MAX_CANDIDATES", 3)
    cut = find_passages(question, [scope])
    assert (len(cut.passages), cut.warnings) == (1, ("UNDER_FILLED",))
    with_copies = find_passages(dataclasses.replace(question, deduplicate=False), [scope])
    assert (len(with_copies.passages), with_copies.warnings) == (2, ())
    assert find_passages(dataclasses.replace(question, min_score=0.1), [scope]).warnings == ()
