"""From evidence to probability (docs/decisions/0027-grounding.md)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rag.models import Calibration, DataSource
from rag.pipeline.retrieval.candidates import mode_of
from rag.types import Mode, Passage, Question

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Curve:
    """probability = 1 / (1 + exp(-(slope × evidence + offset))). Rising: slope > 0."""

    slope: float
    offset: float

    def __call__(self, evidence: float) -> float:
        return 1 / (1 + math.exp(-min(60.0, max(-60.0, self.slope * evidence + self.offset))))

    def evidence_at(self, probability: float) -> float:
        return (math.log(probability / (1 - probability)) - self.offset) / self.slope


# Fitted for all-MiniLM-L6-v2 on three sets of questions, each asked with and without the documents that answer it: with
# pieces compared, and without.
CURVE_WITH_LATE_INTERACTION, CURVE_WITHOUT_LATE_INTERACTION = Curve(2.5, -5.25), Curve(3.65, -5.1)

# Ways of finding passages: mode, and whether they are reranked, as a Question says it.
RETRIEVAL_MODES: dict[str, dict[str, Any]] = {
    f"{mode}{'+rerank' if reranked else ''}": {"mode": mode, "rerank": reranked}
    for mode in Mode
    for reranked in (False, True)
}


def mode_name(question: Question) -> str:
    """The name under which the question's way of finding passages is calibrated."""
    wanted = {"mode": mode_of(question), "rerank": question.rerank}
    return next(gear for gear, said in RETRIEVAL_MODES.items() if said == wanted)


def select_curve(passages: Sequence[Passage], gear: str) -> Curve:
    """As it was measured for the first passage's embedding model in this gear; else the one that is shipped."""
    if gear and passages:
        model = DataSource.objects.filter(pk=passages[0].source_id).values("embedding_model")
        measured = Calibration.objects.filter(model__in=model, gear=gear).values_list("slope", "offset").first()
        if measured:
            return Curve(*measured)
    return (
        CURVE_WITH_LATE_INTERACTION
        if any(passage.maxsim is not None for passage in passages)
        else CURVE_WITHOUT_LATE_INTERACTION
    )


def fit_curve(evidence: Floats, right: Truths, steps: int = 50) -> Curve:
    """Two parameters by maximum likelihood, by Newton's method with Platt's targets (1999), which keep a few samples
    from making it sure. ValueError if more evidence does not mean a higher probability."""
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        raise ValueError("There is nothing to tell apart.")
    targets = np.where(right, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    inputs = np.stack([evidence, np.ones_like(evidence)], axis=1)
    found = np.zeros(2)
    for _ in range(steps):
        predicted = _logistic(inputs @ found)
        gradient = inputs.T @ (predicted - targets)
        curvature = (inputs * (predicted * (1 - predicted))[:, None]).T @ inputs + 1e-6 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        found -= step
        if np.abs(step).max() < 1e-9:
            break
    if not np.isfinite(found).all() or found[0] <= 0:
        raise ValueError("More evidence does not mean that more is found.")
    return Curve(float(found[0]), float(found[1]))


def cross_validate(evidence: Floats, right: Truths, groups: NDArray[Any], folds: int = 5) -> Floats:
    """Each sample's probability by a curve fitted on the others; samples of one group are held out together."""
    predicted = np.empty_like(evidence)
    for fold in range(folds):
        out = groups % folds == fold
        if out.any():
            curve = fit_curve(evidence[~out], right[~out])
            predicted[out] = _logistic(curve.slope * evidence[out] + curve.offset)
    return predicted


def reliability_table(predicted: Floats, right: Truths, bins: int = 10) -> list[list[float]]:
    """[mean predicted, share that was right, samples] of bins of equal size, from low to high."""
    order = np.argsort(predicted, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return [[float(predicted[part].mean()), float(right[part].mean()), float(len(part))] for part in parts]


def calibration_error(rows: Sequence[Sequence[float]]) -> float:
    """Expected, of a reliability table: how far apart predicted and observed are, weighted by samples. 0…1."""
    total = sum(count for _, _, count in rows)
    return sum(count * abs(predicted - observed) for predicted, observed, count in rows) / total if total else 0.0


def risk_coverage(predicted: Floats, right: Truths, points: int = 20) -> list[list[float]]:
    """[share of the samples that are answered, share of these that are wrong]: the surest first, at most 1 each."""
    wrong = np.cumsum(~right[np.argsort(-predicted, kind="stable")])
    ends = np.unique(np.linspace(1, len(wrong), min(points, len(wrong)), dtype=int))
    return [[float(end / len(wrong)), float(wrong[end - 1] / end)] for end in ends]


def _logistic(values: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.clip(values, -60, 60)))
