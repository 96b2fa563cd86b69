"""Chunks: the parts that documents are split into. Their vectors and terms have other tables (`pgvector_tables`)."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from rag.models.sources import DataSource, SourceContentQuerySet
from ragsite.postgres.models import UUIDModel

from .documents import Document


class Chunk(UUIDModel):
    """A part of a document that is embedded and searched.

    `text == document.text[start:end]`; `start` and `end` count characters.
    """

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="chunks", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks", db_index=False)
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()
    headings = ArrayField(models.TextField(), default=list)
    tokens = models.PositiveIntegerField()
    # The pages of the first and the last character, counted from 1, if the format has pages.
    first_page = models.PositiveIntegerField(null=True)
    last_page = models.PositiveIntegerField(null=True)
    # A hash of the embedded text: a chunk that occurs again in the document's next version keeps its row and vector.
    digest = models.UUIDField(null=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("document", "position")
        # Checked at the end of each statement: one UPDATE may exchange the positions of two chunks.
        constraints = (
            models.UniqueConstraint(
                fields=["document", "position"], name="chunk_position", deferrable=models.Deferrable.IMMEDIATE
            ),
        )
        # A purge and a re-embedding read the chunks of a source in batches, in the order of their ids.
        indexes = (models.Index(fields=["source", "id"], name="chunk_of_source"),)

    def __str__(self) -> str:
        return f"{self.document_id}#{self.position}"
