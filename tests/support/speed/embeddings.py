"""Lets a test process compute the same embeddings once: many tests embed the same few words, or the same long texts."""

import functools
from typing import Any

import numpy as np

from rag.providers.embedders.local import LocalEmbedder

# Batches that are kept. The vectors of a batch's tokens take 1.5 KB each, and a batch has at most about 2,000 tokens.
_SHORT_TOKENS = 512
_KEPT_SHORT_BATCHES, _KEPT_LONG_BATCHES = 512, 48


class _CachingSession:
    """A session of the local model that keeps what it has computed. The vectors must not be changed."""

    def __init__(self, session: Any) -> None:
        self._run = session.run
        self._run_short = functools.lru_cache(maxsize=_KEPT_SHORT_BATCHES)(self._run_batch)
        self._run_long = functools.lru_cache(maxsize=_KEPT_LONG_BATCHES)(self._run_batch)

    def run(self, outputs: list[str], inputs: dict[str, Any]) -> list[Any]:
        ids = inputs["input_ids"]
        run = self._run_short if ids.size <= _SHORT_TOKENS else self._run_long
        return list(run(tuple(outputs), ids.shape, ids.tobytes()))

    def _run_batch(self, outputs: tuple[str, ...], shape: tuple[int, int], data: bytes) -> list[Any]:
        ids = np.frombuffer(data, np.int64).reshape(shape)
        results = self._run(list(outputs), {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for result in results:
            result.flags.writeable = False
        return list(results)


def keep_embeddings() -> None:
    """Let every local embedder of this process keep the embeddings of its latest batches."""
    embedder: Any = LocalEmbedder
    load = embedder.load_session
    embedder.load_session = lambda self: _CachingSession(load(self))
