"""Step: texts of documents -> vectors and token signatures, one batch per call of the embedder."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import structlog
from numpy.typing import NDArray

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.providers import provider_factory
from rag.providers.base import HalfVectors, Vectors
from rag.providers.stores import vector_files
from rag.types.token_vectors import TokenSignatures

logger = structlog.get_logger(__name__)

# The signatures and second vectors of a document with more chunks would take too much of the worker's memory: they are
# backfilled later.
_MAX_CHUNKS_WITH_EXTRAS = 10_000
# After how many texts the vectors of a long document are left to their file.
_RELEASE_EVERY = 10_000


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """The vectors of texts, and their token signatures.

    Attributes:
        vectors: Float16 (texts, dimensions), as they are stored.
        signatures: The signatures of each text; empty if the model's chunks have no signatures.
        second_vectors: The vectors of the second model; None if there is none, or if they are backfilled later.
    """

    vectors: HalfVectors
    signatures: Sequence[TokenSignatures]
    second_vectors: HalfVectors | None = None

    def select(self, indexes: NDArray[np.intp]) -> "EmbeddedTexts":
        """Return the texts at these indexes, in this order. If those are all, nothing is copied.

        The vectors of a long document stay in a file.
        """
        if np.array_equal(indexes, np.arange(len(self.vectors))):
            return self
        vectors = vector_files.allocate(len(indexes), self.vectors.shape[1])
        for start in range(0, len(indexes), _RELEASE_EVERY):
            part = slice(start, start + _RELEASE_EVERY)
            vectors[part] = self.vectors[indexes[part]]
            vector_files.release_memory(vectors)
            vector_files.release_memory(self.vectors)
        signatures = [self.signatures[index] for index in indexes] if self.signatures else ()
        second_vectors = None if self.second_vectors is None else self.second_vectors[indexes]
        return EmbeddedTexts(vectors, signatures, second_vectors)


def embed_texts(
    texts: Iterable[str],
    count: int,
    *,
    model: EmbeddingModel,
    second_model: EmbeddingModel | None = None,
    on_batch: Callable[[int], None],
) -> EmbeddedTexts:
    """Embed texts of documents.

    Args:
        texts: The texts, without the model's prefix.
        count: The number of texts.
        model: The embedding model.
        second_model: A model that embeds the texts in addition. If it fails, its vectors are left out.
        on_batch: Called between batches with the number of texts done so far; an exception from it ends the work.

    Raises:
        EmbeddingFailed: If the model did not answer.
    """
    with_extras = count <= _MAX_CHUNKS_WITH_EXTRAS
    vectors = vector_files.allocate(count, model.dimensions)
    second_vectors = np.empty((count, second_model.dimensions), np.float16) if second_model and with_extras else None
    signatures: list[TokenSignatures] = []
    remaining, batch_size = iter(texts), provider_factory.embedder(model).batch_size
    done = 0
    while batch := list(itertools.islice(remaining, batch_size)):
        if done:
            on_batch(done)
        batch_vectors, batch_signatures = _embed_batch(batch, model, with_signatures=with_extras)
        vectors[done : done + len(batch)] = batch_vectors
        signatures += batch_signatures
        if second_model and second_vectors is not None:
            try:
                prefixed = [second_model.document_prefix + text for text in batch]
                second_vectors[done : done + len(batch)] = provider_factory.embedder(second_model).embed(prefixed)
            except EmbeddingFailed as error:
                logger.warning("second_vectors_postponed", reason=error.message)
                second_vectors = None
        done += len(batch)
        if done // _RELEASE_EVERY > (done - len(batch)) // _RELEASE_EVERY:
            vector_files.release_memory(vectors)
    return EmbeddedTexts(vectors, signatures, second_vectors)


def estimate_local_tokens(texts: Sequence[str], *, model: EmbeddingModel) -> int:
    """Estimate how many tokens `embed_texts` processes on this machine; 0 if it processes none here.

    Whatever model embeds the texts, they are counted once, with the model's prefix, as tokens of the English model.
    """
    if not uses_local_model(model):
        return 0
    return provider_factory.local_embedder().count_tokens([model.document_prefix + text for text in texts])


def uses_local_model(model: EmbeddingModel) -> bool:
    """Return whether texts of documents are embedded on this machine, or their token signatures computed here."""
    return model.provider == EmbeddingModel.Provider.LOCAL or provider_factory.token_embedder(model) is not None


def _embed_batch(
    texts: Sequence[str], model: EmbeddingModel, *, with_signatures: bool
) -> tuple[Vectors, Sequence[TokenSignatures]]:
    embedder = provider_factory.embedder(model)
    token_embedder = provider_factory.token_embedder(model) if with_signatures else None
    prefixed = [model.document_prefix + text for text in texts]
    if token_embedder is embedder:
        return token_embedder.embed_with_token_signatures(prefixed)
    vectors = embedder.embed(prefixed)
    return vectors, token_embedder.embed_with_token_signatures(texts)[1] if token_embedder else ()


def embed_token_signatures(texts: Sequence[str], model: EmbeddingModel) -> Sequence[TokenSignatures]:
    """Return the signatures that `embed_texts` returns for these texts, without the vectors.

    The result is empty if the model's chunks have no signatures.

    Raises:
        EmbeddingFailed: If the local model cannot be loaded.
    """
    token_embedder = provider_factory.token_embedder(model)
    # As in `_embed_batch`: a model that embeds both at once reads the texts with its prefix.
    if token_embedder is provider_factory.embedder(model):
        texts = [model.document_prefix + text for text in texts]
    return token_embedder.embed_with_token_signatures(texts)[1] if token_embedder else ()
