"""Step: question and passages -> can they answer it? Runs before generation (pipeline contract, sub-contract 4)."""

import dataclasses
import json
import uuid
from collections.abc import Sequence

import structlog
from django.conf import settings

from rag.errors import GenerationFailed, GroundingFailed
from rag.pipeline.retrieval.relative_similarity import relative_similarity_alone
from rag.pipeline.untrusted_notice import untrusted_notice
from rag.providers import provider_factory
from rag.providers.base import LanguageModel
from rag.providers.http.bounded_responses import remove_unstorable
from rag.text.question_language import query_language
from rag.types import Context, Grounding, Message, Passage

from .best_passage_margin import adjust_to_margin, heading_stands_out
from .calibration_curve import select_curve
from .cited_section import find_cited_section
from .cross_language_grounding import LOGIT_OF_UNREAD, find_other_languages, probability_between_languages
from .gaps import QueryPart, asks_about_other_code, extract_query_parts, find_covered_parts, find_gaps
from .non_english_grounding import find_same_language, probability_within_language

logger = structlog.get_logger(__name__)

WARNING = GroundingFailed.code
# How often answers with this confidence are right was not measured for the embedding model and the retrieval mode.
CONFIDENCE_UNKNOWN = "CONFIDENCE_UNKNOWN"
# Minimum probability of a groundable question, and of a passage to answer from. The curve was fitted with as many
# answerable as unanswerable questions; if two of three questions are answerable, its 1/3 means a probability of 1/2.
_MIN_GROUNDABLE = 1 / 3
_MIN_RELEVANT = 0.1
# A question whose probability is between the two is groundable if one passage stands out, from this probability on.
_MIN_WITH_MARGIN = 0.4
# A question below it, with at least this probability, is groundable if the heading of one passage stands out.
_MIN_WITH_HEADING, _PROBABILITY_WITH_HEADING = 0.03, 0.4
# A question about a code is not groundable if the passages only have others: all three such questions in ten sets had
# no answer.
_MAX_WITH_OTHER_CODE = 0.3
# Weight of the share of names and numbers. They also count as terms.
_NAME_WEIGHT = 0.5

JUDGE_INSTRUCTIONS = (
    f"You judge whether passages hold the answer to a question. {untrusted_notice('The passages')} Answer with one "
    'JSON object and nothing else: {"groundable": true or false, "score": a number from 0 to 1, "gaps": [what the '
    "question asks for and no passage says, a few words each]}"
)


def assess_grounding(query: str, context: Context, *, mode: str = "", strict: bool = False) -> Grounding:
    """Estimate whether the passages contain the answer, from their terms and their similarity to the question.

    With RAG_GROUNDING=model the language model decides whether the question is groundable. If it fails, or replies
    with something other than the requested JSON, the local estimate is used and a warning is added.

    Args:
        query: The question.
        context: The passages, and the prompt for the language model that judges.
        mode: How the passages were found (rag.pipeline.grounding.calibration_curve.mode_name).
        strict: Raise instead of adding a warning.

    Raises:
        GroundingFailed: If `strict`, and the language model failed or did not reply with the requested JSON.
    """
    local = assess_locally(query, context.passages, mode)
    model = provider_factory.language_model() if settings.RAG_GROUNDING == "model" else None
    if model is None:
        return local
    try:
        return _assess_with_model(model, context, local)
    except GroundingFailed as error:
        if strict:
            raise
        logger.warning("grounding_model_failed", reason=error.message)
        return dataclasses.replace(local, warnings=(WARNING, *local.warnings))


def passage_evidence(query: str, passage: Passage) -> float:
    """Return how strongly a passage indicates that it contains the answer, about -1…5.

    It is the sum of the share of the question's terms in the passage, the passage's relative similarity, and the
    weighted share of the question's names and numbers in the passage.
    """
    parts = extract_query_parts(query, query_language(query, [passage.lang]))
    return _evidence_score(passage, parts, find_covered_parts(parts, passage))


def assess_locally(query: str, passages: Sequence[Passage], mode: str) -> Grounding:
    """Turn the evidence of each passage into a probability; the highest one is that of the question.

    Args:
        query: The question.
        passages: The passages, best first.
        mode: How the passages were found (rag.pipeline.grounding.calibration_curve.mode_name).
    """
    parts = extract_query_parts(query, query_language(query, [passage.lang for passage in passages]))
    covered_parts = [find_covered_parts(parts, passage) for passage in passages]
    curve = select_curve(query, passages, mode)
    other_language_ids = find_other_languages(query, passages)
    # A curve that was fitted for these sources is better than the one for a language.
    same_language_ids = frozenset[uuid.UUID]() if curve.is_measured else find_same_language(query, passages)
    compared = [
        passage
        for passage in passages
        if passage.chunk_id not in other_language_ids
        and (passage.chunk_id in same_language_ids or passage.multilingual_cosine is not None)
    ]
    best_cosine = max((passage.cross_language_cosine for passage in compared), default=0.0)
    logit_of_unread = LOGIT_OF_UNREAD if any(passage.answer_logit is not None for passage in passages) else None

    def estimate(passage: Passage, covered: frozenset[QueryPart]) -> float:
        logit = logit_of_unread if passage.answer_logit is None else passage.answer_logit
        if passage.chunk_id in other_language_ids:
            # One in the language of the question that is at least as similar is easier to read.
            return probability_between_languages(passage, logit) if passage.cross_language_cosine > best_cosine else 0.0
        if passage.chunk_id in same_language_ids:
            coverage = _coverage(passage, parts, covered)
            return probability_within_language(passage, coverage, _relative_similarity(passage), logit)
        return curve(_evidence_score(passage, parts, covered))

    scores = [estimate(passage, covered) for passage, covered in zip(passages, covered_parts, strict=True)]
    score = max(scores, default=0.0)
    is_between_languages = bool(passages) and passages[scores.index(score)].chunk_id in other_language_ids
    # The words of another language are missing wherever the answer is.
    gaps = find_gaps(query, parts, covered_parts) if passages and not is_between_languages else ()
    # Passages in the language of a question that is not English are all kept: if they are long, their order says more
    # than their probabilities.
    relevant = [
        passage
        for passage, probability in zip(passages, scores, strict=True)
        if probability >= _MIN_RELEVANT or passage.chunk_id in same_language_ids
    ]
    if score < _MIN_GROUNDABLE and not is_between_languages:
        score, relevant = _reconsider_weak_evidence(query, passages, score, relevant)
    if score < _MIN_GROUNDABLE and (cited := find_cited_section(query, passages, parts, covered_parts)):
        score, relevant, gaps = _PROBABILITY_WITH_HEADING, cited, ()
    if asks_about_other_code(query, passages):
        score = min(score, _MAX_WITH_OTHER_CODE)
    return Grounding(
        is_groundable=score >= _MIN_GROUNDABLE,
        score=score,
        relevant=tuple(relevant),
        gaps=gaps,
        warnings=() if is_between_languages or curve.is_measured else (CONFIDENCE_UNKNOWN,),
    )


def _reconsider_weak_evidence(
    query: str, passages: Sequence[Passage], score: float, relevant: list[Passage]
) -> tuple[float, list[Passage]]:
    """Return the probability and the passages to answer from of a question whose evidence is weak."""
    if score >= _MIN_RELEVANT and (new_score := adjust_to_margin(query, passages, score)) >= _MIN_WITH_MARGIN:
        return new_score, list(passages)
    if score >= _MIN_WITH_HEADING and heading_stands_out(passages, score):
        return _PROBABILITY_WITH_HEADING, list(passages[:1])
    return score, relevant


def _evidence_score(passage: Passage, parts: Sequence[QueryPart], covered: frozenset[QueryPart]) -> float:
    """Return how well a passage fits the question: its word coverage, its score and the names that it has."""
    names = [part for part in parts if part.is_name]
    name_share = sum(part in covered for part in names) / len(names) if names else 1.0
    return _coverage(passage, parts, covered) + _relative_similarity(passage) + _NAME_WEIGHT * name_share


def _coverage(passage: Passage, parts: Sequence[QueryPart], covered: frozenset[QueryPart]) -> float:
    """Return the share of the question's terms in a passage. Without weights (dense mode), all terms count alike."""
    return passage.coverage or len(covered) / max(1, len(parts))


def _relative_similarity(passage: Passage) -> float:
    return relative_similarity_alone(passage) if passage.relative_similarity is None else passage.relative_similarity


def _assess_with_model(model: LanguageModel, context: Context, local: Grounding) -> Grounding:
    """Let the language model judge the prompt. The relevant passages are those of the local estimate."""
    try:
        reply = model.complete([Message("system", JUDGE_INSTRUCTIONS), Message("user", context.prompt)], temperature=0)
        verdict = json.loads(reply[reply.index("{") : reply.rindex("}") + 1])
        score = min(1.0, max(0.0, float(verdict["score"])))
        is_groundable, gaps = verdict["groundable"], verdict.get("gaps", [])
        if not isinstance(is_groundable, bool) or not isinstance(gaps, list):
            raise TypeError
    except GenerationFailed as error:
        raise GroundingFailed(
            error.message,
            is_retryable=error.is_retryable,
            retry_after_seconds=error.retry_after_seconds,
            is_rate_limited=error.is_rate_limited,
            is_own_limit=error.is_own_limit,
            is_timeout=error.is_timeout,
        ) from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise GroundingFailed(f"{model.name} did not reply with the requested JSON.") from error
    shown_gaps = tuple(remove_unstorable(str(gap))[:200] for gap in gaps[:20])
    return Grounding(is_groundable, score, local.relevant or context.passages[:1], shown_gaps)
