"""What each organisation stores, counted at each write, because a sum over all documents would be too slow."""

from django.db import models

from orgs.models import Organization


class Usage(models.Model):
    """Chunks and bytes of an organisation's live documents. Only rag.pipeline.ingestion.quota changes it."""

    organization = models.OneToOneField(
        Organization, models.CASCADE, primary_key=True, related_name="usage", verbose_name="organisation"
    )
    chunks = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage"

    def __str__(self) -> str:
        return f"{self.chunks:,} chunks, {self.bytes:,} bytes"
