"""Whether one passage answers a question much better than the others, which makes an answer more probable."""

import math
from collections.abc import Sequence

import structlog
from django.conf import settings

from rag.errors import IndexUnavailable
from rag.pipeline.embed_question import embed_question_tokens
from rag.pipeline.retrieval.reranking.answer_projection import project_question
from rag.pipeline.retrieval.reranking.late_interaction import max_similarities, read_signatures
from rag.pipeline.retrieval.reranking.title_and_heading_similarity import logit
from rag.text.question_language import is_english
from rag.types import Passage

logger = structlog.get_logger(__name__)

# A logistic model, fitted with questions about 40 sets of documents (docs/answer-quality.md).
_SCORE_WEIGHT, _MARGIN_WEIGHT, _OFFSET = 0.56, 12.9, -0.05
# It was fitted with ten passages. In a small source the second one is often about something else, so its MaxSim says
# little about the first: that of passages about something else is at least assumed.
_MIN_PASSAGES, _UNRELATED_MAXSIM = 5, 0.28
# No higher probability was measured.
_MAX_PROBABILITY = 0.6
# How similar the heading of the best passage must be, and by how much it must exceed the others, also in the logit of
# the relevance. Of the declined questions for which this is so, about seven of ten are answered right.
_MIN_HEADING_SIMILARITY, _MIN_HEADING_MARGIN, _MIN_RELEVANCE_MARGIN = 0.35, 0.08, 2.0
# The same if only the relevance exceeds that of the others, but more clearly. Such questions often have words that only
# describe the occasion ("for the rehearsal", "when Tom was here"), which no document has.
_MIN_SIMILARITY_IF_CLEAR, _MIN_CLEAR_MARGIN, _MIN_PROBABILITY_IF_CLEAR = 0.26, 3.0, 0.1


def adjust_to_margin(query: str, passages: Sequence[Passage], probability: float) -> float:
    """Estimate again how probably the passages contain the answer, by how much the best one stands out.

    Each passage is compared with the projected question (MaxSim); the margin is the difference between the best one
    and the second.

    Args:
        query: The question.
        passages: The passages.
        probability: The estimate by the evidence of each passage, above 0 and below 1.

    Returns:
        The new probability, at most 0.6; the old one if the question is not English, or if less than five passages
        have signatures.
    """
    margin = _margin(query, passages)
    if margin is None:
        return probability
    new_logit = _SCORE_WEIGHT * logit(probability) + _MARGIN_WEIGHT * margin + _OFFSET
    return min(_MAX_PROBABILITY, 1 / (1 + math.exp(-new_logit)))


def heading_stands_out(passages: Sequence[Passage], probability: float) -> bool:
    """Return whether the heading of the best passage means what the question asks, and no other heading does.

    The passage then probably answers the question, though it has hardly any of its words.

    Args:
        passages: The passages, best first, with the similarities of their headings.
        probability: The estimate by the evidence of each passage.
    """
    compared = [passage for passage in passages if passage.heading_similarity is not None]
    if len(compared) < _MIN_PASSAGES or compared[0] != passages[0]:
        return False
    best, *others = compared
    others = [passage for passage in others if passage.headings != best.headings]
    similarity = best.heading_similarity or 0.0
    heading_margin = min((similarity - (passage.heading_similarity or 0.0) for passage in others), default=math.inf)
    margin = min((logit(best.relevance) - logit(passage.relevance) for passage in others), default=math.inf)
    if similarity >= _MIN_HEADING_SIMILARITY and heading_margin >= _MIN_HEADING_MARGIN:
        return margin >= _MIN_RELEVANCE_MARGIN
    is_clear = margin >= _MIN_CLEAR_MARGIN and probability >= _MIN_PROBABILITY_IF_CLEAR
    return is_clear and similarity >= _MIN_SIMILARITY_IF_CLEAR


def _margin(query: str, passages: Sequence[Passage]) -> float | None:
    """Return how much the best MaxSim of the passages exceeds the second.

    Returns:
        None if the question is not English, or if less than five passages have signatures that can be read.
    """
    if settings.RAG_TOKEN_SIGNATURES == "off" or not is_english(query):
        return None
    try:
        signatures = read_signatures(passages)
    except IndexUnavailable as error:
        logger.warning("standout_passage_skipped", reason=type(error).__name__)
        return None
    token_vectors = embed_question_tokens(query) if len(signatures) >= _MIN_PASSAGES else None
    if token_vectors is None:
        return None
    projected = project_question(token_vectors)
    scores = max_similarities(projected.vectors, list(signatures.values())) @ projected.weights
    second, best = sorted(scores.tolist())[-2:]
    return float(best - max(second, _UNRELATED_MAXSIM))
