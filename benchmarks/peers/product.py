"""The passages, and the product's users who may query a part of their sources."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.figures import in_scope
from benchmarks.search import synthetic_organizations
from benchmarks.search.synthetic_organizations import SCOPES, Library, Reader
from benchmarks.support import corpus

# Each cluster of passages is around a paragraph, so that questions have passages near them.
_CLUSTERS = 300


@dataclass
class Passages:
    """The same for all.

    Attributes:
        texts, vectors, source_of: Of each passage. The last two fields are filled by `write`.
        readers: Those who may query 0.1, 1, 10 and 100 % of the sources, in this order.
    """

    library: Library
    source_count: int
    readers: list[Reader] = field(default_factory=list)
    source_of: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def create(cls, count: int, source_count: int) -> "Passages":
        paragraphs = [document["text"] for document in corpus.documents(limit=_CLUSTERS)]
        centres = embed(paragraphs) * np.sqrt(384)
        return cls(Library(count, centres=centres), source_count)

    @property
    def texts(self) -> list[str]:
        return self.library.texts

    @property
    def vectors(self) -> NDArray[np.float16]:
        vectors: NDArray[np.float16] = self.library.vectors
        return vectors

    def write(self) -> None:
        """Write the sources, grants and passages into the product, and build its index."""
        self.readers = self.library.closed_readers(self.source_count)
        synthetic_organizations.build_index()
        self.source_of = self.library.closed_numbers(self.source_count)

    def scopes(self) -> dict[str, tuple[Reader, NDArray[np.int64]]]:
        """The user of each scope, and the numbers of its passages."""
        return {
            f"{per_mille / 10:g} %": (reader, in_scope(self.source_of, [int(slug[7:]) for slug in reader.slugs]))
            for per_mille, reader in zip(SCOPES, self.readers, strict=True)
        }


def embed(texts: list[str]) -> NDArray[np.float32]:
    """Return vectors of questions or texts, as the web server computes them."""
    from rag.models import EmbeddingModel
    from rag.providers import provider_factory

    return np.asarray(provider_factory.embedder(EmbeddingModel.objects.default()).embed(texts), np.float32)
