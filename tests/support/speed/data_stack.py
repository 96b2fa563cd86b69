"""A call whose frames do not need a second chunk of the interpreter's data stack.

Python keeps frames in chunks of 16 KiB. A loop whose calls cross the end of a chunk maps and unmaps memory in each
round (https://github.com/python/cpython/issues/142183; Python 3.11 and 3.12 are not mended). Tests call functions from
deep below pytest, so that this took a tenth of the suite's time.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# Slots of eight bytes in the frame that begins the chunk. Chunks are powers of two: 256 KiB for this frame, of which
# half is left for the frames below. Memory that no frame uses is never touched.
_SLOTS = 16_400


def call_on_large_chunk(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return function(*args, **kwargs)


call_on_large_chunk.__code__ = call_on_large_chunk.__code__.replace(co_stacksize=_SLOTS)
