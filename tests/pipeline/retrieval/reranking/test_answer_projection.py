"""The projection of a question prefers sentences that answer it to those that repeat its words."""

import numpy as np
import pytest

from rag.pipeline.retrieval.reranking.answer_projection import project_question
from rag.pipeline.retrieval.reranking.late_interaction import max_similarities
from rag.providers import provider_factory
from rag.types.token_vectors import TokenSignatures

ANSWERED = {
    "How do I get a key to the workshop?": [
        "The workshop has two benches and a lathe.",
        "Ask the porter, sign the book and leave a deposit of ten euros.",
        "The workshop is open to all members.",
        "Tools stay in the workshop.",
    ],
    "How do I restore a backup?": [
        "Backups are made every night.",
        "Stop the service, copy the files back from the archive and start it again.",
        "A backup needs 2 GB.",
        "Backups are encrypted.",
    ],
}


def signatures_by_sentence(sentences: list[str]) -> list[TokenSignatures]:
    local = provider_factory.local_embedder()
    text = " ".join(sentences)
    (stored,), rows = local.embed_with_token_signatures([text])[1], local.token_rows(text)
    starts = [text.index(sentence) for sentence in sentences]
    spans = [(start, start + len(sentence)) for start, sentence in zip(starts, sentences, strict=True)]
    return [
        stored[sorted({row for start, end, row in rows if first <= start and end <= last})] for first, last in spans
    ]


@pytest.mark.parametrize("question", ANSWERED)
def test_the_answer_is_more_alike_than_a_sentence_with_the_words_of_the_question(question: str) -> None:
    signatures = signatures_by_sentence(ANSWERED[question])
    token_vectors = provider_factory.local_embedder().embed_with_token_vectors(question)[1]
    assert max_similarities(token_vectors, signatures).mean(axis=1).argmax() == 2, "without the projection"
    projected = project_question(token_vectors)
    assert (max_similarities(projected.vectors, signatures) @ projected.weights).argmax() == 1


def test_vectors_have_length_one_and_weights_the_sum_one() -> None:
    token_vectors = np.random.default_rng(0).normal(size=(5, 384)).astype(np.float32)
    vectors, weights = project_question(token_vectors)
    assert vectors.dtype == weights.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert weights.min() > 0
    assert float(weights.sum()) == pytest.approx(1, abs=1e-5)
