"""Letters that are printed several times at one place: some programs make bold type of another one so."""

from collections import Counter
from collections.abc import Callable

from .spacing_accents import LEFT_OUT, Box

# A line is looked at if this share of its words is there already.
_MIN_REPEATED, _MIN_WORDS = 0.4, 2
_MIN_WORD_CHARACTERS = 2
# In heights of a letter: how far the copies of a letter are from each other.
_SAME_PLACE = 0.12


def leave_out_copies(line: str, start: int, box: Callable[[int], Box]) -> str:
    """Return a line as long as before, with `LEFT_OUT` for letters that are printed on the same ones.

    Args:
        line: The line, without its end.
        start: The number of its first character on the page.
        box: Returns left, bottom, right and top of the character of a number.
    """
    words = Counter(word for word in line.split() if len(word) >= _MIN_WORD_CHARACTERS)
    copies = words.total() - len(words)
    if len(words) == 0 or copies < _MIN_REPEATED * words.total() or words.total() < _MIN_WORDS:
        return line
    boxes = {number: box(start + number) for number, character in enumerate(line) if character != " "}
    height = max(top - bottom for _, bottom, _, top in boxes.values())
    step = max(_SAME_PLACE * height, 0.1)
    places = set[tuple[str, int]]()
    characters = list(line)
    for number, (left, *_) in boxes.items():
        character, place = characters[number], int(left // step)
        if places.isdisjoint((character, other) for other in (place - 1, place, place + 1)):
            places.add((character, place))
        else:
            characters[number] = LEFT_OUT
    return "".join(characters) if _count(characters) * 2 <= len(line.replace(" ", "")) + 1 else line


def _count(characters: list[str]) -> int:
    return sum(character not in (" ", LEFT_OUT) for character in characters)
