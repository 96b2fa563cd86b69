"""Similarity of sentences to a question, from stored token signatures."""

import numpy as np
import pytest

from rag.models import DataSource
from rag.models.content.pgvector_tables import ChunkTokenSignatures
from rag.pipeline.answering.extractive.extract import extract_quotes
from rag.pipeline.answering.extractive.scores.sentence_similarity import compare_token_signatures
from rag.pipeline.retrieval import retrieve
from rag.pipeline.retrieval.reranking.answer_projection import project_question
from rag.pipeline.retrieval.reranking.late_interaction import max_similarities, token_similarities
from rag.providers import provider_factory
from rag.providers.embedders.local import binarize
from rag.types import Passage, Question, SearchScope
from tests.support.factories import World, ingest_text

TEXT = "Keys are kept in a box. Every newcomer gets a token from the porter by signing the book. Cars need keys, too."
QUESTION = "How do I obtain a key?"


@pytest.fixture
def passages(live_world: World) -> tuple[Passage, ...]:
    source: DataSource = live_world.source()
    ingest_text(source, "house.md", f"# The house\n\n{TEXT}", title="House rules")
    scope = SearchScope((source.pk,), source.embedding_model_id)
    return retrieve.find_passages(Question(QUESTION, top_k=5, rerank=True), [scope]).passages


def test_each_token_of_a_text_has_its_stored_row() -> None:
    """Offsets and rows from the tokenizer match the vectors that the model produced."""
    local = provider_factory.local_embedder()
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


def test_a_longer_range_is_at_least_as_similar(passages: tuple[Passage, ...]) -> None:
    (passage,) = passages
    similarity = compare_token_signatures(QUESTION, passages, passages)
    start = passage.start + passage.text.index("Every")
    sentence = similarity.token_scores(passage.document_id, start, passage.end)
    whole = similarity.token_scores(passage.document_id, passage.start, passage.end)
    assert sentence is not None
    assert whole is not None
    assert (sentence < whole + 1e-6).all()
    assert similarity.token_scores(passage.document_id, passage.end + 1, passage.end + 9) is None
    assert similarity.token_scores(passage.chunk_id, start, passage.end) is None


def test_ranges_are_compared_with_the_projected_question(passages: tuple[Passage, ...]) -> None:
    """With only the question itself, to state the similarity of both."""
    (passage,) = passages
    assert passage.signatures is not None
    similarity = compare_token_signatures(QUESTION, passages, passages)
    projected = project_question(provider_factory.local_embedder().embed_with_token_vectors(QUESTION)[1])
    whole = similarity.token_scores(passage.document_id, passage.start, passage.end)
    above = similarity.heading_scores(passage.document_id, passage.start, passage.end)
    assert whole is not None
    assert above is not None
    assert np.maximum(whole, above) == pytest.approx(
        max_similarities(projected.vectors, [passage.signatures])[0], abs=1e-5
    )
    assert similarity.token_weights == pytest.approx(projected.weights)


def test_a_range_that_says_more_than_the_question_is_less_alike(passages: tuple[Passage, ...]) -> None:
    (passage,) = passages
    similarity = compare_token_signatures("Keys are kept in a box", passages, passages)
    start = passage.start + passage.text.index("Keys")
    same = similarity.score_both_ways(passage.document_id, start, start + len("Keys are kept in a box."))
    longer = similarity.score_both_ways(passage.document_id, start, passage.end)
    assert same is not None
    assert longer is not None
    assert longer < same
    assert similarity.score_both_ways(passage.document_id, passage.end + 1, passage.end + 9) is None


def test_the_title_is_not_part_of_the_text_before_a_passage(passages: tuple[Passage, ...]) -> None:
    (passage,) = passages
    later = passage.copy_with(start=passage.start + 100, end=passage.end + 100)
    similarity = compare_token_signatures(QUESTION, [later], [later])
    assert similarity.token_scores(passage.document_id, later.start, later.end) is not None
    assert similarity.token_scores(passage.document_id, later.start - 50, later.start) is None


def test_similarities_are_computed_from_signs() -> None:
    random = np.random.default_rng(0)
    question = random.normal(size=(3, 384)).astype(np.float32)
    passage = random.normal(size=(5, 384)).astype(np.float32)
    expected = np.sign(passage) @ question.T / np.sqrt(384)
    assert token_similarities(question, binarize(passage)) == pytest.approx(expected, abs=1e-4)


def test_quotes_are_chosen_by_words_without_matching_signatures(passages: tuple[Passage, ...]) -> None:
    """Without stored signatures, or if they belong to another title."""
    (passage,) = passages
    renamed = [passage.copy_with(title="Some quite different name of the house")]
    assert (
        compare_token_signatures(QUESTION, renamed, renamed).token_scores(
            passage.document_id, passage.start, passage.end
        )
        is None
    )
    ChunkTokenSignatures.objects.all().delete()
    unread = [passage.copy_with(signatures=None)]
    similarity = compare_token_signatures(QUESTION, unread, unread)
    assert similarity.token_scores(passage.document_id, passage.start, passage.end) is None
    # The search has read them for reranking.
    similarity = compare_token_signatures(QUESTION, passages, passages)
    assert similarity.token_scores(passage.document_id, passage.start, passage.end) is not None
    assert extract_quotes(QUESTION, passages, similarity) == extract_quotes(QUESTION, passages)


def test_a_row_is_compared_with_the_lead_in_of_its_table(live_world: World) -> None:
    source = live_world.source()
    text = (
        "3.1 The hall at the depot has 46 charging points, the hall at the quay 22 charging points.\n\n"
        "6.2 Assembly points:\n   Depot       lawn in front of the canteen\n   Quay        beside bollard 5\n"
        "   Lane        car park of the timber yard opposite\n"
    )
    ingest_text(source, "safety.txt", text, title="Safety")
    scope = SearchScope((source.pk,), source.embedding_model_id)
    question = "Assembly point at the quay"
    passages = retrieve.find_passages(Question(question, top_k=5, rerank=True), [scope]).passages
    quotes = extract_quotes(question, passages, compare_token_signatures(question, passages, passages))
    assert [quote.text for quote in quotes][:2] == ["6.2 Assembly points:", "- Quay — beside bollard 5"]
