"""Step: passages -> the same with their relative similarities, which say how far each exceeds the other candidates."""

from collections.abc import Sequence

from rag.types import Passage

# Cosine and weighted MaxSim of the local model between a question and a text that is only about a similar topic. They
# count as several candidates, so that even a single passage is compared with something.
_PRIOR_COSINE = 0.30
_PRIOR_MAXSIM = 0.33
_PRIOR_COUNT = 5
# MaxSim weighs most (docs/decisions/0027-grounding.md). Where it is missing, the cosine has more weight.
_MAXSIM_WEIGHT = 3.0
_COSINE_WEIGHT = 0.6
_COSINE_ONLY_WEIGHT = 1.0
_MAX_MEAN = 0.95


def add_relative_similarities(passages: Sequence[Passage], count: int | None = None) -> list[Passage]:
    """Score each passage against all of them.

    Args:
        passages: All candidates.
        count: The number of passages to return, from the first; None for all.
    """
    mean_cosine = _mean([passage.score for passage in passages], _PRIOR_COSINE)
    maxsims = [maxsim for passage in passages if (maxsim := _best_maxsim(passage)) is not None]
    mean_maxsim = _mean(maxsims, _PRIOR_MAXSIM)
    return [
        passage.copy_with(relative_similarity=_score(passage, mean_cosine, mean_maxsim)) for passage in passages[:count]
    ]


def relative_similarity_alone(passage: Passage) -> float:
    """Return the relative similarity of a passage that was not found among others."""
    return _score(passage, _PRIOR_COSINE, _PRIOR_MAXSIM)


def _score(passage: Passage, mean_cosine: float, mean_maxsim: float) -> float:
    maxsim = _best_maxsim(passage)
    if maxsim is None:
        return _COSINE_ONLY_WEIGHT * _excess(passage.score, mean_cosine)
    return _MAXSIM_WEIGHT * _excess(maxsim, mean_maxsim) + _COSINE_WEIGHT * _excess(passage.score, mean_cosine)


def _best_maxsim(passage: Passage) -> float | None:
    return passage.maxsim if passage.weighted_maxsim is None else passage.weighted_maxsim


def _excess(value: float, mean: float) -> float:
    """Return how far the value exceeds the mean: 1 for the highest possible similarity, 0 for the mean."""
    return (value - mean) / (1 - mean)


def _mean(values: Sequence[float], prior: float) -> float:
    mean = (sum(values) + _PRIOR_COUNT * prior) / (len(values) + _PRIOR_COUNT)
    return min(mean, _MAX_MEAN)
