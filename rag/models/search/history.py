"""Searches whose results can be read again. Only ids are stored, so that access to the texts is checked each time."""

from django.conf import settings
from django.db import models

from ragsite.postgres.models import UUIDModel


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
