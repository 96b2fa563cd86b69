"""Sequences that hold the chunks of a long document without an object, or a second copy of the text, for each."""

import array
import uuid
from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from rag.types import ChunkDraft, DocumentText

_DIGEST_BYTES = 16
# What is stored for a chunk without pages: page numbers start at 1.
_NO_PAGE = 0


class ChunkSequence(Sequence[ChunkDraft]):
    """The chunks of a text, from 0 on. A chunk takes 28 bytes; its text is cut out of the document's when read."""

    def __init__(self, document_text: DocumentText, chunks: Iterable[ChunkDraft]) -> None:
        self._document_text = document_text
        # start, end, tokens, first page, last page of each chunk
        self._numbers = array.array("i")
        self._headings: list[tuple[str, ...]] = []
        headings: tuple[str, ...] = ()
        for chunk in chunks:
            first_page, last_page = chunk.pages or (_NO_PAGE, _NO_PAGE)
            self._numbers.extend((chunk.start, chunk.end, chunk.tokens, first_page, last_page))
            headings = headings if chunk.headings == headings else chunk.headings  # neighbours share one tuple
            self._headings.append(headings)

    def __len__(self) -> int:
        return len(self._headings)

    @overload
    def __getitem__(self, index: int) -> ChunkDraft: ...
    @overload
    def __getitem__(self, index: slice) -> list[ChunkDraft]: ...
    def __getitem__(self, index: int | slice) -> ChunkDraft | list[ChunkDraft]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        position = range(len(self))[index]
        start, end, tokens, first_page, last_page = self._numbers[5 * position : 5 * position + 5]
        pages = (first_page, last_page) if first_page != _NO_PAGE else None
        text = self._document_text[start:end]
        return ChunkDraft(position, start, end, text, self._headings[position], tokens, pages)


class DigestSequence(Sequence[uuid.UUID]):
    """UUIDs of 16 bytes each."""

    def __init__(self, digests: Iterable[uuid.UUID] = ()) -> None:
        self._bytes = bytearray()
        for digest in digests:
            self._bytes += digest.bytes

    def to_bytes(self) -> bytes:
        """Return the bytes of all of them."""
        return bytes(self._bytes)

    def __len__(self) -> int:
        return len(self._bytes) // _DIGEST_BYTES

    @overload
    def __getitem__(self, index: int) -> uuid.UUID: ...
    @overload
    def __getitem__(self, index: slice) -> list[uuid.UUID]: ...
    def __getitem__(self, index: int | slice) -> uuid.UUID | list[uuid.UUID]:
        if isinstance(index, slice):
            return [self[position] for position in range(*index.indices(len(self)))]
        start = range(len(self))[index] * _DIGEST_BYTES
        return uuid.UUID(bytes=bytes(self._bytes[start : start + _DIGEST_BYTES]))


def find_first_of_equal(digests: Iterable[uuid.UUID]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Find the first of each group of equal digests.

    Returns:
        For each digest: whether it is the first of its group, and the number of its group, in the order of the first
        ones.
    """
    values = np.frombuffer(DigestSequence(digests).to_bytes(), np.dtype((np.void, _DIGEST_BYTES)))
    _, first_places, inverse = np.unique(values, return_index=True, return_inverse=True)
    is_first = np.zeros(len(values), bool)
    is_first[first_places] = True
    return is_first, (np.cumsum(is_first) - 1)[first_places][inverse]
