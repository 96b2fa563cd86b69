"""Uploaded files, so that documents can be parsed again: small ones in their rows, others in Django's storage."""

from typing import Self

from django.db import models
from django.utils import timezone

from rag.models.sources import DataSource, SourceContentQuerySet
from ragsite.postgres.models import UUIDModel


class OriginalQuerySet(SourceContentQuerySet["Original"]):
    """Queries for the purge of files."""

    def schedule_purge_check(self) -> int:
        """Let the next purge check the files: it deletes what nothing needs (rag.services.sources.original_files).

        Returns:
            The number of files that were marked.
        """
        return self.update(check_at=timezone.now())

    def without_content(self) -> Self:
        """Return the files without their content, annotated with `is_in_row`: whether the row has it."""
        is_in_row = models.ExpressionWrapper(models.Q(content__isnull=False), models.BooleanField())
        return self.defer("content").annotate(is_in_row=is_in_row)

    def due(self) -> Self:
        """Return the files for the purge to check, ordered by the time since when they are due."""
        return self.filter(check_at__lte=timezone.now()).order_by("check_at")


def storage_path(original: "Original") -> str:
    """Return the path in the storage. It consists of ids only, because clients must not choose paths."""
    return f"originals/{original.source_id}/{original.pk}"


class Original(UUIDModel):
    """An uploaded file. The row and the file are kept as long as a document or an open job needs them."""

    # PROTECT, because a cascade would delete the row without the file.
    source = models.ForeignKey(DataSource, models.PROTECT, related_name="originals")
    # Of small files. All others are in the storage (`storage_path`).
    content = models.BinaryField(null=True)
    name = models.TextField(help_text="As the client sent it.")
    # As the client declared it; the content decides which parser reads it.
    content_type = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    sha256 = models.CharField("SHA-256", max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # When the purge checks whether it is still needed.
    check_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = OriginalQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
