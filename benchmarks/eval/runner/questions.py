"""The work of the pool's processes: they send questions to the product. Each function takes a portion of the items."""

import time
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from benchmarks.eval.runner import modes, searched_models
from rag.models import Document
from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.grounding.calibration_curve import mode_name
from rag.pipeline.retrieval import retrieve
from rag.pipeline.validation.validate import validate_answer
from rag.types import Context, Filters, Passage, Question

# (path, start, end, text) of a chunk.
Found = tuple[str, int, int, str]


def documents(questions: Sequence[str], source_id: uuid.UUID) -> list[dict[str, tuple[list[str], float]]]:
    """For each question and mode: the documents' paths, ranked by their best chunk, and the milliseconds."""
    return [{mode: _documents(text, mode, source_id) for mode in modes.MODES} for text in questions]


def _documents(text: str, mode: str, source_id: uuid.UUID) -> tuple[list[str], float]:
    question = modes.question(text, mode)
    scopes = searched_models.scopes(question, source_id)
    started = time.perf_counter()
    retrieval = retrieve.find_passages(question, scopes)
    milliseconds = 1000 * (time.perf_counter() - started)
    return list(dict.fromkeys(passage.path for passage in retrieval.passages)), milliseconds


def chunks(questions: Sequence[str], source_id: uuid.UUID) -> list[dict[str, list[Found]]]:
    """For each question and mode: the chunks, best first."""
    return [
        {
            mode: [
                (passage.path, passage.start, passage.end, passage.text)
                for passage in _find_passages(modes.question(text, mode), source_id)
            ]
            for mode in modes.MODES
        }
        for text in questions
    ]


def with_and_without(items: Sequence[tuple[str, list[str]]], source_id: uuid.UUID) -> list[tuple[float, float]]:
    """For each (question, paths of relevant documents): its groundability with and without these documents."""
    return [(_groundable(text, source_id), _without(text, paths, source_id)) for text, paths in items]


def _without(text: str, paths: list[str], source_id: uuid.UUID) -> float:
    """Delete the documents as users do, in a transaction that is rolled back after the question."""
    with transaction.atomic():
        relevant = Document.objects.live().filter(source=source_id, path__in=paths)
        relevant.update(deleted_at=timezone.now())
        score = _groundable(text, source_id)
        transaction.set_rollback(True)
    return score


def groundability_in_documents(items: Sequence[tuple[str, str]], source_id: uuid.UUID) -> list[float]:
    """Return, for each (question, tag of a document), the groundability of the question in this document alone."""
    return [_groundable(text, source_id, Filters(tags=(tag,))) for text, tag in items]


def _groundable(text: str, source_id: uuid.UUID, filters: Filters | None = None) -> float:
    question = modes.question(text, modes.DEFAULT, modes.DEFAULT_TOP_K, filters)
    return judged(question, _find_passages(question, source_id))


def _find_passages(question: Question, source_id: uuid.UUID) -> tuple[Passage, ...]:
    return retrieve.find_passages(question, searched_models.scopes(question, source_id)).passages


def judged(question: Question, passages: tuple[Passage, ...]) -> float:
    """The grounding score, which decides whether an answer is generated."""
    if not passages:
        return 0.0
    return assess_grounding(
        question.text, Context(prompt="", passages=passages, token_count=0), mode=mode_name(question)
    ).score


def score_support(items: Sequence[tuple[str, str]]) -> list[float]:
    """For each (answer, context): the validation score, which decides whether an answer is used."""
    return [validate_answer(answer, context).score for answer, context in items]
