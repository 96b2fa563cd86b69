"""Spaces between words by the gaps between letters, where pdfium misses them in narrow type, or has them in wide type.

The usual gap of a line is that of its words, whether its letters were set close to each other or far apart.
"""

import re
import statistics
from collections.abc import Callable

from .spacing_accents import LEFT_OUT, Box

# What lines without spaces have, and lines with spaces in words: "endHere", "end.Here", "T i t l e", "Name s,", "it ,".
_MISSING = re.compile(r"[a-zà-ÿ][A-ZÀ-ÞÅ]|[^\W\d_][.,;:!?&][^\W\d_]{2}|[^\W\d_]{16}")
_TOO_MANY = re.compile(r"(?<!\S)[^\W\d_] [^\W\d_](?!\S)|[^\W\d_] [^\W\d_]?[,;](?!\S)")
# In heights of a letter: how much wider than others a gap between words is, and how equal those of a line are.
_MIN_SPACE, _EQUAL = 0.1, 0.04
# Of a line: fewer gaps show nothing; longer lines are not looked at.
_MIN_GAPS, _MIN_SHARE_OF_EQUAL, _MAX_CHARACTERS = 6, 0.6, 1_000


def find_word_spaces(
    line: str, start: int, box: Callable[[int], Box], size: Callable[[int], float]
) -> tuple[str, list[int]]:
    """Return a line as long as before, with `LEFT_OUT` for spaces within words, and before which places one is missing.

    Args:
        line: The line, without its end.
        start: The number of its first character on the page.
        box: Returns left, bottom, right and top of the character of a number, with the space beside it.
        size: Returns the size of its font.
    """
    is_missing, are_too_many = bool(_MISSING.search(line)), bool(_TOO_MANY.search(line))
    if not (is_missing or are_too_many) or len(line) > _MAX_CHARACTERS:
        return line, []
    places = [place for place, character in enumerate(line) if not character.isspace()]
    boxes = [box(start + place) for place in places]
    heights = [size(start + place) for place in places]
    gaps = [
        (following[0] - previous[2]) / height
        for previous, following, height in zip(boxes, boxes[1:], heights, strict=False)
    ]
    within = [gap for gap, place, after in zip(gaps, places, places[1:], strict=False) if after == place + 1]
    usual = statistics.median(within if len(within) >= _MIN_GAPS or not are_too_many else gaps) if gaps else 0.0
    if len(gaps) < _MIN_GAPS or sum(abs(gap - usual) <= _EQUAL for gap in gaps) < _MIN_SHARE_OF_EQUAL * len(gaps):
        return line, []
    characters, missing = list(line), list[int]()
    for gap, place, after in zip(gaps, places, places[1:], strict=False):
        is_wide = gap - usual >= _MIN_SPACE
        if after == place + 1 and is_wide and is_missing:
            missing.append(after)
        elif after == place + 2 and not is_wide and are_too_many and usual > _EQUAL:
            characters[place + 1] = LEFT_OUT
    return "".join(characters), missing
