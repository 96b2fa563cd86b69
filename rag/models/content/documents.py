"""Documents, which are identified by their data source and path."""

import hashlib
from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import GreaterThan, LessThanOrEqual

from rag.models.sources import DataSource, SourceContentQuerySet, SourceType
from rag.types import Filters
from ragsite.postgres.models import UUIDModel

from .originals import Original

# A B-tree entry has at most 2,704 bytes, and `path` is in a unique index.
MAX_PATH_BYTES = 2000
# Lists look for words in titles and paths. They read them from an index if both fit into one entry.
_MAX_INDEXED_BYTES = 2_400
_TITLE_AND_PATH_BYTES = Func(F("title"), function="octet_length", output_field=IntegerField()) + Func(
    F("path"), function="octet_length", output_field=IntegerField()
)
HAS_SHORT_NAMES = Q(LessThanOrEqual(_TITLE_AND_PATH_BYTES, _MAX_INDEXED_BYTES))
HAS_LONG_NAMES = Q(GreaterThan(_TITLE_AND_PATH_BYTES, _MAX_INDEXED_BYTES))


def content_hash(text: str) -> str:
    """Return the hash of a document whose client sent none: SHA-256 of the text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


class DocumentQuerySet(SourceContentQuerySet["Document"]):
    """Queries of documents by their state and by search filters."""

    def live(self) -> "DocumentQuerySet":
        """Return the documents that are not deleted."""
        return self.filter(deleted_at=None)

    def without_text(self) -> Self:
        """Return the documents without loading what may be large: the text and the boxes of its lines."""
        return self.defer("text", "line_boxes")

    def matching(self, filters: Filters) -> "DocumentQuerySet":
        """Return the documents that meet all conditions of a search's filters."""
        return self.filter(
            **{f"{condition.field}__{condition.lookup}": condition.value for condition in filters.conditions}
        )

    def unpurged(self) -> "DocumentQuerySet":
        """Deleted documents that may still have chunks."""
        return self.filter(deleted_at__isnull=False, chunk_count__gt=0)


class Document(UUIDModel):
    """A document of a data source. After its deletion the row is kept for a while, as a record of the deletion."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="documents")
    path = models.TextField()
    title = models.TextField()
    uri = models.TextField(blank=True)
    # As submitted, otherwise the MIME type that it was parsed as.
    content_type = models.CharField(max_length=200)
    # As submitted, otherwise the type of the source.
    source_type = models.CharField("type", max_length=10, choices=SourceType.choices)
    lang = models.CharField("language", max_length=20, blank=True)
    tags = ArrayField(models.TextField(), default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    date = models.DateTimeField(null=True, blank=True)
    # The parsed text, which is searched, shown and cited.
    text = models.TextField()
    # Where each page starts in the text, that of page 1 first (ParsedDocument.page_starts). Empty if the format has no
    # pages, and for documents of versions that did not store it.
    page_starts = ArrayField(models.PositiveIntegerField(), default=list, db_default=[], blank=True, editable=False)
    # Where the lines are that text recognition has read (line_boxes.pack_line_boxes), and what it cost. Empty and 0 if
    # nothing was recognised, and for documents of versions that did not store it.
    line_boxes = models.BinaryField(default=b"", db_default=b"", blank=True)
    recognized_pages = models.IntegerField(default=0, db_default=0, editable=False)
    recognition_seconds = models.FloatField(default=0.0, db_default=0.0, editable=False)
    original = models.ForeignKey(Original, models.SET_NULL, null=True, blank=True, related_name="documents")
    content_hash = models.CharField(max_length=200)
    # The options it was chunked with. A submission with other options counts as a change.
    chunk_size = models.PositiveIntegerField()
    chunk_overlap = models.PositiveIntegerField()
    chunk_count = models.PositiveIntegerField()
    # What counts towards the quota: the text in UTF-8 and the uploaded file.
    bytes = models.PositiveBigIntegerField(default=0)
    # The submission or deletion that wrote this version. It is a UUIDv7, so that an older submission that finishes
    # later is recognised and ignored.
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
            # Every search excludes these documents. There are rarely any.
            models.Index(
                fields=["id"], condition=Q(deleted_at__isnull=False, chunk_count__gt=0), name="document_unpurged"
            ),
            models.Index(fields=["source", "path"], condition=Q(deleted_at__isnull=False), name="document_deleted"),
            GinIndex(fields=["tags"], name="document_tags"),
            models.Index(fields=["date"], condition=Q(date__isnull=False), name="document_date"),
            models.Index(
                fields=["id"],
                include=["source", "title", "path"],
                condition=Q(deleted_at=None) & HAS_SHORT_NAMES,
                name="document_names",
            ),
            models.Index(fields=["id"], condition=Q(deleted_at=None) & HAS_LONG_NAMES, name="document_long_names"),
        )

    def __str__(self) -> str:
        return self.title or self.path
