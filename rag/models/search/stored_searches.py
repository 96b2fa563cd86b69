"""Searches whose results can be read again. Only ids are stored, so that access to the texts is checked each time."""

from django.conf import settings
from django.db import models

from ragsite.postgres.models import UUIDModel


class HistoryUsage(models.Model):
    """How much history a user has stored. Only rag.services.queries.history.history_writer changes it.

    Attributes:
        bytes: The texts of conversations and searches, with ROW_BYTES for each row.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="history_usage"
    )
    bytes = models.BigIntegerField(default=0)
    searches = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "history usage"

    def __str__(self) -> str:
        return f"{self.bytes:,} bytes"


class SearchRecord(UUIDModel):
    """A search and its results. Only the user who searched may read it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="searches")
    text = models.TextField()
    # [{"chunk": id, "score": cosine similarity, 0 to 1}], best first.
    results = models.JSONField(default=list)
    time_ms = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return str(self.id)
