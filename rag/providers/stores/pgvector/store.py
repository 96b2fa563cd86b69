"""The chunk store in PostgreSQL with pgvector. The class combines the modules of this package."""

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from django.db import DatabaseError
from django.db.models import QuerySet

from rag.errors import IndexUnavailable
from rag.models import Chunk, Document, EmbeddingModel
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.providers.base import Vectors
from rag.providers.stores.base import VectorIndex
from rag.providers.stores.search_types import Candidates, ScopeQuery
from rag.providers.stores.store_writes import DocumentVersion, MetadataUpdate, StoredChunk
from rag.types import Filters, Mode, SearchScope
from rag.types.token_vectors import TokenSignatures

from . import bm25_index, bm25_query, hnsw, search, term_statistics, token_signatures, vectors


class PgVectorStore:
    """Implements `ChunkStore`, which describes the methods."""

    dimensions = tuple(EMBEDDING_TABLES)
    searches_outside_database = False

    def __init__(self, *, exact_limit: int) -> None:
        """Create the store. Up to `exact_limit` chunks are searched exactly, without an index."""
        self._exact_limit = exact_limit

    # --- Writing

    def embedded_digests(self, document: Document, *, model: EmbeddingModel) -> Counter[uuid.UUID]:
        digests = vectors.embedded_chunks(document, model).values_list("digest", flat=True)
        return Counter(digest for digest in digests if digest)

    def write(
        self, versions: Sequence[DocumentVersion], *, model: EmbeddingModel, second_model: EmbeddingModel | None = None
    ) -> None:
        versions_with_ids = vectors.replace(versions, model, second_model)
        vectors.update_filters([version.document for version in versions if not version.is_new])
        bm25_index.sync(
            [version.document.pk for version in versions if not version.is_new],
            new=[(version, chunk_ids) for version, chunk_ids in versions_with_ids if version.is_new],
            rebuild=[version.document.pk for version in versions if version.has_new_title],
        )

    def update_metadata(self, updates: Sequence[MetadataUpdate]) -> None:
        vectors.update_filters([update.document for update in updates])
        bm25_index.sync(
            [update.document.pk for update in updates if update.has_new_title or update.has_new_lang],
            rebuild=[update.document.pk for update in updates if update.has_new_title],
        )

    def delete_document_chunks(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> int:
        chunks = Chunk.objects.filter(document__in=document_ids)
        return _delete_chunks(chunks.order_by("document", "position"), limit)

    def delete_source_chunks(self, source_id: uuid.UUID, *, limit: int) -> int:
        count = _delete_chunks(Chunk.objects.filter(source=source_id).order_by("pk"), limit)
        if count < limit:
            bm25_index.delete_statistics(source_id)
        return count

    def apply_changes(self, *, limit: int) -> int:
        return 0

    # --- Searching

    def search(self, text: str, queries: Sequence[ScopeQuery], *, mode: Mode, limit: int) -> list[Candidates]:
        with _translated_errors():
            lexical_query = bm25_query.build_query(text, [query.scope for query in queries])
            # Every source is in a scope without filters. If there is one such scope, its size is known.
            unfiltered = [query.scope for query in queries if query.scope.filters == Filters()]
            sizes = {unfiltered[0]: lexical_query.chunk_count} if len(unfiltered) == 1 else {}
            return [
                search.find(
                    query.scope,
                    query.vector,
                    lexical_query,
                    mode=mode,
                    limit=limit,
                    exact_limit=self._exact_limit,
                    chunk_count=sizes.get(query.scope),
                )
                for query in queries
            ]

    def cosines(
        self, chunk_ids: Sequence[uuid.UUID], vector: Vectors, *, model_id: uuid.UUID
    ) -> dict[uuid.UUID, float]:
        with _translated_errors():
            return vectors.cosines(chunk_ids, vector, model_id)

    def count_words(self, words: Sequence[str], scopes: Sequence[SearchScope], *, lang: str = "") -> dict[str, int]:
        with _translated_errors():
            return bm25_query.count_words(words, scopes, lang)

    def is_available(self) -> bool:
        try:
            EMBEDDING_TABLES[384].objects.exists()
        except DatabaseError:
            return False
        return True

    # --- Token signatures

    def token_signatures(self, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenSignatures]:
        with _translated_errors():
            return token_signatures.read(chunk_ids)

    def chunks_without_signatures(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> tuple[list[uuid.UUID], uuid.UUID | None]:
        return token_signatures.next_without(source_id, after=after, limit=limit)

    def add_signatures(self, signatures: Mapping[uuid.UUID, TokenSignatures]) -> int:
        return token_signatures.add_missing(signatures)

    # --- Vectors of another model

    def count_chunks_without_vector(self, source_id: uuid.UUID, model: EmbeddingModel) -> int:
        return vectors.chunks_without_vector(source_id, model).count()

    def has_all_vectors(self, source_id: uuid.UUID, model: EmbeddingModel) -> bool:
        return not vectors.chunks_without_vector(source_id, model).exists()

    def chunks_without_vector(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> list[StoredChunk]:
        return vectors.next_without_vector(source_id, model, after=after, limit=limit)

    def add_vectors(
        self,
        chunks: Sequence[StoredChunk],
        chunk_vectors: Vectors,
        documents: Sequence[Document],
        *,
        model: EmbeddingModel,
    ) -> int:
        return vectors.add(chunks, chunk_vectors, documents, model)

    def delete_vectors(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> uuid.UUID | None:
        return vectors.delete_next(source_id, model, after=after, limit=limit)

    # --- Maintenance

    def chunks_without_terms(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> list[tuple[uuid.UUID, uuid.UUID]]:
        chunks = bm25_index.chunks_without_terms(source_id).filter(pk__gt=after)
        return list(chunks.order_by("pk").values_list("pk", "document_id")[:limit])

    def add_missing_terms(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> None:
        bm25_index.sync(document_ids, limit=limit)

    def count_wrong_statistics(self, source_id: uuid.UUID) -> int:
        return term_statistics.count_wrong(source_id)

    def repair_statistics(self, source_id: uuid.UUID) -> None:
        bm25_index.lock_statistics([source_id])
        term_statistics.repair(source_id)

    def count_wrong_totals(self, organization_id: uuid.UUID) -> int:
        return term_statistics.count_wrong_totals(organization_id)

    def repair_totals(self, organization_id: uuid.UUID) -> None:
        term_statistics.repair_totals(organization_id)

    def vector_indexes(self) -> list[VectorIndex]:
        return hnsw.list_indexes()

    def build_vector_index(self, dimensions: int) -> bool:
        return hnsw.build(dimensions)

    def drop_vector_index(self, dimensions: int) -> None:
        hnsw.drop(dimensions)


def _delete_chunks(chunks: QuerySet[Chunk], limit: int) -> int:
    ids = list(chunks.values_list("pk", flat=True)[:limit])
    if ids:
        bm25_index.delete(ids)
        Chunk.objects.filter(pk__in=ids).only("pk").delete()
    return len(ids)


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except DatabaseError as error:
        raise IndexUnavailable("The search index does not answer.") from error
