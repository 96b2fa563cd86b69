"""What each organisation stores, counted as it is written: a sum over its documents would cost every write."""

from django.db import models

from orgs.models import Organization


class Usage(models.Model):
    """Of the documents that are there; what is deleted does not count. Changed by rag.pipeline.ingestion.quota
    alone."""

    organization = models.OneToOneField(
        Organization, models.CASCADE, primary_key=True, related_name="usage", verbose_name="organisation"
    )
    chunks = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)

    class Meta:
        verbose_name_plural = "usage"

    def __str__(self) -> str:
        return f"{self.chunks:,} chunks, {self.bytes:,} bytes"
