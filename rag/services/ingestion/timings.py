"""How long each stage of a document took."""

import contextlib
import time
from collections.abc import Iterator


class Clock:
    """milliseconds: of each stage, summed over the times that it was gone through."""

    def __init__(self) -> None:
        self.milliseconds: dict[str, int] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        begun = time.monotonic()
        try:
            yield
        finally:
            self.add(name, time.monotonic() - begun)

    def add(self, name: str, seconds: float) -> None:
        self.milliseconds[name] = self.milliseconds.get(name, 0) + round(seconds * 1000)
