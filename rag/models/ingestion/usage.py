"""Chunks and bytes that each organisation stores. Every write updates them: a sum over all documents is too slow."""

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
