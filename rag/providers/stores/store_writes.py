"""What is written to a chunk store: the versions of documents, and the chunks that are embedded again."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag.models import Document
from rag.providers.base import HalfVectors
from rag.types import ChunkDraft
from rag.types.token_vectors import TokenSignatures


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """The chunks that a saved document is to consist of.

    Attributes:
        document: The document. It is saved already, with the values of this version.
        chunks: All chunks, in their order.
        digests: The digest of each chunk's embedded text (rag.text.indexed_text.digest).
        new_indexes: The indexes of the new chunks. The other chunks are among `embedded_digests`, and keep their row.
        vectors: The vectors of the new chunks, float16 of shape (len(new_indexes), dimensions), of length 1.
        signatures: The token signatures of the new chunks; empty if the model's chunks have no signatures.
        second_vectors: The vectors of the new chunks by the source's second model; None if they are added later.
        is_new: Whether the document had no chunks before.
        has_new_title: Whether its chunks were stored under another title.
    """

    document: Document
    chunks: Sequence[ChunkDraft]
    digests: Sequence[uuid.UUID]
    new_indexes: Sequence[int]
    vectors: HalfVectors
    signatures: Sequence[TokenSignatures] = ()
    second_vectors: HalfVectors | None = None
    is_new: bool = False
    has_new_title: bool = False

    def with_new_chunks(self, start: int, end: int) -> "DocumentVersion":
        """Return the version with only these of its new chunks, as places in `new_indexes`."""
        return replace(
            self,
            new_indexes=self.new_indexes[start:end],
            vectors=self.vectors[start:end],
            signatures=self.signatures[start:end],
            second_vectors=None if self.second_vectors is None else self.second_vectors[start:end],
        )


@dataclass(frozen=True, slots=True)
class MetadataUpdate:
    """A saved document with the same content, but with another type, language, tags, date or title."""

    document: Document
    has_new_title: bool = False
    has_new_lang: bool = False


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as it was embedded, with the title of its document."""

    id: uuid.UUID
    document_id: uuid.UUID
    text: str
    headings: tuple[str, ...]
    title: str
