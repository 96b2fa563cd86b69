"""Step: reranked passages -> the same, the first ones ordered also by how similar their headings are to the question.

A heading says in a few words what its section is about, or asks what people ask. A passage's
vector says little of the heading, so the heading is compared on its own
(docs/decisions/0025-late-interaction-reranking.md).
"""

import math
import uuid
from collections.abc import Sequence

import numpy as np
import structlog
from numpy.typing import NDArray

from rag.errors import EmbeddingFailed, IndexUnavailable
from rag.pipeline.embed_question import embed_question_tokens
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.providers.rerankers.local import standard_scores
from rag.text.indexed_text import embedded_text
from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.types import Passage
from rag.types.token_vectors import TokenSignatures

from .late_interaction import read_signatures

logger = structlog.get_logger(__name__)

# How many of the best passages are compared.
_MAX_COMPARED = 10
# The weight beside the sum of standard scores by which the passages are ranked.
_WEIGHT = 0.75
# The same where the vectors of title and headings are compared, of this many characters: there is no late interaction.
# If most headings are questions, as in an FAQ, they say better than the passages what these answer.
_MULTILINGUAL_WEIGHT, _QUESTIONS_WEIGHT, _MAX_CHARACTERS = 1.0, 3.0, 300


def prefer_similar_headings(
    question: str, passages: Sequence[Passage], multilingual_vector: Vectors | None = None
) -> list[Passage]:
    """Add the similarity of headings to the relevance of the best ten passages, and sort these again.

    The similarity is the cosine between the mean signs of the question's tokens and of the last heading's; no model is
    called. For a question that is not English it is the cosine of the vectors of the question and of title and headings
    by the multilingual model. It is scaled to standard scores. Passages without a heading get the mean.

    Args:
        question: The question.
        passages: The passages, best first. Of an English question those with MaxSim are compared: these are English.
        multilingual_vector: The vector of a question that is not English; None for others.

    Returns:
        The passages by descending relevance, with the similarities and with the signatures that were read.
    """
    best, weight = list(passages[:_MAX_COMPARED]), _WEIGHT
    if multilingual_vector is not None:
        similarities = _compare_in_other_languages(multilingual_vector, best)
        weight = _QUESTIONS_WEIGHT if _are_questions(best) else _MULTILINGUAL_WEIGHT
    else:
        best, similarities = _compare_signs(question, best)
    if not similarities:
        return list(passages)
    added = dict(zip(similarities, standard_scores([*similarities.values()]).tolist(), strict=True))
    ranked = sorted(
        (
            passage.copy_with(
                relevance=sigmoid(logit(passage.relevance) + weight * added.get(passage.chunk_id, 0.0)),
                heading_similarity=similarities.get(passage.chunk_id),
            )
            for passage in best
        ),
        key=lambda passage: -passage.relevance,
    )
    lowest = ranked[-1].relevance
    return [*ranked, *(rest.copy_with(relevance=min(rest.relevance, lowest)) for rest in passages[_MAX_COMPARED:])]


def _compare_signs(question: str, best: Sequence[Passage]) -> tuple[list[Passage], dict[uuid.UUID, float]]:
    """Return the passages with their signatures, and the similarity of each last heading, by the id of the chunk."""
    compared = [passage for passage in best if passage.maxsim is not None and passage.headings]
    token_vectors = embed_question_tokens(question) if len(compared) > 1 else None
    if token_vectors is None:
        return list(best), {}
    try:
        signatures = read_signatures(compared)
    except IndexUnavailable as error:
        logger.warning("heading_similarity_skipped", reason=type(error).__name__)
        return list(best), {}
    with_signatures = [
        passage.copy_with(signatures=signatures.get(passage.chunk_id, passage.signatures)) for passage in best
    ]
    mean_signs = _normalized(np.sign(token_vectors).mean(axis=0))
    return with_signatures, {
        passage.chunk_id: float(mean_signs @ heading)
        for passage in compared
        if passage.chunk_id in signatures
        and (heading := _heading_vector(passage, signatures[passage.chunk_id])) is not None
    }


def _compare_in_other_languages(vector: Vectors, best: Sequence[Passage]) -> dict[uuid.UUID, float]:
    """Return the similarity of the title and headings of each passage, by the id of the chunk."""
    texts = [" ".join(dict.fromkeys((passage.title, *passage.headings)))[:_MAX_CHARACTERS] for passage in best]
    try:
        vectors = provider_factory.multilingual_embedder().embed(texts) if len(texts) > 1 else ()
    except EmbeddingFailed as error:
        logger.warning("heading_similarity_skipped", reason=type(error).__name__)
        return {}
    return {passage.chunk_id: float(vector @ above) for passage, above in zip(best, vectors, strict=False)}


def _are_questions(passages: Sequence[Passage]) -> bool:
    """Return whether most passages are below a heading that is a question."""
    count = sum(bool(passage.headings) and passage.headings[-1].endswith(QUESTION_ENDINGS) for passage in passages)
    return count > len(passages) / 2


def _heading_vector(passage: Passage, signatures: TokenSignatures) -> NDArray[np.float32] | None:
    """Return the mean of the signs of the last heading's tokens, of length 1; None if they are not known."""
    text, heading = embedded_text(passage.text, passage.headings, passage.title), passage.headings[-1]
    start = text.find(heading)
    end = start + len(heading)
    if start < 0:
        return None
    # Rows are in the order of the first occurrences, so those of the beginning do not depend on the rest.
    token_rows = provider_factory.local_embedder().token_rows(text[:end])
    rows = token_rows[token_rows[:, 0] >= start, 2]
    if not len(rows) or rows.max() >= len(signatures):
        return None
    return _normalized(np.unpackbits(signatures[rows], axis=1).astype(np.float32).mean(axis=0) * 2 - 1)


def _normalized(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    normalized: NDArray[np.float32] = vector / max(float(np.linalg.norm(vector)), 1e-9)
    return normalized


def sigmoid(value: float) -> float:
    """Return the probability of a logit."""
    return 1 / (1 + math.exp(-value))


def logit(probability: float) -> float:
    """Return log(p / (1 - p)), about -21 for 0 and 21 for 1."""
    bounded = min(max(probability, 1e-9), 1 - 1e-9)
    return math.log(bounded / (1 - bounded))
