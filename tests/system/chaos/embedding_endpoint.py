"""An embedding endpoint that delays requests which contain a marker word."""

import functools
import hashlib
import threading
import time
from typing import Any

import numpy as np

from tests.support.servers.provider_server import ProviderServer


class Endpoint(ProviderServer):
    def __init__(self, address: str = "127.0.0.1") -> None:
        super().__init__(dimensions=384, address=address)
        self._server.handle_error = _ignore  # type: ignore[method-assign,assignment]
        self._word = ""
        self._opened = threading.Event()
        self._reached = threading.Event()
        self.latency, self.seconds_per_text = 0.0, 0.0
        self.answered_batch_sizes: list[int] = []  # texts of each answered request since the last `hold`

    def hold(self, word: str) -> None:
        """Delay requests with this word in a text until `release`."""
        self._opened.clear()
        self._reached.clear()
        self.answered_batch_sizes.clear()
        self._word = word

    def reached(self) -> bool:
        """Return whether such a request is waiting."""
        return self._reached.is_set()

    def release(self) -> None:
        self._word = ""
        self._opened.set()

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        self.requests.clear()  # a long run would keep every text
        texts = body.get("input", [])
        if self._word and any(self._word in text for text in texts):
            self._reached.set()
            self._opened.wait(25)
        time.sleep(self.latency + self.seconds_per_text * len(texts))
        self.answered_batch_sizes.append(len(texts))
        return super().answer(path, body)

    def _vector(self, text: str) -> np.ndarray:
        return np.asarray(np.sum([_direction(word, self.dimensions) for word in text.split() or [""]], axis=0).round(2))


def _ignore(*_: object) -> None:
    """Killed clients break their connections: not worth a traceback."""


@functools.lru_cache(maxsize=20_000)
def _direction(word: str, dimensions: int) -> np.ndarray:
    seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
    return np.random.default_rng(seed).standard_normal(dimensions)
