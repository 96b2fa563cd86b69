"""What scores mean here: fitted on labelled questions, asked with and without what answers them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from django.conf import settings
from django.db import transaction

from rag.errors import InvalidRequest
from rag.models import Calibration, DataSource, EmbeddingModel, GoldenQuestion
from rag.pipeline.grounding import calibration
from rag.pipeline.grounding.calibration import Curve, Floats, Truths
from rag.pipeline.grounding.ground import passage_evidence
from rag.pipeline.retrieval.retrieve import find
from rag.pipeline.retrieval.standout_score import contrasted
from rag.types import Passage, Question, Scope

from .quality import DEPTH, is_expected

# Below this a curve says more about chance than about the model.
FEWEST_QUESTIONS = 30
# Where the retrieval contract draws its lines (RAG_CONFIDENCE_HIGH_THRESHOLD, …_MEDIUM_…), read as probabilities.
_CANDIDATES, _TOP = 50, 5


@dataclass(frozen=True, slots=True)
class Sample:
    """evidence: the most that a passage has. cosine: mean of the best five. right: an answer is in the best 10."""

    question: int
    evidence: float
    cosine: float
    right: bool


def calibrate(model: EmbeddingModel, gear: str, sources: Sequence[DataSource] | None = None) -> Calibration:
    """Fit and store what evidence means for a model in a gear, from the golden questions of these sources; unless they
    are given, of all that are searched with it.

    Each question counts twice: with all that was found, and without the documents that it expects, as a question that
    the sources do not answer. Raises InvalidRequest, with too few questions or where evidence tells nothing,
    TimeoutError after RAG_QUALITY_SECONDS for a source, and what the search raises.
    """
    samples = _samples(model, gear, _searched(model) if sources is None else sources)
    count = len({each.question for each in samples})
    if count < FEWEST_QUESTIONS:
        raise InvalidRequest(
            f"{model} has {count} golden questions in {gear}, and {FEWEST_QUESTIONS} are the fewest to calibrate by: "
            "add some on the pages Quality of its data sources, or name a folder of labelled sets with --sets.",
            field="model",
        )
    right = np.array([each.right for each in samples])
    evidence = np.array([each.evidence for each in samples])
    groups = np.array([each.question for each in samples])
    try:
        curve = calibration.fit_curve(evidence, right)
        predicted = calibration.cross_validate(evidence, right, groups)
    except ValueError as error:
        raise InvalidRequest(f"{model} in {gear} cannot be calibrated: {error}", field="model") from None
    rows = calibration.reliability_table(predicted, right)
    high, medium = _cosines(np.array([each.cosine for each in samples]), right)
    values = {
        "slope": curve.slope, "offset": curve.offset, "questions": count, "cosine_high": high, "cosine_medium": medium,
        "calibration_error": calibration.calibration_error(rows), "reliability": rows,
        "risk": calibration.risk_coverage(predicted, right),
    }  # fmt: skip
    return Calibration.objects.update_or_create(model=model, gear=gear, defaults=values)[0]


def adopt(found: Calibration) -> None:
    """The retrieval contract's thresholds for this model become the calibrated cosines. Raises InvalidRequest."""
    if found.cosine_high is None or found.cosine_medium is None:
        raise InvalidRequest(
            f"No cosine of {found.model} means that an answer is likely: its thresholds stay.", field="model"
        )
    with transaction.atomic():
        model = EmbeddingModel.objects.select_for_update().get(pk=found.model_id)
        model.confidence_high, model.confidence_medium = round(found.cosine_high, 3), round(found.cosine_medium, 3)
        model.save(update_fields=["confidence_high", "confidence_medium"])


def _searched(model: EmbeddingModel) -> Sequence[DataSource]:
    asked = GoldenQuestion.objects.filter(active=True).values("source")
    return list(DataSource.objects.filter(deleted_at=None, embedding_model=model, pk__in=asked).order_by("pk"))


def _samples(model: EmbeddingModel, gear: str, sources: Sequence[DataSource]) -> list[Sample]:
    found: list[Sample] = []
    for source in sources:
        end = time.monotonic() + settings.RAG_QUALITY_SECONDS
        scope = Scope(source_ids=(source.pk,), model_id=model.pk)
        rows = GoldenQuestion.objects.filter(source=source, active=True).order_by("question", "pk")
        for text, group in groupby(rows.values_list("question", "path", "passage"), key=lambda row: row[0]):
            if time.monotonic() > end:
                raise TimeoutError
            expected = [(path, passage) for _, path, passage in group]
            number = found[-1].question + 1 if found else 0
            found += _asked(number, text, expected, scope, gear)
    return found


def _asked(number: int, text: str, expected: Sequence[tuple[str, str]], scope: Scope, gear: str) -> list[Sample]:
    passages = find(Question(text=text, top_k=_CANDIDATES, **calibration.RETRIEVAL_MODES[gear]), [scope]).passages
    answering = {each.document_id for each in passages if is_expected(each, expected)}
    paths = {path for path, _ in expected}
    without = [each for each in passages if each.document_id not in answering and each.path not in paths]
    right = any(is_expected(each, expected) for each in passages[:DEPTH])
    return [
        _sample(number, text, each, is_right)
        for each, is_right in ((passages, right), (contrasted(without), False))
        if each
    ]


def _sample(number: int, text: str, passages: Sequence[Passage], right: bool) -> Sample:
    evidence = max(passage_evidence(text, passage) for passage in passages[:DEPTH])
    best = sorted((passage.score for passage in passages), reverse=True)[:_TOP]
    return Sample(number, evidence, sum(best) / len(best), right)


def _cosines(cosines: Floats, right: Truths) -> tuple[float | None, float | None]:
    """Where the probability by the mean cosine alone is what the contract's two thresholds say as numbers."""
    try:
        curve = calibration.fit_curve(cosines, right)
    except ValueError:
        return None, None
    high, medium = settings.RAG_CONFIDENCE_HIGH_THRESHOLD, settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD
    return _within(curve, high), _within(curve, medium)


def _within(curve: Curve, probability: float) -> float:
    return min(1.0, max(0.0, curve.evidence_at(min(0.99, max(0.01, probability)))))
