"""Answers one question with several settings, so that people can compare them. Nothing of it is stored."""

from collections.abc import Sequence
from dataclasses import dataclass

from rag.errors import RagError
from rag.services.operations.measurements.measured_queries import MeasuredQuery
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerOptions, AnswerResult, Question


@dataclass(frozen=True, slots=True)
class ComparedAnswer:
    """What one of the settings gave.

    Attributes:
        result: The output of the query pipeline; None if it failed.
        error: Why it failed; empty otherwise.
        milliseconds: How long it took altogether.
        stages: Pairs of a stage and its duration in milliseconds, in the order in which they ended.
    """

    result: AnswerResult | None
    error: str
    milliseconds: float
    stages: tuple[tuple[str, float], ...]


def compare(
    settings: Sequence[tuple[Question, AnswerOptions]], selection: SourceSelection
) -> tuple[ComparedAnswer, ...]:
    """Answer with each of the settings, one after the other, so that they do not slow each other down."""
    return tuple(_answer(question, selection, options) for question, options in settings)


def _answer(question: Question, selection: SourceSelection, options: AnswerOptions) -> ComparedAnswer:
    query, result, error = MeasuredQuery(), None, ""
    try:
        result = permitted_queries.run_to_completion(permitted_queries.ask(question, selection, options, query=query))
    except RagError as refused:
        error = refused.message
    return ComparedAnswer(result, error, query.milliseconds, tuple(query.stages.items()))
