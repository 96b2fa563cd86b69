"""What a chunk store must do: keep the chunks of documents in its index, and search them by meaning and by words.

`rag.pipeline` and `rag.services` use a store through this protocol alone; `rag.providers.registry.chunk_store` returns
the one in use. tests/providers/stores/test_conformance.py defines what a store must pass.
"""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rag.models import Document, EmbeddingModel
from rag.providers.base import HalfVectors, Vectors
from rag.types import ChunkDraft, Mode, SearchScope
from rag.types.token_vectors import TokenSignatures


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """The chunks that a saved document is to consist of.

    Attributes:
        document: Saved already, with the values of this version.
        chunks: All of them, in their order.
        digests: Of each chunk, of exactly what is embedded (rag.text.embedded_text.digest).
        new_indexes: Indexes of the chunks that are new. The others are among `embedded_digests`, and keep their row.
        vectors: float16 (len(new_indexes), dimensions), of length 1.
        signatures: Token signatures of the new chunks, or empty: chunks may have none.
        is_new: Whether the document had no chunks before.
        has_new_title: Whether its chunks were stored under another title.
    """

    document: Document
    chunks: Sequence[ChunkDraft]
    digests: Sequence[uuid.UUID]
    new_indexes: Sequence[int]
    vectors: HalfVectors
    signatures: Sequence[TokenSignatures] = ()
    is_new: bool = False
    has_new_title: bool = False


@dataclass(frozen=True, slots=True)
class MetadataUpdate:
    """A saved document whose content is unchanged, but not its type, language, tags, date or title."""

    document: Document
    has_new_title: bool = False
    has_new_lang: bool = False


@dataclass(frozen=True, slots=True)
class ScopeQuery:
    """A query in one scope.

    Attributes:
        vector: float32 (dimensions,), of length 1, of the scope's model. None searches by words alone.
    """

    scope: SearchScope
    vector: Vectors | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk with both of its scores.

    Attributes:
        cosine: -1...1; 0 without a query vector.
        lexical_score: BM25, 0 if it has none of the query's words.
        coverage: 0...1, the share of the query's words that it has, each weighted by its IDF.
    """

    chunk_id: uuid.UUID
    cosine: float
    lexical_score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """What a search found in one scope.

    Attributes:
        chunks: The union of both searches without duplicates: first the nearest by vector, then the others.
        dense_ids: Found by vector, nearest first.
        lexical_ids: Found by words, best first.
    """

    chunks: tuple[Candidate, ...]
    dense_ids: tuple[uuid.UUID, ...]
    lexical_ids: tuple[uuid.UUID, ...]


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it was embedded. title: of its document."""

    id: uuid.UUID
    document_id: uuid.UUID
    text: str
    headings: tuple[str, ...]
    title: str


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """An approximate-nearest-neighbour index, built or not.

    Attributes:
        row_count: About how many vectors there are now.
        inserted_count: How many were ever inserted, since the database's statistics began.
    """

    dimensions: int
    is_built: bool
    row_count: int
    inserted_count: int


class ChunkStore(Protocol):
    """The index of chunks: vectors, terms and token signatures, with what searches filter by.

    Writes take part in the caller's database transaction: readers see the old chunks of a document or the new ones,
    never a mixture. The caller prevents concurrent writes to the same document. `write` and `update_metadata` update
    the term statistics of the source last, and other writers of the source wait from then until the transaction ends:
    call each at most once per transaction and towards its end.
    """

    @property
    def dimensions(self) -> Sequence[int]:
        """The lengths of vectors that the store can keep."""
        ...

    # --- Writing

    def embedded_digests(self, document: Document, *, model: EmbeddingModel) -> Counter[uuid.UUID]:
        """Return the digests of the document's chunks that have a vector of the model, and how often each occurs."""
        ...

    def write(self, versions: Sequence[DocumentVersion], *, model: EmbeddingModel) -> None:
        """Make each document consist of its version's chunks and no others, with vectors, terms and signatures."""
        ...

    def update_metadata(self, updates: Sequence[MetadataUpdate]) -> None:
        """Copy what searches filter by from the documents; index new titles and languages in their chunks' terms."""
        ...

    def delete_document_chunks(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> int:
        """Delete up to `limit` chunks of these documents; return how many. Fewer than `limit`: none is left."""
        ...

    def delete_source_chunks(self, source_id: uuid.UUID, *, limit: int) -> int:
        """Delete up to `limit` chunks of the source; return how many.

        Fewer than `limit`: nothing of the source is left in the store, its statistics included.
        """
        ...

    # --- Searching

    def search(self, text: str, queries: Sequence[ScopeQuery], *, mode: Mode, limit: int) -> list[Candidates]:
        """Find up to `limit` chunks per scope by vector, and as many by words; score each by both.

        The IDF of a word comes from the sources of all scopes together and no others, so lexical scores of different
        scopes are comparable; cosines of different models are not. Equal scores are ordered by chunk id.

        Args:
            text: The query.
            queries: One per scope; the result has the same order.
            mode: DENSE finds candidates by vector alone, LEXICAL by words alone. Both scores are returned in any case.
            limit: Per scope and kind of search. A scope with fewer matching chunks returns them all.

        Raises:
            IndexUnavailable: The store does not answer.
        """
        ...

    def is_available(self) -> bool:
        """Return whether the store answers."""
        ...

    # --- Token signatures (late interaction)

    def token_signatures(self, chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenSignatures]:
        """Return the signatures of those of the chunks that have any.

        Raises:
            IndexUnavailable: The store does not answer.
        """
        ...

    def chunks_without_signatures(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> tuple[list[uuid.UUID], uuid.UUID | None]:
        """Look at the source's next `limit` chunks, in the order of their ids, from after this one.

        Returns:
            The ids of those without signatures, and the last id looked at: None at the end of the source.
        """
        ...

    def add_signatures(self, signatures: Mapping[uuid.UUID, TokenSignatures]) -> int:
        """Write the signatures of chunks that have none; return how many were written.

        Leaves out chunks that do not exist any more or that another transaction is deleting.
        """
        ...

    # --- Vectors of a second model (re-embedding)

    def count_chunks_without_vector(self, source_id: uuid.UUID, model: EmbeddingModel) -> int:
        """Return how many chunks of the source's documents, deleted documents aside, have no vector of the model."""
        ...

    def has_all_vectors(self, source_id: uuid.UUID, model: EmbeddingModel) -> bool:
        """Return whether `count_chunks_without_vector` is 0, without counting."""
        ...

    def chunks_without_vector(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> list[StoredChunk]:
        """Return the source's next chunks without a vector of the model, by their ids, from after this one."""
        ...

    def add_vectors(
        self,
        chunks: Sequence[StoredChunk],
        chunk_vectors: Vectors,
        documents: Sequence[Document],
        *,
        model: EmbeddingModel,
    ) -> int:
        """Write the vectors of those chunks that still exist and belong to these documents; return how many.

        Args:
            chunks: Of `chunks_without_vector`.
            chunk_vectors: float32 (len(chunks), dimensions).
            documents: Locked by the caller, with their source and FILTER_FIELDS, which are copied.
            model: Whose vectors they are.
        """
        ...

    def delete_vectors(
        self, source_id: uuid.UUID, model: EmbeddingModel, *, after: uuid.UUID | None, limit: int
    ) -> uuid.UUID | None:
        """Delete the model's vectors of the source's next `limit` chunks, in the order of their ids.

        Returns:
            The last chunk looked at; None at the end of the source.
        """
        ...

    # --- Maintenance

    def chunks_without_terms(
        self, source_id: uuid.UUID, *, after: uuid.UUID, limit: int
    ) -> list[tuple[uuid.UUID, uuid.UUID]]:
        """Return (chunk id, document id) of the source's next chunks that are not indexed by words, by chunk id."""
        ...

    def add_missing_terms(self, document_ids: Sequence[uuid.UUID], *, limit: int) -> None:
        """Index by words up to `limit` chunks of these documents that are not yet. The caller has locked them."""
        ...

    def count_wrong_statistics(self, source_id: uuid.UUID) -> int:
        """Return how many of the source's term statistics differ from its chunks. Correct while others write."""
        ...

    def repair_statistics(self, source_id: uuid.UUID) -> None:
        """Count the source's term statistics again. Other writers of the source wait until the transaction ends."""
        ...

    def vector_indexes(self) -> list[VectorIndex]:
        """Return the state of the vector index of each dimension."""
        ...

    def build_vector_index(self, dimensions: int) -> bool:
        """Build the index while others read and write; return False if another process is building it."""
        ...

    def drop_vector_index(self, dimensions: int) -> None:
        """Drop the index. Searches are exact, and slower, until it is built again."""
        ...
