"""Step: candidates by meaning and by words → one order."""

from collections.abc import Sequence

# What each half counts for (docs/architecture.md, "Ranking").
_DENSE, _LEXICAL = 0.5, 0.5


def mixed(cosines: Sequence[float], scores: Sequence[float]) -> list[float]:
    """0…1, of candidates whose two figures were each brought to 0…1."""
    return [_DENSE * cosine + _LEXICAL * score for cosine, score in zip(cosines, scores, strict=True)]


def spread(values: Sequence[float]) -> list[float]:
    """Moved and scaled so that the lowest is 0 and the highest 1. Where all are alike, 1, or 0 if they are nothing."""
    lowest, highest = min(values, default=0.0), max(values, default=0.0)
    width = highest - lowest
    return [(value - lowest) / width if width else float(value > 0) for value in values]
