"""The similarities of question tokens to many passages, which are computed together."""

import numpy as np

from rag.pipeline.retrieval.reranking.late_interaction import max_similarities

DIMENSIONS = 16


def test_each_passage_has_the_similarities_that_it_has_alone() -> None:
    """By the definition: the best dot product of a query token with the signs of a token, each of length 1."""
    generator = np.random.default_rng(3)
    query = generator.standard_normal((5, DIMENSIONS)).astype(np.float32)
    query /= np.linalg.norm(query, axis=1, keepdims=True)
    # Together more than a block; some begin in one and end in another.
    bits = [generator.integers(0, 2, (length, DIMENSIONS), np.uint8) for length in (1, 200, 90, 300, 1, 256)]
    together = max_similarities(query, [np.packbits(passage, axis=1) for passage in bits])
    signs = [(2 * passage.astype(np.float32) - 1) / np.sqrt(DIMENSIONS) for passage in bits]
    expected = [(query @ passage.T).max(axis=1) for passage in signs]
    assert np.allclose(together, expected, atol=1e-5)
