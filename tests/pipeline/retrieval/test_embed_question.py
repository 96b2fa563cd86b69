"""Embedding a question: the result is kept for its user, and for nobody else."""

import uuid

import numpy as np
import pytest

from rag.pipeline.embed_question import clear_kept_questions, embed_question_locally
from rag.providers import provider_factory
from rag.providers.base import Vectors
from ragsite.postgres import identity


class CountingEmbedder:
    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_with_token_vectors(self, text: str) -> tuple[Vectors, Vectors]:
        self.texts.append(text)
        return np.ones(2, np.float32), np.ones((1, 2), np.float32)


def test_a_question_is_embedded_once_for_each_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks what another user has asked just before must not get a faster answer."""
    embedder = CountingEmbedder()
    monkeypatch.setattr(provider_factory, "local_embedder", lambda: embedder)
    clear_kept_questions()
    for count in (1, 2):
        with identity.run_as(identity.of_user(uuid.uuid4())):
            for _ in range(2):
                embed_question_locally("Who is made redundant?")
        assert len(embedder.texts) == count
    clear_kept_questions()  # the vectors are of no model
