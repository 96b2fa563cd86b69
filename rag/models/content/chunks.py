"""Chunks, and beside them their vectors: narrow tables, one per dimension (docs/architecture.md, "Storage")."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField

from rag.models.embedding_models import EmbeddingModel
from rag.models.sources import DataSource, SourceContentQuerySet
from ragsite.postgres.models import UUIDModel

from .documents import Document


class Chunk(UUIDModel):
    """A passage. `text == document.text[start:end]`, in characters."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="chunks", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="chunks", db_index=False)
    position = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    text = models.TextField()
    headings = ArrayField(models.TextField(), default=list)
    tokens = models.PositiveIntegerField()
    # Where the format has pages: those of its first and its last character, from 1.
    first_page = models.PositiveIntegerField(null=True)
    last_page = models.PositiveIntegerField(null=True)
    # Of exactly what was embedded: a chunk that a new version has again keeps its vector.
    digest = models.UUIDField(null=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("document", "position")
        # Checked at the end of a statement: chunks that stay change places with each other.
        constraints = (
            models.UniqueConstraint(
                fields=["document", "position"], name="chunk_position", deferrable=models.Deferrable.IMMEDIATE
            ),
        )
        # By key within a source: how a purge and a re-embedding go through one, however large.
        indexes = (models.Index(fields=["source", "id"], name="chunk_of_source"),)

    def __str__(self) -> str:
        return f"{self.document_id}#{self.position}"


class PieceBits(models.Model):
    """One bit a dimension of each of the local model's pieces of what was embedded for the chunk: 48 bytes a piece, one
    after another (rag/types/token_vectors.py). A chunk without a row is compared by its vector alone."""

    # The database itself removes the row with its chunk, however that is removed (migration 0016).
    chunk = models.OneToOneField(
        Chunk, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="piece_bits"
    )
    pieces = models.BinaryField()

    def __str__(self) -> str:
        return str(self.chunk_id)


class Embedding(models.Model):
    """A chunk's vector with a copy of what searches filter by.

    Access is never copied: only the source's id is, and whether that source is open is decided when somebody asks.
    The copies carry no foreign keys of their own: the chunk's keeps them honest.
    """

    # A chunk has a vector of each model that its source is embedded with: one, and a second while it moves.
    pk = models.CompositePrimaryKey("chunk_id", "model_id")
    chunk = models.ForeignKey(Chunk, models.CASCADE, db_index=False, related_name="+")
    source = models.ForeignKey(DataSource, models.CASCADE, db_constraint=False, db_index=False, related_name="+")
    document = models.ForeignKey(Document, models.CASCADE, db_constraint=False, related_name="+")
    model = models.ForeignKey(EmbeddingModel, models.PROTECT, db_constraint=False, db_index=False, related_name="+")
    source_type = models.CharField(max_length=10)
    content_type = models.CharField(max_length=200)
    lang = models.CharField(max_length=20)
    tags = ArrayField(models.TextField(), default=list)
    date = models.DateTimeField(null=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return str(self.chunk_id)


def _indexes(dimensions: int) -> list[models.Index]:
    """Besides the one of the vectors themselves, which is built when it pays
    (rag/providers/stores/pgvector/hnsw.py)."""
    return [models.Index(fields=["source", "source_type", "lang"], name=f"embedding{dimensions}_scope")]


class Embedding384(Embedding):
    embedding = HalfVectorField(dimensions=384)

    class Meta:
        indexes = _indexes(384)


class Embedding768(Embedding):
    embedding = HalfVectorField(dimensions=768)

    class Meta:
        indexes = _indexes(768)


class Embedding1536(Embedding):
    embedding = HalfVectorField(dimensions=1536)

    class Meta:
        indexes = _indexes(1536)


class Embedding3072(Embedding):
    embedding = HalfVectorField(dimensions=3072)

    class Meta:
        indexes = _indexes(3072)


EMBEDDING_TABLES: dict[int, type[Embedding]] = {
    384: Embedding384,
    768: Embedding768,
    1536: Embedding1536,
    3072: Embedding3072,
}
