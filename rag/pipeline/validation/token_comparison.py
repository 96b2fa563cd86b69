"""Compares the token vectors of an answer with those of its context."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import structlog

from rag.errors import EmbeddingFailed
from rag.providers import provider_factory
from rag.types.token_vectors import Similarities, TokenVectors

from .context_index import ContextIndex, distinct_stems, join_spans

logger = structlog.get_logger(__name__)

# Limits of the embedded texts: embedding them takes half a second on one core.
_MAX_ANSWER_CHARACTERS = 3_000
_MAX_CONTEXT_CHARACTERS = 12_000
_MAX_ANSWER_TOKENS = 600
_MAX_CONTEXT_TOKENS = 2_400
_MAX_PARAGRAPH_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class TokenComparison:
    """The most similar token of the context for each token of an answer.

    Attributes:
        similarities: The cosine similarity to the most similar token, float32 of shape (answer tokens,).
        offsets: Start and end of each token in the answer.
        context_offsets: For each token of the answer, the start of the most similar token in the context.
    """

    similarities: Similarities
    offsets: list[tuple[int, int]]
    context_offsets: list[int]

    def tokens_within(self, start: int, end: int, answer: str) -> list[int]:
        """Return the indexes of the answer's tokens between two offsets.

        Punctuation is left out: its vectors are similar to anything or to nothing.
        """
        return [
            index
            for index, (token_start, token_end) in enumerate(self.offsets)
            if start <= token_start and token_end <= end and answer[token_start : token_start + 1].isalnum()
        ]


def compare_tokens(answer: str, context: ContextIndex) -> TokenComparison | None:
    """Embed the beginning of an answer and the best matching parts of its context with the local model.

    Returns:
        The comparison; None if the answer or the context has no text, or the local model cannot be loaded.
    """
    answer = answer[:_MAX_ANSWER_CHARACTERS]
    parts = _select_parts(context, distinct_stems(answer, context.lang))
    if not answer.strip() or not parts:
        return None
    embedder = provider_factory.local_embedder()
    try:
        answer = _truncate(answer, _MAX_ANSWER_TOKENS, embedder.token_offsets)
        answer_vectors = embedder.embed_with_token_vectors(answer)[1]
        part_vectors: list[TokenVectors] = []
        context_starts: list[int] = []
        for start, end in parts:
            remaining_tokens = _MAX_CONTEXT_TOKENS - len(context_starts)
            part = _truncate(context.text[start:end], remaining_tokens, embedder.token_offsets)
            if part:
                part_vectors.append(embedder.embed_with_token_vectors(part)[1])
                context_starts += [start + token_start for token_start, _ in embedder.token_offsets(part)]
    except EmbeddingFailed as error:
        logger.warning("token_comparison_failed", reason=error.message)
        return None
    if not len(answer_vectors) or not context_starts:
        return None
    similarity = answer_vectors @ np.concatenate(part_vectors).T
    return TokenComparison(
        similarities=similarity.max(axis=1),
        offsets=embedder.token_offsets(answer),
        context_offsets=[context_starts[index] for index in similarity.argmax(axis=1)],
    )


def _truncate(text: str, max_tokens: int, token_offsets: Callable[[str], list[tuple[int, int]]]) -> str:
    offsets = token_offsets(text)
    return text if len(offsets) <= max_tokens else text[: offsets[max_tokens][0]]


def _select_parts(context: ContextIndex, answer_stems: frozenset[str]) -> list[tuple[int, int]]:
    """Return the parts of a context that are embedded, in order.

    A short context is embedded as a whole; of a long one the paragraphs that share most stems with the answer.
    """
    if len(context.text) <= _MAX_CONTEXT_CHARACTERS:
        return [(0, len(context.text))] if context.text.strip() else []
    paragraphs = join_spans(context.sentences, _MAX_PARAGRAPH_CHARACTERS)
    shared = [len(answer_stems & distinct_stems(context.text[start:end], context.lang)) for start, end in paragraphs]
    selected, remaining_characters = [], _MAX_CONTEXT_CHARACTERS
    for index in sorted(range(len(paragraphs)), key=lambda index: (-shared[index], index)):
        start, end = paragraphs[index]
        if end - start <= remaining_characters:
            selected.append(paragraphs[index])
            remaining_characters -= end - start
    return sorted(selected)
