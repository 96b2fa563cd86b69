"""Outages of embedding models: documents that need one are not claimed meanwhile, except a probe."""

from django.db import models

from rag.models.embedding_models import EmbeddingModel


class ModelOutage(models.Model):
    """An outage of an embedding model. The row exists until the model answers again.

    Before `until` no document that needs the model is claimed. Afterwards a single one is claimed as a probe.
    """

    model = models.OneToOneField(EmbeddingModel, models.CASCADE, primary_key=True, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField()
    tries = models.PositiveIntegerField(default=1)
    # The document (IngestionDocument) that is the probe.
    probe = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.model}: not before {self.until}"
