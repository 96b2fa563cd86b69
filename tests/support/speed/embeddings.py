"""Lets a test process compute the same embeddings once: many tests embed the same few words."""

import functools
from typing import Any

import numpy as np

from rag.providers.embedders.local import LocalEmbedder

_MAX_TOKENS = 512  # of a batch that is kept; its tokens' vectors take 1.5 KB each
_KEPT_BATCHES = 512


class _CachingSession:
    """A session of the local model that keeps what it has computed. The vectors must not be changed."""

    def __init__(self, session: Any) -> None:
        self._run = session.run
        self._run_kept = functools.lru_cache(maxsize=_KEPT_BATCHES)(self._run_batch)

    def run(self, outputs: list[str], inputs: dict[str, Any]) -> list[Any]:
        ids = inputs["input_ids"]
        if ids.size > _MAX_TOKENS:
            return list(self._run(outputs, inputs))
        return list(self._run_kept(tuple(outputs), ids.shape, ids.tobytes()))

    def _run_batch(self, outputs: tuple[str, ...], shape: tuple[int, int], data: bytes) -> list[Any]:
        ids = np.frombuffer(data, np.int64).reshape(shape)
        results = self._run(list(outputs), {"input_ids": ids, "attention_mask": np.ones_like(ids)})
        for result in results:
            result.flags.writeable = False
        return list(results)


def keep_embeddings() -> None:
    """Let every local embedder of this process keep the embeddings of small batches."""
    embedder: Any = LocalEmbedder
    load = embedder.load_session
    embedder.load_session = lambda self: _CachingSession(load(self))
