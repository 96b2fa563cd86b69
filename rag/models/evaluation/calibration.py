"""Measured calibrations of evidence scores: the probability that the passages contain the answer."""

from django.db import models

from rag.models.embedding_models import EmbeddingModel
from ragsite.postgres.models import UUIDModel


class Calibration(UUIDModel):
    """The calibration of one embedding model in one retrieval mode.

    probability = 1 / (1 + exp(-(slope × evidence + offset))), fitted by rag.services.evaluation.fit_calibration.
    """

    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="calibrations")
    mode = models.CharField(max_length=20)
    slope = models.FloatField()
    offset = models.FloatField()
    questions = models.PositiveIntegerField()
    # Measured on questions that the curve was not fitted on (cross-validation).
    calibration_error = models.FloatField("expected calibration error")
    # The mean cosine of the best five passages at which the probability is 0.75 and 0.60. None if the probability does
    # not grow with the cosine.
    cosine_high = models.FloatField(null=True)
    cosine_medium = models.FloatField(null=True)
    # [[predicted, observed, questions], …] and [[share answered, share of them wrong], …], in ascending order.
    reliability = models.JSONField(default=list)
    risk_coverage = models.JSONField(default=list)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("model", "mode")
        constraints = (models.UniqueConstraint(fields=("model", "mode"), name="one_calibration_per_model_and_mode"),)

    def __str__(self) -> str:
        return f"{self.model}, {self.mode}"
