"""Calibration of evidence scores on labelled questions, searched with and without the documents that answer them."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from django.conf import settings
from django.db import transaction

from rag.errors import InvalidRequest
from rag.models import Calibration, DataSource, EmbeddingModel, GoldenQuestion
from rag.pipeline.grounding import calibration_curve
from rag.pipeline.grounding.assess_grounding import passage_evidence
from rag.pipeline.grounding.calibration_curve import Booleans, Curve, Floats
from rag.pipeline.retrieval.relative_similarity import add_relative_similarities
from rag.pipeline.retrieval.retrieve import find_passages
from rag.types import Passage, Question, SearchScope

from .quality import DEPTH, MAX_SECONDS_PER_SOURCE, is_expected

# A curve that is fitted on fewer questions is mostly noise.
MIN_QUESTIONS = 30
# How many passages are retrieved for a question, and how many of their cosines are averaged (retrieval contract).
_MAX_CANDIDATES = 50
_TOP_PASSAGES = 5


@dataclass(frozen=True, slots=True)
class Sample:
    """A question with or without its answer, for fitting.

    Attributes:
        question_number: Both samples of a question have the same.
        evidence: The highest evidence score of a passage.
        cosine: The mean cosine similarity of the best five passages.
        is_answered: Whether the best ten passages contain the answer.
    """

    question_number: int
    evidence: float
    cosine: float
    is_answered: bool


def calibrate(model: EmbeddingModel, mode: str, sources: Sequence[DataSource] | None = None) -> Calibration:
    """Fit and store the calibration of a model in a retrieval mode.

    Each question is used twice: with everything that was found, and without the documents that it expects, as a
    question that the sources do not answer.

    Args:
        model: The embedding model.
        mode: A key of rag.pipeline.grounding.calibration_curve.RETRIEVAL_MODES.
        sources: Sources with golden questions; None for all that are searched with the model.

    Returns:
        The stored calibration, which replaces an earlier one of this model and mode.

    Raises:
        InvalidRequest: If there are too few questions, or the evidence does not tell right from wrong.
        EmbeddingFailed: If the embedding model does not answer.
        TimeoutError: If searching one source takes longer than MAX_SECONDS_PER_SOURCE.
    """
    samples = _collect_samples(model, mode, _sources_of(model) if sources is None else sources)
    count = len({sample.question_number for sample in samples})
    if count < MIN_QUESTIONS:
        raise InvalidRequest(
            f"{model} has {count} golden questions in {mode}; a calibration needs at least {MIN_QUESTIONS}: "
            "add some on the Quality pages of its data sources, or use a folder of labelled sets with --sets.",
            field="model",
        )
    is_answered = np.array([sample.is_answered for sample in samples])
    evidence = np.array([sample.evidence for sample in samples])
    groups = np.array([sample.question_number for sample in samples])
    try:
        curve = calibration_curve.fit_curve(evidence, is_answered)
        predicted = calibration_curve.cross_validate(evidence, is_answered, groups)
    except ValueError as error:
        raise InvalidRequest(f"{model} in {mode} cannot be calibrated: {error}", field="model") from None
    reliability = calibration_curve.reliability_table(predicted, is_answered)
    high, medium = _threshold_cosines(np.array([sample.cosine for sample in samples]), is_answered)
    values = {
        "slope": curve.slope, "offset": curve.offset, "questions": count, "cosine_high": high, "cosine_medium": medium,
        "calibration_error": calibration_curve.calibration_error(reliability), "reliability": reliability,
        "risk_coverage": calibration_curve.risk_coverage(predicted, is_answered),
    }  # fmt: skip
    return Calibration.objects.update_or_create(model=model, mode=mode, defaults=values)[0]


def adopt(stored: Calibration) -> None:
    """Store the calibrated cosines as the confidence thresholds of the model (retrieval contract).

    Raises:
        InvalidRequest: If the calibration has no cosines.
    """
    if stored.cosine_high is None or stored.cosine_medium is None:
        raise InvalidRequest(
            f"No cosine of {stored.model} means that an answer is likely, so its thresholds stay as they are.",
            field="model",
        )
    with transaction.atomic():
        model = EmbeddingModel.objects.select_for_update().get(pk=stored.model_id)
        model.confidence_high, model.confidence_medium = round(stored.cosine_high, 3), round(stored.cosine_medium, 3)
        model.save(update_fields=["confidence_high", "confidence_medium"])


def _sources_of(model: EmbeddingModel) -> Sequence[DataSource]:
    questions = GoldenQuestion.objects.filter(active=True).values("source")
    return list(DataSource.objects.filter(deleted_at=None, embedding_model=model, pk__in=questions).order_by("pk"))


def _collect_samples(model: EmbeddingModel, mode: str, sources: Sequence[DataSource]) -> list[Sample]:
    """Search for each golden question of the sources, and return its samples."""
    samples: list[Sample] = []
    for source in sources:
        deadline = time.monotonic() + MAX_SECONDS_PER_SOURCE
        scope = SearchScope(source_ids=(source.pk,), model_id=model.pk)
        golden_questions = GoldenQuestion.objects.filter(source=source, active=True).order_by("question", "pk")
        expectations = golden_questions.values_list("question", "path", "passage")
        for text, expectations_of_question in groupby(expectations, key=lambda expectation: expectation[0]):
            if time.monotonic() > deadline:
                raise TimeoutError
            expected = [(path, passage) for _, path, passage in expectations_of_question]
            question_number = samples[-1].question_number + 1 if samples else 0
            samples += _build_samples(question_number, text, expected, scope, mode)
    return samples


def _build_samples(
    question_number: int, question: str, expected: Sequence[tuple[str, str]], scope: SearchScope, mode: str
) -> list[Sample]:
    """Search for a question, and return up to two samples of it.

    One sample has all passages. The other has those of documents that the question does not expect, neither by their
    path nor because a passage of the document is an expected one. A sample without passages is left out.
    """
    passages = find_passages(
        Question(text=question, top_k=_MAX_CANDIDATES, **calibration_curve.RETRIEVAL_MODES[mode]), [scope]
    ).passages
    answering_ids = {passage.document_id for passage in passages if is_expected(passage, expected)}
    paths = {path for path, _ in expected}
    others = [passage for passage in passages if passage.document_id not in answering_ids and passage.path not in paths]
    is_answered = any(is_expected(passage, expected) for passage in passages[:DEPTH])
    return [
        _build_sample(question_number, question, sample_passages, is_answered=label)
        for sample_passages, label in ((passages, is_answered), (add_relative_similarities(others), False))
        if sample_passages
    ]


def _build_sample(question_number: int, question: str, passages: Sequence[Passage], *, is_answered: bool) -> Sample:
    evidence = max(passage_evidence(question, passage) for passage in passages[:DEPTH])
    best = sorted((passage.score for passage in passages), reverse=True)[:_TOP_PASSAGES]
    return Sample(question_number, evidence=evidence, cosine=sum(best) / len(best), is_answered=is_answered)


def _threshold_cosines(cosines: Floats, is_answered: Booleans) -> tuple[float | None, float | None]:
    """Return the mean cosines at which the probability of an answer equals the contract's high and medium threshold."""
    try:
        curve = calibration_curve.fit_curve(cosines, is_answered)
    except ValueError:
        return None, None
    high, medium = settings.RAG_CONFIDENCE_HIGH_THRESHOLD, settings.RAG_CONFIDENCE_MEDIUM_THRESHOLD
    return _cosine_at(curve, high), _cosine_at(curve, medium)


def _cosine_at(curve: Curve, probability: float) -> float:
    return min(1.0, max(0.0, curve.evidence_at(min(0.99, max(0.01, probability)))))
