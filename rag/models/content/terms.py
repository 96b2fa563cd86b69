"""The words of chunks, for BM25 (docs/architecture.md, "How are words found?")."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from pgvector.django import SparseVectorField

from rag.models.sources import DataSource, SourceContentQuerySet

from .chunks import Chunk
from .documents import Document

# As many as a sparse vector may have: what terms are hashed to.
TERM_DIMENSIONS = 1_000_000_000


class ChunkTerms(models.Model):
    """A chunk's terms, and how much each weighs in it. Depends on nothing but the chunk and its document's language.

    Deleting a chunk takes it along, but not out of the statistics: rag.providers.stores.pgvector.terms does both.
    """

    chunk = models.OneToOneField(Chunk, models.CASCADE, primary_key=True, related_name="+")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    document = models.ForeignKey(Document, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    # PostgreSQL's text search configuration whose stemmers made them.
    config = models.CharField(max_length=20)
    terms = ArrayField(models.IntegerField())
    weights = SparseVectorField(dimensions=TERM_DIMENSIONS)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=["source", "document"], name="terms_of_document"),
            GinIndex(fields=["terms"], name="terms_words"),
        )

    def __str__(self) -> str:
        return str(self.chunk_id)


class SourceTerm(models.Model):
    """How many chunks of a source have a term; no row for none. The sum of what its chunks' rows say, always."""

    pk = models.CompositePrimaryKey("source_id", "term")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    term = models.IntegerField()
    chunks = models.IntegerField()

    objects = SourceContentQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.source_id}: {self.term}"


class SourceConfig(models.Model):
    """How many chunks of a source were stemmed by a text search configuration; likewise."""

    pk = models.CompositePrimaryKey("source_id", "config")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    config = models.CharField(max_length=20)
    chunks = models.IntegerField()

    objects = SourceContentQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.source_id}: {self.config}"
