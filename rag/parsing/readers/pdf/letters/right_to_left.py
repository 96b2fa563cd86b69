"""Lines of Arabic and Hebrew letters: PDF files have them in the order of the page, often each word on its own."""

import re
from collections.abc import Callable

_LETTER = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
# PDF files have the sign that is seen, texts the sign that opens or closes.
_MIRRORED = str.maketrans("()[]{}<>«»", ")(][}{><»«")
# Of the letters that one sign stands for, this one is read first.
_FIRST_IN_LIGATURE = "\u0644"
# In heights of a letter: the gap between two words.
_GAP = 0.2
# Figures and Latin words are written from the left to the right.
_LEFT_TO_RIGHT = re.compile("[0-9A-Za-z\u0660-\u0669\u06f0-\u06f9](?:[^\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]*"
                            "[0-9A-Za-z\u0660-\u0669\u06f0-\u06f9])?%?")  # fmt: skip


def is_right_to_left(text: str) -> bool:
    """Return whether most letters of a line are Arabic or Hebrew."""
    letters = sum(map(str.isalpha, text))
    return letters > 0 and 2 * len(_LETTER.findall(text)) > letters


def in_reading_order(text: str, sides_of: Callable[[int], tuple[float, float]], height: float) -> str:
    """Return a line in the order in which it is read, with a space for each gap.

    The spaces of the line itself are not where they seem to be.

    Args:
        text: The line as it is stored.
        sides_of: Returns the left and the right side of the character with a number.
        height: The height of the letters.
    """
    places = {number: sides_of(number) for number, character in enumerate(text) if not character.isspace()}
    parts = list[str]()
    last_left: float | None = None
    for number in sorted(
        places, key=lambda number: (-sum(places[number]), text[number] != _FIRST_IN_LIGATURE, -number)
    ):
        left, right = places[number]
        if last_left is not None and last_left - right > _GAP * height:
            parts.append(" ")
        last_left = left if last_left is None else min(left, last_left)
        parts.append(text[number])
    return _LEFT_TO_RIGHT.sub(lambda match: match[0].translate(_MIRRORED)[::-1], "".join(parts).translate(_MIRRORED))
