"""What reading one document may cost."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """seconds: wall clock, and of CPU. memory: bytes beyond what an idle reader has. text: most bytes of UTF-8 out."""

    seconds: float
    memory: int
    text: int

    @property
    def unpacked(self) -> int:
        """Most bytes that the members of a ZIP container may unpack to, all together."""
        return max(self.memory // 2, 1)
