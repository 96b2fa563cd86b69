"""The chunk store that searches in Qdrant. PostgreSQL keeps everything; Qdrant has copies that searches compare.

docs/decisions/0070-qdrant.md says why.
"""

import uuid
from collections.abc import Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction

from rag.errors import IndexUnavailable
from rag.models import Document, EmbeddingModel
from rag.models.content.index_outbox import IndexChange
from rag.providers.base import Vectors
from rag.providers.stores.pgvector import bm25_query
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import Candidates, ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion, MetadataUpdate, StoredChunk
from rag.types import Mode
from ragsite.postgres import role_connections

from . import collection, outbox, points, search
from .client import ContentRefused, QdrantClient
from .measure_recall import measure_recall

logger = structlog.get_logger(__name__)

# How many recorded changes a process copies after its own transaction. The sweep copies the rest.
_MAX_OWN_CHANGES = 500


class QdrantStore(PgVectorStore):
    """Implements `ChunkStore`: writes and statistics as with pgvector, searches in Qdrant.

    A transaction changes PostgreSQL only, whose triggers record the documents. After the commit their points are
    copied, by this process or by the sweep. Until then searches find the old points, of which PostgreSQL confirms what
    still exists.
    """

    searches_outside_database = True

    def __init__(self, client: QdrantClient, *, exact_limit: int) -> None:
        super().__init__(exact_limit=exact_limit)
        self._client = client

    # --- Writing

    def write(
        self, versions: Sequence[DocumentVersion], *, model: EmbeddingModel, second_model: EmbeddingModel | None = None
    ) -> None:
        super().write(versions, model=model, second_model=second_model)
        self._copy_on_commit()

    def update_metadata(self, updates: Sequence[MetadataUpdate]) -> None:
        super().update_metadata(updates)
        if updates:
            self._copy_on_commit()

    def delete_document_chunks(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> int:
        count = super().delete_document_chunks(document_ids, limit=limit)
        if count:
            self._copy_on_commit()
        return count

    def delete_source_chunks(self, source_id: uuid.UUID, *, limit: int) -> int:
        count = super().delete_source_chunks(source_id, limit=limit)
        if count:
            self._copy_on_commit()
        return count

    def add_vectors(
        self,
        chunks: Sequence[StoredChunk],
        chunk_vectors: Vectors,
        documents: Sequence[Document],
        *,
        model: EmbeddingModel,
    ) -> int:
        count = super().add_vectors(chunks, chunk_vectors, documents, model=model)
        self._copy_on_commit()
        return count

    def add_missing_terms(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> None:
        super().add_missing_terms(document_ids, limit=limit)
        self._copy_on_commit()

    def apply_changes(self, *, limit: int) -> int:
        return outbox.apply(self._client, limit=limit)

    def _copy_on_commit(self) -> None:
        # Web processes cannot read the outbox: they send a task instead.
        if not role_connections.has_logins():
            transaction.on_commit(self._copy_own)

    def _copy_own(self) -> None:
        try:
            self.apply_changes(limit=_MAX_OWN_CHANGES)
        except (IndexUnavailable, DatabaseError) as error:
            logger.warning("index_copy_postponed", reason=type(error).__name__)

    # --- Searching

    def search(self, text: str, queries: Sequence[ScopeQuery], *, mode: Mode, limit: int) -> list[Candidates]:
        try:
            lexical_query = bm25_query.build_query(text, [query.scope for query in queries])
            return [
                search.find(
                    self._client,
                    query.scope,
                    query.vector,
                    lexical_query,
                    query_tokens=query.token_vectors,
                    mode=mode,
                    limit=limit,
                )
                for query in queries
            ]
        except DatabaseError as error:
            raise IndexUnavailable("The search index does not answer.") from error

    def is_available(self) -> bool:
        try:
            self._client.collections()
            return super().is_available() and outbox.are_recorded()
        except (IndexUnavailable, DatabaseError):
            return False

    # --- Moving to Qdrant and back

    def switch_recording(self, *, on: bool) -> None:
        """Begin or stop recording changes. Waits for transactions that are writing."""
        outbox.switch_recording(on=on)
        if not on:
            IndexChange.objects.all().delete()

    def copy_documents(self, *, after: uuid.UUID, limit: int) -> uuid.UUID | None:
        """Copy the next documents after this one, by id, and return the last of them; None at the end.

        Points that are equal already are only compared. So an interrupted copy can begin again.
        """
        ids = list(Document.objects.filter(pk__gt=after).order_by("pk").values_list("pk", flat=True)[:limit])
        try:
            with transaction.atomic():
                copied = set(outbox.copy(self._client, ids))
        except ContentRefused:
            copied = set()  # one of them is refused: the outbox finds out which
        # Another process is copying them, perhaps an earlier version.
        IndexChange.objects.bulk_create([IndexChange(document_id=pk) for pk in ids if pk not in copied])
        return ids[-1] if ids else None

    def models_without_token_vectors(self) -> list[str]:
        """Return the models whose collections were created without token vectors, although they are switched on."""
        existing = self._client.collections()
        names = {model: collection.name(model.pk) for model in EmbeddingModel.objects.order_by("pk")}
        return [
            model.name
            for model, name in names.items()
            if settings.QDRANT_TOKEN_VECTORS
            and name in existing
            and not self._client.has_vector(name, collection.TOKENS)
        ]

    def delete_collections(self) -> None:
        """Delete the collections of all models. Searches in Qdrant fail until their chunks are copied again."""
        existing = self._client.collections()
        for model in EmbeddingModel.objects.all():
            if (name := collection.name(model.pk)) in existing:
                self._client.delete_collection(name)

    def delete_leftovers(self) -> int:
        """Delete points whose chunks do not exist, and return their number."""
        return sum(points.delete_leftovers(self._client, model) for model in EmbeddingModel.objects.order_by("pk"))

    def recall(self, sample: int) -> float:
        """Return the share of the nearest ten chunks in PostgreSQL that Qdrant finds, for sampled chunks of each model.

        A chunk's own vector is the question, and its source the scope.
        """
        return measure_recall(PgVectorStore(exact_limit=self._exact_limit), self, sample)
