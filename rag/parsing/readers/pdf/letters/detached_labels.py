"""Bullets and numbers of items that were written apart from them: WeasyPrint draws those of a page behind its text."""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from rag.parsing.readers.pdf.text_lines import BULLETS, TextLine

_LABEL = re.compile(r"\s*(\(?(?:\d{1,3}|[A-Za-z]|[ivxlc]{2,7}|[IVXLC]{2,7})[.)])\s*")
# In heights of a letter: how far an item is right of its label. In points: how far apart their base lines are.
_MAX_GAP, _SAME_LINE = 4.0, 1.0


def attach_labels(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a page with each label before the line at its right, if it was written after that.

    Bullets without such a line are left out.
    """
    labels = {number: label for number, line in enumerate(lines) if (label := _label(line))}
    if not labels:
        return list(lines)
    attached = {number: line for number, line in enumerate(lines) if labels.get(number) not in BULLETS}
    places = sorted((line.bottom, line.left, number) for number, line in enumerate(lines) if number not in labels)
    for number, label in labels.items():
        line = lines[number]
        first = bisect_left(places, (line.bottom - _SAME_LINE,))
        following = bisect_left(places, (line.bottom + _SAME_LINE,))
        at_right = (
            (left, item)
            for _, left, item in places[first:following]
            if item < number and line.left < left <= line.left + _MAX_GAP * line.height
        )
        _, item = min(at_right, default=(0.0, -1))
        if item >= 0 and attached[item] is lines[item]:
            attached[item] = replace(lines[item], text=f"{label} {lines[item].text.lstrip()}", left=line.left)
            attached.pop(number, None)
    return [attached[number] for number in sorted(attached)]


def _label(line: TextLine) -> str:
    """Return the label that is all of a line; empty for other lines."""
    if line.text.strip() in BULLETS:
        return line.text.strip()
    label = _LABEL.fullmatch(line.text)
    return label[1] if label else ""
