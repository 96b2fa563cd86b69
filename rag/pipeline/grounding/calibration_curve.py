"""Calibration: turns evidence scores into probabilities (docs/decisions/0027-grounding.md).

The curve is logistic, as in Platt (1999), "Probabilistic outputs for support vector machines".
"""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from rag.models import Calibration, DataSource, EmbeddingModel
from rag.models.embedding_models import ENGLISH_MODELS
from rag.pipeline.retrieval.find_candidates import retrieval_mode
from rag.pipeline.retrieval.user_selected_text import NO_ID
from rag.text.question_language import is_english
from rag.types import Mode, Passage, Question
from ragsite.postgres import identity
from ragsite.postgres.base import read_rows

_MAX_NEWTON_STEPS = 50
_FOLDS = 5
_BINS = 10
# The maximum number of points of a risk-coverage curve.
_MAX_POINTS = 20
# float64 and bool arrays of shape (samples,).
Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Curve:
    """A logistic curve: probability = 1 / (1 + exp(-(slope × evidence + offset))), with slope > 0.

    Attributes:
        is_measured: Whether the curve was fitted for the embedding model and the retrieval mode that it is used for.
    """

    slope: float
    offset: float
    is_measured: bool = True

    def __call__(self, evidence: float) -> float:
        """Return the probability, 0…1, that belongs to an evidence score."""
        return 1 / (1 + math.exp(-min(60.0, max(-60.0, self.slope * evidence + self.offset))))

    def evidence_at(self, probability: float) -> float:
        """Return the evidence score that belongs to a probability. 0 < probability < 1."""
        return (math.log(probability / (1 - probability)) - self.offset) / self.slope


# Fitted for all-MiniLM-L6-v2 on three question sets. Each question was asked twice: with the documents that answer it,
# and without them.
CURVE_WITH_LATE_INTERACTION = Curve(2.5, -5.25)
CURVE_WITHOUT_LATE_INTERACTION = Curve(3.65, -5.1)


# Composing this statement with Django takes longer than executing it, and each answer needs it.
_READ_CURVE = (
    f'SELECT model.name, curve.slope, curve."offset" FROM {DataSource._meta.db_table} AS source '
    f"JOIN {EmbeddingModel._meta.db_table} AS model ON model.id = source.embedding_model_id "
    f"LEFT JOIN {Calibration._meta.db_table} AS curve ON curve.model_id = model.id AND curve.mode = %s "
    "WHERE source.id = %s"
)


class ModeFields(TypedDict):
    """The fields of Question that select a calibration curve."""

    mode: Mode
    rerank: bool


# What the names of modes with reranking end with.
RERANKED = "+rerank"
# The names under which curves are stored, such as "hybrid+rerank", and the fields of Question that belong to them.
RETRIEVAL_MODES: dict[str, ModeFields] = {
    f"{mode}{RERANKED if rerank else ''}": {"mode": mode, "rerank": rerank} for mode in Mode for rerank in (False, True)
}


def mode_name(question: Question) -> str:
    """Return the key of RETRIEVAL_MODES that describes how the question is searched."""
    fields = {"mode": retrieval_mode(question), "rerank": question.rerank}
    return next(name for name, mode_fields in RETRIEVAL_MODES.items() if mode_fields == fields)


def select_curve(query: str, passages: Sequence[Passage], mode: str) -> Curve:
    """Return the curve of an embedding model and a retrieval mode, or the default curve if none is stored.

    The default curves were fitted for English questions and the local English model. For others they are only a guess.
    The model is that of the first passage that belongs to a data source. A text that the user selected belongs to none.

    Args:
        query: The question.
        passages: The passages that the search returned.
        mode: A key of RETRIEVAL_MODES; empty for the default curve.
    """
    has_late_interaction = any(passage.maxsim is not None for passage in passages)
    default = CURVE_WITH_LATE_INTERACTION if has_late_interaction else CURVE_WITHOUT_LATE_INTERACTION
    source_id = next((passage.source_id for passage in passages if passage.source_id != NO_ID), None)
    if not mode or not source_id:
        return default
    with identity.hint_sources([source_id]):
        rows = read_rows(_READ_CURVE, [mode, source_id])
    name, slope, offset = rows[0] if rows else ("", None, None)
    if slope is not None and offset is not None:
        return Curve(slope, offset)
    is_complete = has_late_interaction == mode.endswith(RERANKED)
    is_measured = name in ENGLISH_MODELS and is_complete and is_english(query)
    return dataclasses.replace(default, is_measured=is_measured)


def fit_curve(evidence: Floats, is_correct: Booleans) -> Curve:
    """Fit a curve by maximum likelihood.

    Newton's method with Platt's targets (1999), which prevent overconfidence from few samples.

    Args:
        evidence: Evidence scores, shape (samples,).
        is_correct: Whether each sample is a correct result, shape (samples,).

    Raises:
        ValueError: If all samples are correct or all are wrong, or more evidence does not mean a higher probability.
    """
    positives, negatives = int(is_correct.sum()), int((~is_correct).sum())
    if not positives or not negatives:
        raise ValueError("All samples have the same outcome, so there is nothing to fit.")
    targets = np.where(is_correct, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    inputs = np.stack([evidence, np.ones_like(evidence)], axis=1)
    parameters = np.zeros(2)
    for _ in range(_MAX_NEWTON_STEPS):
        predicted = _logistic(inputs @ parameters)
        gradient = inputs.T @ (predicted - targets)
        hessian = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + 1e-6 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        parameters -= step
        if np.abs(step).max() < 1e-9:
            break
    if not np.isfinite(parameters).all() or parameters[0] <= 0:
        raise ValueError("More evidence does not mean a higher probability.")
    return Curve(float(parameters[0]), float(parameters[1]))


def cross_validate(evidence: Floats, is_correct: Booleans, groups: NDArray[np.int64]) -> Floats:
    """Predict each sample with a curve fitted on the other folds (of five).

    Args:
        evidence: Evidence scores, shape (samples,).
        is_correct: Whether each sample is a correct result, shape (samples,).
        groups: The group of each sample, shape (samples,). Samples of one group are in one fold.

    Returns:
        Predicted probabilities, shape (samples,).

    Raises:
        ValueError: If a curve cannot be fitted (`fit_curve`).
    """
    predicted = np.empty_like(evidence)
    for fold in range(_FOLDS):
        is_held_out = groups % _FOLDS == fold
        if is_held_out.any():
            curve = fit_curve(evidence[~is_held_out], is_correct[~is_held_out])
            predicted[is_held_out] = _logistic(curve.slope * evidence[is_held_out] + curve.offset)
    return predicted


def reliability_table(predicted: Floats, is_correct: Booleans) -> list[list[float]]:
    """Group samples into ten bins of equal size, from the lowest to the highest predicted probability.

    Returns:
        For each bin: [mean predicted probability, share of correct samples, number of samples].
    """
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, _BINS) if len(part)]
    return [[float(predicted[part].mean()), float(is_correct[part].mean()), float(len(part))] for part in parts]


def calibration_error(reliability: Sequence[Sequence[float]]) -> float:
    """Return the expected calibration error (ECE) of a reliability table, 0…1."""
    total = sum(count for _, _, count in reliability)
    error = sum(count * abs(predicted - observed) for predicted, observed, count in reliability)
    return error / total if total else 0.0


def risk_coverage(predicted: Floats, is_correct: Booleans) -> list[list[float]]:
    """Return the risk-coverage curve: how many answers are wrong if only the most probable samples are answered.

    Args:
        predicted: Predicted probabilities, shape (samples,).
        is_correct: Whether each sample is a correct result, shape (samples,).

    Returns:
        Points of [coverage: share of samples answered, risk: share of the answered samples that are wrong].
    """
    by_probability = np.argsort(-predicted, kind="stable")
    wrong_counts = np.cumsum(~is_correct[by_probability])
    total = len(wrong_counts)
    answered_counts = np.unique(np.linspace(1, total, min(_MAX_POINTS, total), dtype=int))
    return [[float(count / total), float(wrong_counts[count - 1] / count)] for count in answered_counts]


def _logistic(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -60, 60)))
