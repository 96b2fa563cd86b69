"""How long each stage of a document took."""

import contextlib
import time
from collections.abc import Iterator


class StageTimings:
    """Measures the stages of one document.

    Attributes:
        milliseconds: Stage → milliseconds, summed over all times that the stage was run.
    """

    def __init__(self) -> None:
        self.milliseconds: dict[str, int] = {}

    @contextlib.contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time that the block takes to the stage, even if the block raises."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.add(stage, time.monotonic() - started)

    def add(self, stage: str, seconds: float) -> None:
        """Add a measured time to the stage."""
        self.milliseconds[stage] = self.milliseconds.get(stage, 0) + round(seconds * 1000)
