"""Documents: identified by (data source, path)."""

import hashlib

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

from rag.models.sources import DataSource, SourceContentQuerySet, SourceType
from rag.types import Filters
from ragsite.postgres.models import UUIDModel

from .originals import Original

# A B-tree entry holds at most 2,704 bytes; `path` is in a unique index.
MAX_PATH_BYTES = 2000


def content_hash(text: str) -> str:
    """What stands in for a client's hash: SHA-256 of the text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class DocumentQuerySet(SourceContentQuerySet):
    def live(self) -> "DocumentQuerySet":
        return self.filter(deleted_at=None)

    def matching(self, filters: Filters) -> "DocumentQuerySet":
        """Documents that meet all conditions of a search's filters."""
        return self.filter(
            **{f"{condition.field}__{condition.lookup}": condition.value for condition in filters.conditions}
        )

    def unpurged(self) -> "DocumentQuerySet":
        """Deleted, and their chunks may still be there."""
        return self.filter(deleted_at__isnull=False, chunk_count__gt=0)


class Document(UUIDModel):
    """A deleted one is found by nobody; its row stays for a while to say that its path was deleted, and when."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="documents")
    path = models.TextField()
    title = models.TextField()
    uri = models.TextField(blank=True)
    # Effective: as it was given, else the MIME type that it is read as.
    content_type = models.CharField(max_length=200)
    # Effective: the document's own if it has one, else its source's.
    source_type = models.CharField("type", max_length=10, choices=SourceType.choices)
    lang = models.CharField("language", max_length=20, blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    date = models.DateTimeField(null=True, blank=True)
    # What was read from it: searched, shown and cited.
    text = models.TextField()
    original = models.ForeignKey(Original, models.SET_NULL, null=True, blank=True, related_name="documents")
    content_hash = models.CharField(max_length=200)
    # How its chunks were made: a repeat with other options is a change.
    chunk_size = models.PositiveIntegerField()
    chunk_overlap = models.PositiveIntegerField()
    chunk_count = models.PositiveIntegerField()
    # What it counts in its organisation's quota: its text as UTF-8, and its original.
    bytes = models.PositiveBigIntegerField(default=0)
    # The submission that wrote this version, or the deletion that ended it. UUIDv7: an older submission that finishes
    # later changes nothing.
    revision = models.UUIDField()
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = DocumentQuerySet.as_manager()

    class Meta:
        ordering = ("source", "path")
        constraints = (
            models.UniqueConstraint(
                fields=["source", "path"], condition=Q(deleted_at=None), name="document_path_in_source"
            ),
        )
        indexes = (
            # Every search asks which documents these are; nearly always there is none.
            models.Index(
                fields=["id"], condition=Q(deleted_at__isnull=False, chunk_count__gt=0), name="document_unpurged"
            ),
            models.Index(fields=["source", "path"], condition=Q(deleted_at__isnull=False), name="document_deleted"),
            GinIndex(fields=["tags"], name="document_tags"),
        )

    def __str__(self) -> str:
        return self.title or self.path
