"""Finds the lines of text in a picture and recognises them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from PIL import Image

from . import models
from .regions import Rectangle, find_rectangles

# A picture is reduced until its longer side has this many pixels, to find lines. They are recognised in full size.
_MAX_SIDE = 1600
# A picture whose brightest and darkest pixels differ by less is empty.
_MIN_CONTRAST = 32
_STEP = 32  # the finder takes sides that are multiples of this
_THRESHOLD, _MIN_SCORE, _GROWTH = 0.3, 0.5, 1.3
_LINE_HEIGHT = 48
_MAX_LINE_WIDTH = 3200
# Lines below this mean probability are specks and ornaments, not text.
_MIN_CONFIDENCE = 0.6
# A page is turned by 180 degrees if its lines are less probable than this, and more probable when turned.
_DOUBTFUL = 0.85
_SAMPLE = 5
# The model knows no low quotation mark; it reads two commas.
# The letter O is taken for a zero.
_AMOUNT = re.compile(r"[$€£¥] ?\d[\d.,O]{1,15}")
_LOW_QUOTE = re.compile(r"(?<!\w),,(?=\w)")
# It loses spaces before numbers: "up to150". Not in addresses and codes, such as "/to150" and "TO220".
_JOINED_NUMBER = re.compile(
    r"(?<![\w./:@-])((?i:to|of|from|until|over|under|about|than|with|and|bis|von|vom|über|unter|und|mit|nach|desde|hasta))"
    r"(?<=[a-z])(?=\d)"
)


# The edges of a box on a page: left, top, right and bottom, as shares of its width and height.
Place = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """A recognised piece of a line: its text, its mean probability and where it is.

    Attributes:
        box: Its rectangle in the picture, which may have been turned to read it.
        place: Its edges in the picture as it was, so that they can be marked there.
    """

    text: str
    confidence: float
    box: Rectangle
    place: Place = (0.0, 0.0, 0.0, 0.0)


def read_lines(picture: Image.Image) -> list[Line]:
    """Return the lines of text in a picture, in no particular order, improbable ones and those without text too.

    A picture that lies on its side or upside down is turned. The boxes refer to the turned picture, the places do not.
    """
    darkest, brightest = picture.convert("L").getextrema()
    if brightest - darkest < _MIN_CONTRAST:  # type: ignore[operator]  # numbers, as the picture has one channel
        return []
    boxes, quarter_turns = _find_boxes(picture), 0
    tall = sum(box.height > 2 * box.width for box in boxes)
    if tall > len(boxes) / 2:
        picture = picture.transpose(Image.Transpose.ROTATE_90)
        boxes, quarter_turns = _find_boxes(picture), 1
    if boxes and _is_upside_down(picture, boxes):
        picture = picture.transpose(Image.Transpose.ROTATE_180)
        boxes, quarter_turns = _find_boxes(picture), quarter_turns + 2
    lines = [_recognize(picture, box) for box in boxes]
    return [replace(line, place=_place(line.box, picture, quarter_turns)) for line in lines]


def is_probable(line: Line) -> bool:
    """Return whether a line is text, and not a speck or an ornament."""
    return bool(line.text) and line.confidence >= _MIN_CONFIDENCE


def _place(box: Rectangle, picture: Image.Image, quarter_turns: int) -> Place:
    """Return where a box is in the picture before it was turned left by this many quarters."""
    shares = [(x / picture.width, y / picture.height) for x, y in box.corners()]
    for _ in range(quarter_turns):
        shares = [(1 - y, x) for x, y in shares]
    xs, ys = ([min(max(share, 0.0), 1.0) for share in axis] for axis in zip(*shares, strict=True))
    return min(xs), min(ys), max(xs), max(ys)


def _find_boxes(picture: Image.Image) -> list[Rectangle]:
    scale = min(1.0, _MAX_SIDE / max(picture.size))
    width, height = (max(_STEP, round(side * scale / _STEP) * _STEP) for side in picture.size)
    reduced = picture.resize((width, height), Image.Resampling.BILINEAR, reducing_gap=2)
    rectangles = find_rectangles(models.find_text(_normalize(reduced)), _THRESHOLD, _MIN_SCORE)
    grown = [box.grow(box.width * box.height * _GROWTH / (2 * (box.width + box.height))) for box in rectangles]
    return [box.scale(picture.width / width, picture.height / height) for box in grown]


def _is_upside_down(picture: Image.Image, boxes: Sequence[Rectangle]) -> bool:
    widest = sorted(boxes, key=lambda box: -box.width / box.height)[:_SAMPLE]
    upright = _mean_confidence(_recognize(picture, box) for box in widest)
    if upright >= _DOUBTFUL:
        return False
    return upright < _mean_confidence(_recognize(picture, box, turned=True) for box in widest)


def _mean_confidence(lines: Iterable[Line]) -> float:
    return fmean(line.confidence for line in lines)


def _recognize(picture: Image.Image, box: Rectangle, *, turned: bool = False) -> Line:
    width = min(_MAX_LINE_WIDTH, max(16, round(_LINE_HEIGHT * box.width / box.height)))
    quad = tuple(coordinate for corner in box.corners() for coordinate in corner)
    # A line of large letters is cut out first and then reduced: a transformation only looks at neighbouring pixels.
    size = (width, _LINE_HEIGHT) if box.height <= _LINE_HEIGHT else (round(box.width) or 1, round(box.height))
    line = picture.transform(size, Image.Transform.QUAD, quad, Image.Resampling.BICUBIC, fillcolor="white")
    line = line.resize((width, _LINE_HEIGHT), Image.Resampling.BILINEAR)
    if turned:
        line = line.transpose(Image.Transpose.ROTATE_180)
    return _decode(models.recognize(_normalize(line)), box)


def _normalize(picture: Image.Image) -> models.Pixels:
    return np.asarray(picture, dtype=np.float32) / 127.5 - 1


def _decode(probabilities: models.Pixels, box: Rectangle) -> Line:
    """Join the most probable characters of all steps; the same one in consecutive steps counts once (CTC)."""
    best = probabilities.argmax(axis=1)
    is_new = (best != 0) & (np.diff(best, prepend=0) != 0)
    if not is_new.any():
        return Line(text="", confidence=0.0, box=box)
    characters = models.characters()
    text = "".join(characters[index] for index in best[is_new])
    confidence = float(probabilities.max(axis=1)[is_new].mean())
    return Line(correct_text(text.strip()), confidence, box)


def correct_text(text: str) -> str:
    """Return a recognised line with low quotation marks, a space between a preposition and a number, and amounts."""
    text = _AMOUNT.sub(lambda amount: amount[0].replace("O", "0"), text)
    return _JOINED_NUMBER.sub(r"\1 ", _LOW_QUOTE.sub("„", text))
