"""State for claiming documents: when each organisation was served last, and outages of embedding models."""

from django.db import models

from orgs.models import Organization
from rag.models.embedding_models import EmbeddingModel


class IngestionFairness(models.Model):
    """When a worker last claimed documents of an organisation. The one that has waited longest is served next."""

    organization = models.OneToOneField(Organization, models.CASCADE, primary_key=True, related_name="+")
    served_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.organization}: {self.served_at}"


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
