"""How much each word of a question counts among the parts that may answer it."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from .answer_candidates import QuoteCandidate


def word_weights(candidates: Sequence[QuoteCandidate]) -> dict[str, float]:
    """Return the inverse document frequency of each stem of the question, with candidates as documents."""
    frequencies = Counter(stem for candidate in candidates for stem in candidate.stems | candidate.heading_stems)
    return {stem: math.log(1 + len(candidates) / frequency) for stem, frequency in frequencies.items()}


def total(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    """Return the sum of the weights of these stems."""
    # fsum does not depend on the order of a set, which differs from process to process.
    return math.fsum(weights[stem] for stem in stems)
