"""Answers a question only if retrieval confidence is sufficient (retrieval contract, endpoint 2)."""

from collections.abc import Sequence

from django.conf import settings

from rag.models import DataSource
from rag.pipeline.retrieval.query.spelling.correct_spelling import correct_spelling
from rag.pipeline.retrieval.retrieve import find_passages
from rag.text.token_counts import count_tokens
from rag.types import AnswerEvents, Confidence, ConfidentAnswer, GenerationOptions, Passage, Question, SearchScope
from ragsite.postgres import identity

from .declined.no_answer_sentences import LOW_CONFIDENCE
from .generate import BY_TITLE, collect_text, prepare_generation
from .prompt import build_prompt

HIGH, MEDIUM, LOW = "high", "medium", "low"
# Confidence is the mean cosine similarity of the best passages, of at most this many.
_CONFIDENCE_PASSAGES = 5
_MAX_CONTEXT_TOKENS = 3000
# The contract's template, word for word. Each chunk has its document's title above it, by which it is cited.
_INSTRUCTIONS = (
    "Answer the question based ONLY on the context above. If the context doesn't contain enough information, say so. "
    "Keep the answer concise (100-500 words). Cite sources by mentioning their titles."
)
_TEMPLATE = "Context:\n{{ context }}\n\nQuestion: {{ query }}\n\nInstructions: " + _INSTRUCTIONS


def answer_if_confident(
    question: Question, scopes: Sequence[SearchScope], generation: GenerationOptions
) -> AnswerEvents[ConfidentAnswer]:
    """Stream an answer, or a fixed refusal if confidence is low.

    Raises:
        InvalidRequest: If the requested model is not offered.
        ContextOverflow: If not even the best passage fits into the prompt.
        GenerationFailed: If the language model failed.
        RagError: If `find_passages` fails.
    """
    question = correct_spelling(question, scopes)
    retrieval = find_passages(question, scopes)
    confidence = compute_confidence(retrieval.passages)
    if confidence.level == LOW:
        yield retrieval
        yield LOW_CONFIDENCE
        return ConfidentAnswer(retrieval, confidence, LOW_CONFIDENCE, model="")
    # The contract limits the context only; question and instructions come on top.
    max_tokens = _MAX_CONTEXT_TOKENS + count_tokens(_TEMPLATE) + count_tokens(question.text)
    context = build_prompt(question.text, retrieval.passages, max_tokens=max_tokens, template=_TEMPLATE)
    prepared = prepare_generation(question.text, context, generation, BY_TITLE)
    yield retrieval
    text = yield from collect_text(prepared.text_parts)
    return ConfidentAnswer(retrieval, confidence, text, model=prepared.model)


def compute_confidence(passages: Sequence[Passage]) -> Confidence:
    """Compare the mean cosine similarity of the best five passages with the thresholds of their embedding model."""
    best_scores = sorted((passage.score for passage in passages), reverse=True)[:_CONFIDENCE_PASSAGES]
    mean = sum(best_scores) / len(best_scores) if best_scores else 0.0
    high, medium = _thresholds(passages)
    return Confidence(mean, HIGH if mean >= high else MEDIUM if mean >= medium else LOW)


def _thresholds(passages: Sequence[Passage]) -> tuple[float, float]:
    """Return the high and medium thresholds of the first passage's embedding model, or else the settings."""
    source_ids = [passage.source_id for passage in passages[:1]]
    thresholds = DataSource.objects.filter(pk__in=source_ids).values_list(
        "embedding_model__confidence_high", "embedding_model__confidence_medium"
    )
    with identity.hint_sources(source_ids):
        high, medium = thresholds.first() or (None, None)
    return (
        settings.RAG_CONFIDENCE_HIGH_THRESHOLD if high is None else high,
        settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD if medium is None else medium,
    )
