"""Files as they were sent, in Django's storage, so that documents can be parsed again."""

from typing import Self

from django.db import models
from django.utils import timezone

from rag.models.sources import DataSource, SourceContentQuerySet
from ragsite.postgres.models import UUIDModel


class OriginalQuerySet(SourceContentQuerySet):
    def release(self) -> int:
        """Whatever needed them may need them no more: the next purge looks (rag.services.jobs.originals). Only a
        hint."""
        return self.update(check_at=timezone.now())

    def due(self) -> Self:
        return self.filter(check_at__lte=timezone.now()).order_by("check_at")


def place(original: "Original", name: str = "") -> str:
    """By ids alone: a client's name never becomes a path of the storage."""
    return f"originals/{original.source_id}/{original.pk}"


class Original(UUIDModel):
    """The file lives as long as its row, and the row as long as a document or an open job needs it."""

    # Not by a cascade: that would take the row and leave the file.
    source = models.ForeignKey(DataSource, models.PROTECT, related_name="originals")
    file = models.FileField(upload_to=place, max_length=200)
    name = models.TextField(help_text="As the client called it.")
    # As it was declared; what it is read as is decided by its content.
    content_type = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    sha256 = models.CharField("SHA-256", max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    # When to look whether something still needs it.
    check_at = models.DateTimeField(default=timezone.now, db_index=True)

    objects = OriginalQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name
