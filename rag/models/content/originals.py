"""Uploaded files, in Django's storage, so that documents can be parsed again."""

from typing import Self

from django.db import models
from django.utils import timezone

from rag.models.sources import DataSource, SourceContentQuerySet
from ragsite.postgres.models import UUIDModel


class OriginalQuerySet(SourceContentQuerySet):
    def release(self) -> int:
        """Mark files that may not be needed any more: the next purge checks (rag.services.jobs.originals)."""
        return self.update(check_at=timezone.now())

    def due(self) -> Self:
        """Files that the purge is to check, the longest due first."""
        return self.filter(check_at__lte=timezone.now()).order_by("check_at")


def storage_path(original: "Original", name: str = "") -> str:
    """Return the path in the storage. It has ids only: no name from a client becomes a path."""
    return f"originals/{original.source_id}/{original.pk}"


class Original(UUIDModel):
    """An uploaded file. It exists as long as its row, and the row as long as a document or an open job needs it."""

    # No cascade: it would delete the row and leave the file.
    source = models.ForeignKey(DataSource, models.PROTECT, related_name="originals")
    file = models.FileField(upload_to=storage_path, max_length=200)
    name = models.TextField(help_text="As the client sent it.")
    # As the client declared it; the content decides which parser reads it.
    content_type = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    sha256 = models.CharField("SHA-256", max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # When to check whether it is still needed.
    check_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = OriginalQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
