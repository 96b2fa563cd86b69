"""Judges on this machine's CPU whether a text answers a question. English only."""

import functools
import hashlib
import importlib.metadata
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from rag.errors import EntailmentFailed
from rag.providers.embedders.minilm_files import find_model_folder, write_in_own_process
from rag.providers.embedders.onnx_session import open_session
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from ragsite.cache.prepared_folders import prepared_folder

if TYPE_CHECKING:
    import onnxruntime

_NAME, _GRAPH = "answer-check", "model.onnx"
# What was trained: the differences of the layers' weights from those of all-MiniLM-L6-v2.
DIFFERENCES = Path(__file__).with_name("answer_check.npz")
# Increased when answer_check_graph.py builds another graph of the same weights.
_GRAPH_VERSION = 2
# The model was trained with up to 112 tokens. It judges as well by the first 72, and takes less time.
_MAX_TOKENS, _MAX_QUESTION_TOKENS = 72, 40


class AnswerCheck:
    """A model that reads a question and a text together (docs/decisions/0087-answer-check.md).

    The first call creates the session, so that a forked worker has its own. Calls may run in parallel threads. A
    process needs 40 MB for it.
    """

    def __init__(self, *, cache: Path, threads: int) -> None:
        self._cache = cache
        self._threads = threads
        self._lock = threading.Lock()

    def logit(self, question: str, text: str) -> float:
        """Return how surely the beginning of the text answers the question: the logit of a probability, about -5…5.

        Raises:
            EmbeddingFailed: If the local model's weights are not the published ones.
            EntailmentFailed: If the model cannot be loaded.
        """
        session = self._session
        of_question, of_text = self._tokenizer.encode_batch_fast([question, text], add_special_tokens=False)
        first = [self._cls, *of_question.ids[:_MAX_QUESTION_TOKENS], self._sep]
        second = [*of_text.ids[: _MAX_TOKENS - len(first) - 1], self._sep]
        ids = np.array([[*first, *second]], np.int64)
        segments = np.array([[0] * len(first) + [1] * len(second)], np.int64)
        with DOCUMENT_LIMITER.slot():
            (logits,) = session.run(["logit"], {"input_ids": ids, "token_type_ids": segments})
        return float(logits[0, 0])

    def build(self) -> None:
        """Write the model's file into the cache, if it is not there yet, which takes two seconds.

        Raises:
            EmbeddingFailed: If the local model's weights are not the published ones.
            OSError: If the file cannot be written.
        """
        _graph_file(self._cache)

    @functools.cached_property
    def _tokenizer(self) -> Tokenizer:
        tokenizer = Tokenizer.from_file(str(find_model_folder() / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._cls, self._sep = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        return tokenizer

    @property
    def _session(self) -> "onnxruntime.InferenceSession":
        with self._lock:
            if "_loaded" not in self.__dict__:
                try:
                    self._loaded = open_session(_graph_file(self._cache), threads=self._threads, is_optimized=False)
                except (OSError, RuntimeError) as error:
                    raise EntailmentFailed(
                        "The model that checks answers cannot be loaded; the log says why."
                    ) from error
            return self._loaded


def _graph_file(cache: Path) -> Path:
    """Return the model's graph in the cache, built from the verified weights if it is not there yet."""
    digest = hashlib.sha256(DIFFERENCES.read_bytes()).hexdigest()[:12]
    name = f"{_NAME}.v{_GRAPH_VERSION}.{digest}.ort{importlib.metadata.version('onnxruntime')}"
    return prepared_folder(cache, name, _build, replaces=(f"{_NAME}.v*",)) / _GRAPH


def _build(target: Path) -> None:
    write_in_own_process("rag.providers.entailment.answer_check_graph", target / _GRAPH)
