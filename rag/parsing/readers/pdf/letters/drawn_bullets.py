"""Bullets of lists that are drawn, not written."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from rag.parsing.readers.pdf.text_lines import TextLine

# A drawn bullet: its size and its distance from the text, in heights of a letter. More of them are a drawing.
_MIN_BULLET, _MAX_BULLET, _MAX_BULLET_GAP = 0.1, 0.6, 2.0
# Several that are this near belong to a pattern.
_MAX_PATTERN_GAP = 4.0
# In heights of a letter: how far apart two drawings are that are one bullet, filled and then outlined.
_SAME_PLACE = 0.1
_MAX_BULLETS, _MAX_DRAWN = 500, 5_000


def mark_bullets(page: pdfium.PdfPage, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines with a bullet before those that have a drawn one at their left: browsers print lists so.

    Several beside a line are a pattern, or the points of dice.
    """
    bullets = sorted(_find_bullets(page)) if lines else []
    heights = [middle for middle, _, _ in bullets]
    marked = []
    for line in lines:
        beside = bullets[bisect_left(heights, line.bottom) : bisect_right(heights, line.bottom + line.height)]
        candidates = [
            bullet for bullet in beside if line.left - _MAX_PATTERN_GAP * line.height < bullet[1] <= line.left
        ]
        has_bullet = line.start >= 0 and _are_one(candidates, line) and _is_bullet(candidates[0], line)
        marked.append(replace(line, text=f"• {line.text.lstrip()}") if has_bullet else line)
    return marked


def _are_one(drawn: Sequence[tuple[float, float, float]], line: TextLine) -> bool:
    """Return whether something is drawn, once or several times at the same place."""
    distance = _SAME_PLACE * line.height
    return bool(drawn) and all(
        abs(middle - drawn[0][0]) <= distance and abs(right - drawn[0][1]) <= distance for middle, right, _ in drawn
    )


def _is_bullet(drawn: tuple[float, float, float], line: TextLine) -> bool:
    _, right, size = drawn
    is_near = line.left - _MAX_BULLET_GAP * line.height < right
    return is_near and _MIN_BULLET * line.height < size < _MAX_BULLET * line.height


def _find_bullets(page: pdfium.PdfPage) -> list[tuple[float, float, float]]:
    """Return the middle, the right end and the size of what is drawn as wide as high; nothing if there is much."""
    bullets = []
    for drawn in islice(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH], max_depth=1), _MAX_DRAWN):
        left, bottom, right, top = drawn.get_bounds()
        if right - left > 0 and abs((right - left) - (top - bottom)) <= (right - left) / 5:
            bullets.append(((bottom + top) / 2, right, right - left))
            if len(bullets) > _MAX_BULLETS:
                return []
    return bullets
