"""Finds recognised lines in the text that was made of them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rag.parsing.sandbox.limits import MAX_LINE_BOXES
from rag.types import LineBox, ParsedDocument

if TYPE_CHECKING:
    from .lines import Line

# How many characters may be between two lines: the marks of headings, the borders of tables and their empty cells.
_MAX_BETWEEN = 1_000
# A word that is divided at the end of a line is joined with the rest, without its hyphen.
_HYPHEN = re.compile(r"(?<=[^\W\d_])-$")


def locate_lines(parsed: ParsedDocument, lines_by_page: "Mapping[int, Sequence[Line]]") -> tuple[LineBox, ...]:
    """Return where the lines are, in the text and on their pages.

    A line whose text was changed, such as one with marks that look like emphasis, is left out. Of very many lines the
    first ones count.

    Args:
        parsed: The document with its pages.
        lines_by_page: Page number → the recognised lines in the order of the text.
    """
    boxes: list[LineBox] = []
    if not (lines_by_page and parsed.pages):
        return ()
    ends = [page.start for page in parsed.pages[1:]] + [len(parsed.text)]
    for page, end in zip(parsed.pages, ends, strict=True):
        boxes += _locate(parsed.text, page.start, end, page.number, lines_by_page.get(page.number, ()))
        if len(boxes) >= MAX_LINE_BOXES:
            break
    return tuple(boxes[:MAX_LINE_BOXES])


def _locate(text: str, start: int, end: int, page: int, lines: "Sequence[Line]") -> Iterator[LineBox]:
    for line in lines:
        words = _HYPHEN.sub("", " ".join(line.text.split()))
        for candidate in (words, words.replace("|", "\\|")):
            first = text.find(candidate, start, min(end, start + len(candidate) + _MAX_BETWEEN))
            if candidate and first >= 0:
                start = first + len(candidate)
                yield LineBox(first, start, page, *line.place)
                break
