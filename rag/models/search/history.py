"""Searches that can be asked for again. What they found is kept as ids: texts stay where access to them is decided."""

from django.conf import settings
from django.db import models

from ragsite.postgres.models import UUIDModel


class SearchRecord(UUIDModel):
    """One search of one user, who alone may read it again."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="searches")
    text = models.TextField()
    # [{"chunk": id, "score": cosine similarity, 0…1}], best first.
    results = models.JSONField(default=list)
    time_ms = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return str(self.id)
