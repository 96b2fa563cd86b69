"""The boxes of a slide: which one is its title, and in which order they are read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, takewhile

MAX_TITLE_CHARACTERS = 120
# What a title has at least; the number of a section in large type beside it is none.
_MIN_LETTERS = 3
_NO_TITLE_ENDINGS = (".", ",", ";", "。")
# Boxes are a little larger than their text and may overlap: by this share of their size on each side.
_OVERLAP = 0.1
# Below this share of a box, one that is written after it is not under it.
_MIN_SHARED_WIDTH = 0.5
_MAX_BOXES = 100
_MAX_TITLE_PARAGRAPHS = 3


@dataclass(frozen=True, slots=True)
class Box:
    """Where a shape is on its slide, in any unit, and its text on one line."""

    text: str
    left: float
    top: float
    width: float
    height: float

    def is_title(self) -> bool:
        """Return whether the text may be that of a title."""
        letters = sum(map(str.isalpha, self.text))
        return (
            letters >= _MIN_LETTERS
            and len(self.text) <= MAX_TITLE_CHARACTERS
            and not self.text.endswith(_NO_TITLE_ENDINGS)
        )


def count_title_paragraphs(paragraphs: Sequence[tuple[str, object]]) -> int:
    """Return how many paragraphs of a box are the title: those at its beginning of the same type, if they are short.

    Args:
        paragraphs: The text and the type of each paragraph with text.
    """
    same = list(takewhile(lambda paragraph: paragraph[1] == paragraphs[0][1], paragraphs))
    length = sum(len(text) + 1 for text, _ in same)
    return len(same) if len(same) <= _MAX_TITLE_PARAGRAPHS and length <= MAX_TITLE_CHARACTERS else 1


def find_title(boxes: Sequence[Box]) -> Box | None:
    """Return the title of a slide that has no shape for it: a short text above all others.

    Args:
        boxes: The boxes with text.
    """
    others = sorted((box for box in boxes if sum(map(str.isalpha, box.text)) >= _MIN_LETTERS), key=lambda box: box.top)
    first = others[0] if others else None
    if first is None or not first.is_title():
        return None
    end = first.top + (1 - _OVERLAP) * first.height
    return first if all(box.top >= end for box in others[1:]) else None


def reading_order(boxes: Sequence[Box]) -> list[int]:
    """Return the numbers of the boxes in the order in which people read them.

    Programs write boxes in the order in which they were made, which mostly is that of reading. Only if one was written
    after what is below it, the boxes are divided by the gaps between them, into columns first.
    """
    if len(boxes) > _MAX_BOXES or not any(_is_below(above, box) for above, box in combinations(boxes, 2)):
        return list(range(len(boxes)))
    return list(_divide(boxes, list(range(len(boxes)))))


def _is_below(box: Box, other: Box) -> bool:
    """Return whether a box is below another one that was written after it."""
    shared = min(box.left + box.width, other.left + other.width) - max(box.left, other.left)
    is_above = other.top + (1 - _OVERLAP) * other.height <= box.top
    return is_above and shared >= _MIN_SHARED_WIDTH * min(box.width, other.width)


def _divide(boxes: Sequence[Box], numbers: list[int]) -> Iterator[int]:
    columns = _parts(boxes, numbers, lambda box: (box.left, box.width))
    if len(columns) > 1:
        for column in columns:
            yield from _divide(boxes, column)
        return
    rows = _parts(boxes, numbers, lambda box: (box.top, box.height))
    if len(rows) == 1:
        yield from sorted(numbers, key=lambda number: (boxes[number].top, boxes[number].left))
        return
    # What is below the first row may be columns.
    yield from _divide(boxes, rows[0])
    yield from _divide(boxes, [number for row in rows[1:] for number in row])


def _parts(boxes: Sequence[Box], numbers: list[int], side: Callable[[Box], tuple[float, float]]) -> list[list[int]]:
    """Return the boxes between the gaps in one direction."""
    parts, end = list[list[int]](), float("-inf")
    for number in sorted(numbers, key=lambda number: side(boxes[number])):
        start, size = side(boxes[number])
        if start + _OVERLAP * size < end:
            parts[-1].append(number)
        else:
            parts.append([number])
        end = max(end, start + (1 - _OVERLAP) * size)
    return parts
