"""What a peer does for the benchmark, as its documentation shows it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

DIMENSIONS, TOP_K = 384, 10
# The model reads 256 tokens, its two special ones among them.
CHUNK_TOKENS = 254
DOCUMENTS, PASSAGES = "documents", "passages"


class Place(NamedTuple):
    """Where a peer's data and its model are. `database` is a SQLAlchemy URL without the scheme."""

    folder: Path
    model: str
    database: str


class Store(Protocol):
    def ingest(self, documents: Sequence[dict[str, str]]) -> int:
        """Split, embed and store documents. Return the number of chunks."""

    def load(self, texts: Sequence[str], vectors: Any, sources: Sequence[str]) -> None:
        """Store passages whose vectors are given, and build the index."""

    def embed(self, question: str) -> list[float]: ...

    def search(self, vector: list[float], sources: Sequence[str] | None) -> list[str]:
        """Return the texts of the best passages of these sources, or of all."""


def batches(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]
