"""Who is served next: when each organisation's turn was, and which embedding models do not answer."""

from django.db import models

from orgs.models import Organization
from rag.models.embedding_models import EmbeddingModel


class IngestionTurn(models.Model):
    """When a worker last took documents of an organisation: the one that waits longest comes next."""

    organization = models.OneToOneField(Organization, models.CASCADE, primary_key=True, related_name="+")
    served_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.organization}: {self.served_at}"


class ModelOutage(models.Model):
    """An embedding model whose endpoint refuses or cannot be reached. The row is there until it answers again.

    Until `until` no document that needs the model is taken; afterwards a single one, to see whether it answers.
    """

    model = models.OneToOneField(EmbeddingModel, models.CASCADE, primary_key=True, related_name="+")
    since = models.DateTimeField()
    until = models.DateTimeField()
    tries = models.PositiveIntegerField(default=1)
    # The document that was taken to see.
    probe = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.model}: not before {self.until}"
