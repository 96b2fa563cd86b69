"""Judges on this machine's CPU whether a text answers a question, each in any of a hundred languages."""

import hashlib
import importlib.metadata
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag.errors import EmbeddingFailed, EntailmentFailed
from rag.providers.embedders.onnx_session import open_session
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from ragsite.cache.prepared_folders import prepared_folder

from .model_file import FILE_SHA256, ModelFile, find_model_file
from .pieces import PieceSplitter
from .windows import Windows

if TYPE_CHECKING:
    import onnxruntime

_NAME = "multilingual-check"
GRAPH, PIECES = "model.onnx", "pieces.npy"
# What was trained: the differences of the layers' weights from those of multilingual-e5-small.
DIFFERENCES = Path(__file__).with_name("differences.npz")
# Increased when graph.py writes other files of the same weights.
_VERSION = 2
_START, _END = 0, 2
_MAX_TOKENS, _MAX_QUESTION_TOKENS, _MAX_HEADING_TOKENS = 88, 40, 16


class _Model(NamedTuple):
    session: "onnxruntime.InferenceSession"
    file: ModelFile
    splitter: PieceSplitter
    windows: Windows


class MultilingualCheck:
    """A model that reads a question and a text together (docs/decisions/0089-multilingual-check.md).

    The first call creates the session, so that a forked worker has its own. Calls may run in parallel threads.
    """

    def __init__(self, *, cache: Path, threads: int) -> None:
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()

    def logit(self, question: str, text: str) -> float:
        """Return how surely the beginning of the text answers the question: the logit of a probability, about -5…5.

        Raises:
            EmbeddingFailed: If the model's file is not the published one.
            EntailmentFailed: If the model cannot be loaded.
        """
        splitter = self._model.splitter
        return self._judge(splitter.ids(question), splitter.ids(text))

    def logits(self, question: str, texts: Sequence[tuple[str, str]]) -> list[float]:
        """Return the same for texts of any length with a heading: the part is read that the question is about.

        Args:
            question: The question.
            texts: The heading, which may be empty, and the text below it.

        Returns:
            A logit for each text.

        Raises:
            EmbeddingFailed: If the model's file is not the published one.
            EntailmentFailed: If the model cannot be loaded.
        """
        _, _, splitter, windows = self._model
        question_ids = splitter.ids(question)
        logits = []
        for heading, text in texts:
            above = splitter.ids(heading)[:_MAX_HEADING_TOKENS]
            size = _MAX_TOKENS - len(question_ids[:_MAX_QUESTION_TOKENS]) - len(above) - len((_START, _END, _END, _END))
            logits.append(
                self._judge(question_ids, [*above, *windows.find_best(question_ids, splitter.ids(text), size)])
            )
        return logits

    def compare(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how similar the words of a question are to those of texts, in any language: 0…1, mostly 0.1 to 0.6.

        No layer of the model is needed, so a text takes one CPU-millisecond instead of nine.

        Args:
            question: The question.
            texts: Texts of any length.

        Raises:
            EmbeddingFailed: If the model's file is not the published one.
            EntailmentFailed: If the model cannot be loaded.
        """
        _, _, splitter, windows = self._model
        question_ids = splitter.ids(question)
        return [windows.compare(question_ids, splitter.ids(text)) for text in texts]

    def _judge(self, question: Sequence[int], text: Sequence[int]) -> float:
        session, file, _, _ = self._model
        embedded = file.embed(join(question, text))[np.newaxis]
        with DOCUMENT_LIMITER.slot():
            (logits,) = session.run(["logit"], {"embedded": embedded})
        return float(logits[0, 0])

    def build(self) -> None:
        """Write the model's files into the cache, if they are not there yet, which takes three seconds.

        Raises:
            EmbeddingFailed: If the model's file is not the published one.
            OSError: If they cannot be written.
        """
        _prepared(self._cache)

    @property
    def _model(self) -> _Model:
        with self._lock:
            if "_loaded" not in self.__dict__:
                try:
                    self._loaded = _load(self._cache, self._threads)
                except (OSError, RuntimeError) as error:
                    raise EntailmentFailed(
                        "The model that checks answers cannot be loaded; the log says why."
                    ) from error
            return self._loaded


def join(question: Sequence[int], text: Sequence[int]) -> list[int]:
    """Return what the model reads: the pieces of the question, and the first ones of the text."""
    first = [_START, *question[:_MAX_QUESTION_TOKENS], _END]
    return [*first, _END, *text[: _MAX_TOKENS - len(first) - 2], _END]


def _load(cache: Path, threads: int) -> _Model:
    folder = _prepared(cache)
    session = open_session(folder / GRAPH, threads=threads, is_optimized=False)
    file = ModelFile(find_model_file())
    table = np.load(folder / PIECES, mmap_mode="r")
    return _Model(session, file, PieceSplitter(table, file.replacements), Windows(file))


def _prepared(cache: Path) -> Path:
    """Return the folder with the model's files in the cache, which are written if they are not there yet."""
    digest = hashlib.sha256(DIFFERENCES.read_bytes()).hexdigest()[:12]
    name = f"{_NAME}.v{_VERSION}.{digest}.{FILE_SHA256[:8]}.ort{importlib.metadata.version('onnxruntime')}"
    return prepared_folder(cache, name, _build, replaces=(f"{_NAME}.v*",))


def _build(target: Path) -> None:
    """Write the files in a process of its own: this one would keep the memory that it takes."""
    command = [sys.executable, "-m", "rag.providers.entailment.multilingual.graph", str(find_model_file()), str(target)]
    try:
        subprocess.run(command, cwd=Path(__file__).parents[4], check=True)
    except subprocess.CalledProcessError as error:
        raise EmbeddingFailed("The model that checks answers cannot be built; the log says why.") from error
