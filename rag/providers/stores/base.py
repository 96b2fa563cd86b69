"""The protocol of a chunk store, which indexes the chunks of documents and searches them by vector and by words.

`rag.pipeline` and `rag.services` use a store through this protocol alone; `rag.providers.provider_factory.chunk_store`
returns the one in use. The conformance tests in tests/providers/stores define what a store must pass.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag.models import Document, EmbeddingModel
from rag.providers.base import Vectors
from rag.types import Mode, SearchScope
from rag.types.token_vectors import TokenSignatures

from .search_types import Candidates, ScopeQuery
from .store_writes import DocumentVersion, MetadataUpdate, StoredChunk


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An approximate-nearest-neighbour index, built or not.

    Attributes:
        row_count: About how many vectors the table has now.
        inserted_count: How many vectors were inserted since the database's statistics began.
    """

    dimensions: int
    is_built: bool
    row_count: int
    inserted_count: int


class ChunkStore(Protocol):
    """The index of chunks: vectors, terms and token signatures, together with the fields that searches filter by.

    Writes take part in the current database transaction: readers see the old chunks of a document or the new ones,
    never a mixture. The calling code prevents concurrent writes to the same document. `write` and `update_metadata`
    update the term statistics last, and other writers of the source's organisation wait from then until the transaction
    ends: call each at most once per transaction and towards its end.
    """

    @property
    def dimensions(self) -> Sequence[int]:
        """The lengths of vectors that the store can keep."""
        ...

    @property
    def searches_outside_database(self) -> bool:
        """Whether searches use an index outside of the database, which has the changes that `apply_changes` has copied.

        Then they do not use `vector_indexes`.
        """
        ...

    # --- Writing

    def embedded_digests(self, document: Document, *, model: EmbeddingModel) -> Counter[uuid.UUID]:
        """Return the digests of the document's chunks that have a vector of the model, and how often each occurs."""
        ...

    def write(
        self, versions: Sequence[DocumentVersion], *, model: EmbeddingModel, second_model: EmbeddingModel | None = None
    ) -> None:
        """Replace the chunks of each document by those of its version, with vectors, terms and signatures.

        Args:
            versions: The new versions of documents of one source.
            model: The source's embedding model.
            second_model: The model of the versions' second vectors, if there are any.
        """
        ...

    def update_metadata(self, updates: Sequence[MetadataUpdate]) -> None:
        """Copy the filter fields from the documents, and index new titles and languages in their chunks' terms."""
        ...

    def delete_document_chunks(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> int:
        """Delete up to `limit` chunks of these documents, and return their number: below `limit` if none is left."""
        ...

    def delete_source_chunks(self, source_id: uuid.UUID, *, limit: int) -> int:
        """Delete up to `limit` chunks of the source, and return their number.

        If the number is less than `limit`, nothing of the source is left in the store; its statistics are deleted, too.
        """
        ...

    def apply_changes(self, *, limit: int) -> int:
        """Copy up to `limit` committed changes to an index outside of the database, and return their number.

        Always 0 for a store without such an index (`searches_outside_database`).

        Raises:
            IndexUnavailable: If the index does not answer. The changes remain to be copied.
        """
        ...

    # --- Searching

    def search(self, text: str, queries: Sequence[ScopeQuery], *, mode: Mode, limit: int) -> list[Candidates]:
        """Find up to `limit` chunks per scope by vector, and as many by words; score each by both.

        The IDF of a word is computed over the sources of all scopes, and no other sources. So lexical scores of
        different scopes are comparable; cosines of different models are not. Equal scores are ordered by chunk id.

        Args:
            text: The query.
            queries: One query per scope. The result has the same order.
            mode: How candidates are found: DENSE by vector alone, LEXICAL by words alone. They always have both scores.
            limit: The maximum number of candidates per scope and kind of search.

        Raises:
            IndexUnavailable: If the store does not answer.
        """
        ...

    def cosines(
        self, chunk_ids: Sequence[uuid.UUID], vector: Vectors, *, model_id: uuid.UUID
    ) -> dict[uuid.UUID, float]:
        """Return chunk id → cosine of a vector and the chunk's vector of a model, without chunks that have none.

        Args:
            chunk_ids: The chunks.
            vector: float32 of shape (dimensions,), of length 1.
            model_id: The embedding model.

        Raises:
            IndexUnavailable: If the store does not answer.
        """
        ...

    def count_words(self, words: Sequence[str], scopes: Sequence[SearchScope], *, lang: str = "") -> dict[str, int]:
        """Return word → in how many chunks of the scopes' sources it occurs, in any of its forms; 0 for stop words.

        Args:
            words: Words in lower case.
            scopes: Their sources count, whatever their filters are.
            lang: Only forms of this language count, as documents declare it; empty for those of all languages. Words
                whose language is not known have one form.

        Raises:
            IndexUnavailable: If the store does not answer.
        """
        ...

    def is_available(self) -> bool:
        """Return whether the store answers."""
        ...

    # --- Token signatures (late interaction)

    def token_signatures(self, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenSignatures]:
        """Return chunk id → signatures, without chunks that have no signatures.

        Raises:
            IndexUnavailable: If the store does not answer.
        """
        ...

    def chunks_without_signatures(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> tuple[list[uuid.UUID], uuid.UUID | None]:
        """Find chunks without signatures among the `limit` chunks after this one, in the order of their ids.

        Returns:
            The ids of chunks without signatures, and the last examined id, which is None at the end of the source.
        """
        ...

    def add_signatures(self, signatures: Mapping[uuid.UUID, TokenSignatures]) -> int:
        """Write the signatures of chunks that have no signatures, and return the number of these chunks.

        Leaves out chunks that do not exist any more or that another transaction is deleting.
        """
        ...

    # --- Vectors of another model (re-embedding, and the second model of a source)

    def count_chunks_without_vector(self, source_id: uuid.UUID, model: EmbeddingModel) -> int:
        """Return how many chunks of the source have no vector of the model, without chunks of deleted documents."""
        ...

    def has_all_vectors(self, source_id: uuid.UUID, model: EmbeddingModel) -> bool:
        """Return whether `count_chunks_without_vector` is 0, without counting."""
        ...

    def chunks_without_vector(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> list[StoredChunk]:
        """Return the source's next chunks after this one that have no vector of the model, ordered by their ids."""
        ...

    def add_vectors(
        self,
        chunks: Sequence[StoredChunk],
        chunk_vectors: Vectors,
        documents: Sequence[Document],
        *,
        model: EmbeddingModel,
    ) -> int:
        """Write the vectors of the chunks that still exist and belong to these documents.

        Args:
            chunks: Chunks that `chunks_without_vector` returned.
            chunk_vectors: The vectors of the chunks, float32 of shape (len(chunks), dimensions).
            documents: The documents, which the calling code has locked. Their source and FILTER_FIELDS are copied.
            model: The embedding model of the vectors.

        Returns:
            The number of chunks that have a vector of the model now.
        """
        ...

    def delete_vectors(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> uuid.UUID | None:
        """Delete the model's vectors of the next `limit` chunks of the source, in the order of their ids.

        Args:
            after: The chunk that the previous call returned; None for the first call.

        Returns:
            The id of the last examined chunk; None at the end of the source.
        """
        ...

    # --- Maintenance

    def chunks_without_terms(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> list[tuple[uuid.UUID, uuid.UUID]]:
        """Return (chunk id, document id) of the source's next chunks that are not indexed by words, by chunk id."""
        ...

    def add_missing_terms(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> None:
        """Index by words up to `limit` chunks that are not indexed yet. The calling code has locked the documents."""
        ...

    def count_wrong_statistics(self, source_id: uuid.UUID) -> int:
        """Return how many of the source's term statistics do not match its chunks. Others may write meanwhile."""
        ...

    def repair_statistics(self, source_id: uuid.UUID) -> None:
        """Count the source's term statistics again. Other writers of its organisation wait until it ends."""
        ...

    def count_wrong_totals(self, organization_id: uuid.UUID) -> int:
        """Return how many totals of the organisation are wrong: sums of the term statistics of its sources."""
        ...

    def repair_totals(self, organization_id: uuid.UUID) -> None:
        """Compute the totals of the organisation again. Others who write in it wait until the transaction ends."""
        ...

    def vector_indexes(self) -> list[VectorIndex]:
        """Return the state of the vector index of each dimension."""
        ...

    def build_vector_index(self, dimensions: int) -> bool:
        """Build the index while others read and write. Return False if another process is building it."""
        ...

    def drop_vector_index(self, dimensions: int) -> None:
        """Drop the index. Searches are exact, and slower, until it is built again."""
        ...
