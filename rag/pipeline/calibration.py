"""From evidence to probability (docs/architecture.md, "What does a score mean?")."""

import math
from collections.abc import Callable, Sequence

from rag.types import Passage

# logistic(slope x evidence + offset) for the local model: with MaxSim, and without.
_COMPARED, _PLAIN = (2.5, -5.25), (3.65, -5.1)


def curve_of(passages: Sequence[Passage], gear: str) -> Callable[[float], float]:
    """Evidence → probability, rising, for what the best passage's embedding model and gear give."""
    slope, offset = _COMPARED if any(passage.maxsim is not None for passage in passages) else _PLAIN
    return lambda evidence: logistic(slope * evidence + offset)


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-min(60.0, max(-60.0, value))))
