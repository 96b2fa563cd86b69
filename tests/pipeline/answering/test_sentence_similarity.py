"""How near a sentence comes to a question, by what is stored of its chunk."""

import dataclasses

import numpy as np
import pytest

from rag.models import DataSource
from rag.models.content.index_tables import PieceBits
from rag.pipeline.answering.extractive import extract_quotes
from rag.pipeline.answering.sentence_similarity import sentence_similarity
from rag.pipeline.retrieval import retrieve
from rag.pipeline.retrieval.late_interaction import token_similarities
from rag.providers import registry
from rag.providers.embedders.local import binarize
from rag.types import Passage, Question, Scope
from tests.support.factories import World, ingest_text

TEXT = "Keys are kept in a box. Every newcomer gets a token from the porter by signing the book. Cars need keys, too."
ASKED = "How do I obtain a key?"


@pytest.fixture
def found(live_world: World) -> tuple[Passage, ...]:
    source: DataSource = live_world.source()
    ingest_text(source, "house.md", f"# The house\n\n{TEXT}", title="House rules")
    scope = Scope((source.pk,), source.embedding_model_id)
    return retrieve.find_passages(Question(ASKED, top_k=5, rerank=True), [scope]).passages


def test_each_piece_of_a_text_has_its_row_of_what_is_stored() -> None:
    """Places and rows by the tokenizer alone are those of the pass that made the pieces."""
    local = registry.local_embedder()
    text = "The keys, the box; the keys' box. " * 60  # longer than one window, and the same words again
    (stored,) = local.embed_with_token_signatures([text])[1]
    rows = local.token_rows(text)
    assert {row for *_, row in rows} == set(range(len(stored)))
    assert {text[start:end].lower() for start, end, row in rows if row == 1} == {"keys"}
    short = "keys in a box"
    assert np.array_equal(
        binarize(local.embed_with_token_vectors(short)[1]), local.embed_with_token_signatures([short])[1][0]
    )
    assert [text[start:end] for start, end, _ in local.token_rows("keys in a box") for text in [short]] == short.split()


def test_a_sentence_is_as_near_as_the_nearest_of_its_pieces(found: tuple[Passage, ...]) -> None:
    (passage,) = found
    near = sentence_similarity(ASKED, found, found)
    start = passage.start + passage.text.index("Every")
    one = near.score(passage.document_id, start, passage.end)
    whole = near.score(passage.document_id, passage.start, passage.end)
    assert one is not None
    assert whole is not None
    assert one < whole + 1e-6, "more pieces can only come nearer"
    assert near.score(passage.document_id, passage.end + 1, passage.end + 9) is None
    assert near.score(passage.chunk_id, start, passage.end) is None


def test_similarities_are_those_of_the_signs() -> None:
    chance = np.random.default_rng(0)
    question = chance.normal(size=(3, 384)).astype(np.float32)
    passage = chance.normal(size=(5, 384)).astype(np.float32)
    expected = np.sign(passage) @ question.T / np.sqrt(384)
    assert token_similarities(question, binarize(passage)) == pytest.approx(expected, abs=1e-4)


def test_words_decide_alone_where_no_pieces_fit(found: tuple[Passage, ...]) -> None:
    """None are stored, or those of another title."""
    (passage,) = found
    renamed = [dataclasses.replace(passage, title="Some quite different name of the house")]
    assert sentence_similarity(ASKED, renamed, renamed).score(passage.document_id, passage.start, passage.end) is None
    PieceBits.objects.all().delete()
    near = sentence_similarity(ASKED, found, found)
    assert near.score(passage.document_id, passage.start, passage.end) is None
    assert extract_quotes(ASKED, found, near) == extract_quotes(ASKED, found)
