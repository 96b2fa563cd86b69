"""Step: passages → the same, with how far each stands out among them."""

import dataclasses
from collections.abc import Sequence

from rag.types import Passage

# Cosine and MaxSim of the local model between a question and a text that only lies near it; and how many candidates
# that counts for, so that a handful of passages, or a single one, has something to be compared with.
_USUAL_COSINE, _USUAL_TELLING = 0.30, 0.33
_USUAL_COUNT = 5
# MaxSim weighs most (docs/architecture.md, "Grounding"). Where it is missing the cosine has to do more.
_MAXSIM, _COSINE_BESIDE, _COSINE_ALONE = 3.0, 0.6, 1.0


def contrasted(passages: Sequence[Passage], most: int | None = None) -> list[Passage]:
    """The first so many (None: all), each with its `contrast` among all of these."""
    usual_cosine = _usual([passage.score for passage in passages], _USUAL_COSINE)
    usual_telling = _usual([near for each in passages if (near := _near(each)) is not None], _USUAL_TELLING)
    return [
        dataclasses.replace(passage, contrast=_contrast(passage, usual_cosine, usual_telling))
        for passage in passages[:most]
    ]


def contrast_alone(passage: Passage) -> float:
    """Of a passage that was not found among others."""
    return _contrast(passage, _USUAL_COSINE, _USUAL_TELLING)


def _contrast(passage: Passage, usual_cosine: float, usual_telling: float) -> float:
    near = _near(passage)
    if near is None:
        return _COSINE_ALONE * _above(passage.score, usual_cosine)
    return _MAXSIM * _above(near, usual_telling) + _COSINE_BESIDE * _above(passage.score, usual_cosine)


def _near(passage: Passage) -> float | None:
    return passage.maxsim if passage.telling is None else passage.telling


def _above(value: float, usual: float) -> float:
    """1 for what could not be nearer, 0 for what is as near as usual."""
    return (value - usual) / (1 - usual)


def _usual(values: Sequence[float], expected: float) -> float:
    mean = (sum(values) + _USUAL_COUNT * expected) / (len(values) + _USUAL_COUNT)
    return min(mean, 0.95)
