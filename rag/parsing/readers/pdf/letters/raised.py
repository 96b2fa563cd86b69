"""Raised letters that pdfium puts on a line of their own, such as those of "1er janvier" and "12th May"."""

import re
from collections.abc import Callable

from .spacing_accents import LEFT_OUT

# What is raised, the line end before it, and the end or space after it.
_RAISED = re.compile(r"(?<=\S)(?P<before> ?\r\n)(?P<raised>[^\W_]{1,4})(?P<after> ?\r\n| )(?=\S)")
# In heights of the letter before: how large raised letters are at most, and how much higher their base line is.
_MAX_SIZE, _MIN_RISE, _MAX_RISE = 0.8, 0.15, 0.7
# The same for how far apart they are from the letters around them, and how far the base lines of these are.
_MAX_GAP, _MAX_NEXT_GAP, _SAME_LINE = 0.4, 1.0, 0.1

Box = tuple[float, float, float, float]


def join_raised(
    text: str, box: Callable[[int], Box], base_line: Callable[[int], float], size: Callable[[int], float]
) -> str:
    """Return the text of a page with raised letters in the line around them. Its characters keep their numbers.

    Args:
        text: The text.
        box: Left, bottom, right and top of a character.
        base_line: The base line of a character.
        size: The size of the font of a character.
    """

    def joined(match: re.Match[str]) -> str:
        previous, first = match.start("before") - 1, match.start("raised")
        last, following = match.end("raised") - 1, match.end("after")
        height = size(previous)
        rise = (base_line(first) - base_line(previous)) / height
        is_raised = size(first) <= _MAX_SIZE * height and _MIN_RISE <= rise <= _MAX_RISE
        is_beside = -_MAX_GAP <= (box(first)[0] - box(previous)[2]) / height <= _MAX_GAP
        gap = (box(following)[0] - box(last)[2]) / height
        is_same_line = abs(base_line(following) - base_line(previous)) <= _SAME_LINE * height
        if not (is_raised and is_beside and is_same_line and -_MAX_GAP <= gap <= _MAX_NEXT_GAP):
            return match[0]
        blank = " " if text[following].isalnum() else LEFT_OUT
        return LEFT_OUT * len(match["before"]) + match["raised"] + blank + LEFT_OUT * (len(match["after"]) - 1)

    return _RAISED.sub(joined, text)
