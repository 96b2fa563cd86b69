"""An answer if the passages are near enough, else the passages alone (the retrieval contract, Endpoint 2)."""

from collections.abc import Sequence

from django.conf import settings

from rag.models import DataSource
from rag.pipeline.retrieval.retrieve import find
from rag.text.tokens import count_tokens
from rag.types import AnswerEvents, Confidence, ConfidentAnswer, GenerationOptions, Passage, Question, Scope

from .generate import BY_TITLE, collect_text, prepare_generation
from .prompt import build_prompt

HIGH, MEDIUM, LOW = "high", "medium", "low"
DECLINED = (
    "I don't have enough relevant information to answer this question confidently. "
    "Here are the most relevant sources I found:"
)
# What the mean is taken of.
_TOP = 5
_CONTEXT_TOKENS = 3000
# The contract's template, word for word; its chunks stand under their documents' titles, by which they are cited.
_INSTRUCTIONS = (
    "Answer the question based ONLY on the context above. If the context doesn't contain enough information, say so. "
    "Keep the answer concise (100-500 words). Cite sources by mentioning their titles."
)
_TEMPLATE = "Context:\n{{ context }}\n\nQuestion: {{ query }}\n\nInstructions: " + _INSTRUCTIONS


def answer_if_confident(
    question: Question, scopes: Sequence[Scope], generation: GenerationOptions
) -> AnswerEvents[ConfidentAnswer]:
    """The Retrieval, then the answer in pieces, then all of it. Raises what `find` and the language model raise."""
    retrieval = find(question, scopes)
    confidence = compute_confidence(retrieval.passages)
    if confidence.level == LOW:
        yield retrieval
        yield DECLINED
        return ConfidentAnswer(retrieval, confidence, DECLINED, model="")
    # The contract bounds the context, to which question and instructions come.
    around = count_tokens(_TEMPLATE) + count_tokens(question.text)
    context = build_prompt(question.text, retrieval.passages, max_tokens=_CONTEXT_TOKENS + around, template=_TEMPLATE)
    chosen = prepare_generation(question.text, context, generation, BY_TITLE)
    yield retrieval
    text = yield from collect_text(chosen.pieces)
    return ConfidentAnswer(retrieval, confidence, text, model=chosen.name)


def compute_confidence(passages: Sequence[Passage]) -> Confidence:
    """By the mean cosine of the best five, against the thresholds of the best one's embedding model."""
    top = sorted((passage.score for passage in passages), reverse=True)[:_TOP]
    mean = sum(top) / len(top) if top else 0.0
    high, medium = _thresholds(passages)
    return Confidence(mean, HIGH if mean >= high else MEDIUM if mean >= medium else LOW)


def _thresholds(passages: Sequence[Passage]) -> tuple[float, float]:
    """Each embedding model has its own scale (EmbeddingModel.confidence_high and …_medium)."""
    own = DataSource.objects.filter(pk__in=[passage.source_id for passage in passages[:1]])
    high, medium = own.values_list(
        "embedding_model__confidence_high", "embedding_model__confidence_medium"
    ).first() or (None, None)
    return (
        settings.RAG_CONFIDENCE_HIGH_THRESHOLD if high is None else high,
        settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD if medium is None else medium,
    )
