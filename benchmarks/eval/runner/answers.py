"""Measures whole answers: asks the questions of a set as POST /api/rag/query does, and judges what comes back."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.eval import measures, readability
from benchmarks.eval.datasets.answers import AnswersSet, AskedQuestion
from benchmarks.eval.runner import modes, searched_models
from benchmarks.eval.runner.corpora import IngestedCorpus
from benchmarks.eval.runner.workers import WorkerPool
from rag.pipeline.answering import answer_question as answering
from rag.pipeline.answering.prompt import DEFAULT_PROMPT_TOKENS
from rag.services.evaluation.record_unanswered import LOW_CONFIDENCE
from rag.services.queries.permitted_queries import run_to_completion
from rag.types import AnswerOptions, GenerationOptions

# From this confidence on, people take an answer as right.
HIGH_CONFIDENCE = 0.8
# The author of the answers: quotes, or the configured language model.
AUTHORS = {"extractive": "extractive", "model": ""}


class Given(NamedTuple):
    """An answer.

    Attributes:
        is_declined: Whether the sources were said not to have the answer.
        kept: How many of the citations that its author wrote are left.
        dropped: How many of them were removed.
    """

    text: str
    confidence: float
    is_declined: bool
    kept: int = 0
    dropped: int = 0


def ask(questions: Sequence[str], source_id: uuid.UUID, author: str) -> list[Given]:
    """Answer each question in the default mode."""
    return [_ask(text, source_id, author) for text in questions]


def _ask(text: str, source_id: uuid.UUID, author: str) -> Given:
    question = modes.question(text, modes.DEFAULT, modes.DEFAULT_TOP_K)
    options = AnswerOptions(DEFAULT_PROMPT_TOKENS, generation=GenerationOptions(model=author))
    given = run_to_completion(answering.ask(question, searched_models.scopes(question, source_id), options)).answer
    return Given(given.text, given.confidence, not given.citations, len(given.citations), given.citations_dropped)


def measure(dataset: AnswersSet, corpus: IngestedCorpus, pool: WorkerPool, author: str) -> dict[str, Any]:
    given = pool.share(ask, [question.text for question in dataset.questions], corpus.source_id, author)
    return figures(dataset.questions, given)


def figures(questions: Sequence[AskedQuestion], given: Sequence[Given]) -> dict[str, Any]:
    """The figures of a set.

    Returns:
        facts: share of the answerable questions whose answer states all facts; readable: share of the given answers
        without a fault; refused: share of the unanswerable questions that were declined or answered with low
        confidence, as the page "Ask" calls it; wrong_at_high_confidence: share of wrong ones among the answers with
        high confidence, and how many answers these are; calibration_error: how far confidence is from the share of
        right answers; citations_kept: share of the citations that were not removed from answers; failures: the
        answerable questions with a wrong answer.
    """
    pairs = list(zip(questions, given, strict=True))
    right = [question.is_answerable and question.is_right(answer.text) for question, answer in pairs]
    answered = [answer for answer in given if not answer.is_declined]
    refused = [
        answer.is_declined or answer.confidence < LOW_CONFIDENCE for question, answer in pairs if not question.facts
    ]
    sure = [is_right for is_right, answer in zip(right, given, strict=True) if answer.confidence >= HIGH_CONFIDENCE]
    confidences = [answer.confidence for answer in given]
    kept, dropped = sum(answer.kept for answer in answered), sum(answer.dropped for answer in answered)
    return {
        "facts": measures.mean([float(ok) for ok, question in zip(right, questions, strict=True) if question.facts]),
        "readable": measures.mean([float(not readability.faults(answer.text)) for answer in answered]),
        "refused": measures.mean([float(value) for value in refused]),
        "wrong_at_high_confidence": measures.mean([float(not value) for value in sure]),
        "high_confidence": len(sure),
        "calibration_error": measures.calibration_error(confidences, right),
        "citations_kept": kept / (kept + dropped) if kept + dropped else None,
        "questions": len(questions),
        "failures": [
            {"question": question.text, "answer": answer.text[:300], "confidence": answer.confidence}
            for (question, answer), is_right in zip(pairs, right, strict=True)
            if question.facts and not is_right
        ],
    }
