"""What an evidence score means, as it was measured: the probability that the passages hold the answer."""

from django.db import models

from rag.models.embedding_models import EmbeddingModel
from ragsite.postgres.models import UUIDModel


class Calibration(UUIDModel):
    """Of one embedding model in one gear of retrieval: probability = 1 / (1 + exp(-(slope × evidence + offset)))
    (rag.services.evaluation.calibration says how it is fitted)."""

    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="calibrations")
    gear = models.CharField(max_length=20)
    slope = models.FloatField()
    offset = models.FloatField()
    questions = models.PositiveIntegerField()
    # On questions that it was not fitted on.
    calibration_error = models.FloatField("expected calibration error")
    # The mean cosines of the best five at which the probability is 0.75 and 0.60; empty where cosines tell nothing.
    cosine_high = models.FloatField(null=True)
    cosine_medium = models.FloatField(null=True)
    # [[predicted, observed, questions], …] and [[share answered, share of them wrong], …], each from low to high.
    reliability = models.JSONField(default=list)
    risk = models.JSONField(default=list)
    at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("model", "gear")
        constraints = (models.UniqueConstraint(fields=("model", "gear"), name="one_calibration_of_model_and_gear"),)

    def __str__(self) -> str:
        return f"{self.model}, {self.gear}"
