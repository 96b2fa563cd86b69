"""How the time of a step grows with the length of its text."""

import time
from collections.abc import Callable
from typing import TypeVar

Text = TypeVar("Text", str, bytes)

# Four times the text may take four times as long, give or take; its square would be sixteen times.
TIMES_AS_LONG, _MAX_GROWTH = 4, 9
_NOISE_SECONDS, _ATTEMPTS = 0.02, 3


def takes_linear_time(step: Callable[[Text], object], text_of: Callable[[int, int], Text], length: int) -> bool:
    """Return whether a step takes a time that is about proportional to the length of its text.

    Other processes may disturb one measurement. Quadratic time fails all of them.

    Args:
        step: What is measured.
        text_of: Makes a text of a length. The second argument is another number in each attempt, so that a text that
            contains it is in no cache.
        length: The length of the long text. The short one has a quarter of it.
    """

    def cpu_seconds(attempt: int, length: int) -> float:
        text = text_of(length, attempt)
        start = time.process_time()
        step(text)
        return time.process_time() - start

    def is_linear(attempt: int) -> bool:
        long = cpu_seconds(attempt, length)
        short = length // TIMES_AS_LONG
        return long < _NOISE_SECONDS or long < _MAX_GROWTH * cpu_seconds(attempt, short) + _NOISE_SECONDS

    return any(is_linear(attempt) for attempt in range(_ATTEMPTS))
