"""The tables of the pgvector store: vectors, token signatures, BM25 terms and their statistics.

Only `rag.providers.stores` reads and writes them (see `ChunkStore`), so `rag.models` does not export them. Another
store would keep the same data elsewhere. Chunks themselves are a core model: `rag.models.Chunk`.
"""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from pgvector.django import HalfVectorField, SparseVectorField

from orgs.models import Organization
from rag.models.embedding_models import EmbeddingModel
from rag.models.grants import AccessList
from rag.models.sources import DataSource, SourceContentQuerySet

from .chunks import Chunk
from .documents import Document

# The maximum number of dimensions of a sparse vector (pgvector). Terms are hashed to numbers below it.
TERM_DIMENSIONS = 1_000_000_000


class ChunkTokenSignatures(models.Model):
    """The token signatures of a chunk: one bit per dimension of each token vector (rag/types/token_vectors.py).

    48 bytes per token, one token after another. A chunk without a row is scored by its vector alone.
    """

    # A constraint of the `security` migration deletes the row with its chunk, however the chunk is deleted.
    chunk = models.OneToOneField(
        Chunk, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="token_signatures"
    )
    signatures = models.BinaryField()

    def __str__(self) -> str:
        return str(self.chunk_id)


class Embedding(models.Model):
    """A chunk's vector, with copies of the document's columns that searches filter by. One table per dimension.

    Access rights are never copied: a row has only the id of its source, and each search decides which sources are
    visible. The copied columns have no foreign key constraints: the one of the chunk is enough.
    """

    # One vector per embedding model of the source: a second one exists while the source is being re-embedded.
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
    """Return the indexes of an embedding table. The HNSW index is built later, when it pays (hnsw.py)."""
    return [models.Index(fields=["source", "source_type", "lang"], name=f"embedding{dimensions}_scope")]


class Embedding384(Embedding):
    embedding = HalfVectorField(dimensions=384)

    class Meta:
        indexes = _indexes(384)


class Embedding512(Embedding):
    embedding = HalfVectorField(dimensions=512)

    class Meta:
        indexes = _indexes(512)


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
    512: Embedding512,
    768: Embedding768,
    1536: Embedding1536,
    3072: Embedding3072,
}


class ChunkTerms(models.Model):
    """The BM25 terms of a chunk and the weight of each. They depend only on the chunk and its document's language.

    Deleting a chunk deletes its row by cascade, but does not update the statistics: `ChunkStore` does both.
    """

    chunk = models.OneToOneField(Chunk, models.CASCADE, primary_key=True, related_name="+")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    document = models.ForeignKey(Document, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    # PostgreSQL's text search configuration whose dictionaries stemmed the terms.
    config = models.CharField(max_length=20)
    terms = ArrayField(models.IntegerField())
    weights = SparseVectorField(dimensions=TERM_DIMENSIONS)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(fields=["source", "document"], name="terms_of_document"),
            # Each search reads what PostgreSQL has not put into the index yet: at most this many kB.
            GinIndex(fields=["terms"], gin_pending_list_limit=256, name="terms_words"),
        )

    def __str__(self) -> str:
        return str(self.chunk_id)


class SourceTerm(models.Model):
    """The number of chunks of a source that contain a term; no row for 0. Always the sum over `ChunkTerms`."""

    pk = models.CompositePrimaryKey("source_id", "term")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    term = models.IntegerField()
    chunks = models.IntegerField()

    objects = SourceContentQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.source_id}: {self.term}"


class SourceConfig(models.Model):
    """The number of chunks of a source stemmed with a text search configuration. Always the sum over `ChunkTerms`."""

    pk = models.CompositePrimaryKey("source_id", "config")
    source = models.ForeignKey(DataSource, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+")
    config = models.CharField(max_length=20)
    chunks = models.IntegerField()

    objects = SourceContentQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{self.source_id}: {self.config}"


class OrganizationTotal(models.Model):
    """A sum over the sources of an organisation that share an access list and are not deleted.

    The database itself keeps it (rag/migrations/sql/access_list_statistics.sql).
    """

    organization = models.ForeignKey(
        Organization, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    access_list = models.ForeignKey(
        AccessList, models.DO_NOTHING, db_constraint=False, db_index=False, related_name="+"
    )
    chunks = models.BigIntegerField()

    class Meta:
        abstract = True


class OrganizationTerm(OrganizationTotal):
    """The sum over `SourceTerm`; no row for 0."""

    pk = models.CompositePrimaryKey("access_list_id", "term")
    term = models.IntegerField()

    def __str__(self) -> str:
        return f"{self.access_list_id}: {self.term}"


class OrganizationConfig(OrganizationTotal):
    """The sum over `SourceConfig`; no row for 0."""

    pk = models.CompositePrimaryKey("access_list_id", "config")
    config = models.CharField(max_length=20)

    def __str__(self) -> str:
        return f"{self.access_list_id}: {self.config}"
