"""Headers and footers of the pages of a PDF, such as their numbers: they are no text of the document."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .text_lines import TextLine

# How many lines at the top and at the bottom of a page may be its header and footer.
_MAX_EDGE_LINES = 2
_MIN_PAGES = 2
_DIGITS = re.compile(r"\d+")


def find_repeated(pages: Iterable[Sequence[TextLine]]) -> frozenset[str]:
    """Return the lines at the edges of several pages, without regard to figures."""
    pages_with = Counter(text for lines in pages for text in {_without_figures(line) for line in _edge_lines(lines)})
    return frozenset(text for text, count in pages_with.items() if count >= _MIN_PAGES)


def leave_out(lines: Sequence[TextLine], repeated: frozenset[str], page_text: str) -> list[TextLine]:
    """Return the lines of a page without its header and footer.

    Args:
        lines: The lines of the page.
        repeated: What `find_repeated` returned for the document.
        page_text: The text of the page as xberg read it: it leaves headers and footers out.
    """
    edges = [line for line in _edge_lines(lines) if _without_figures(line) in repeated]
    letters = _letters(page_text) if edges else ""
    return [line for line in lines if line not in edges or _letters(line.text) in letters]


def _edge_lines(lines: Sequence[TextLine]) -> list[TextLine]:
    by_height = sorted(lines, key=lambda line: line.bottom)
    return [*by_height[:_MAX_EDGE_LINES], *by_height[_MAX_EDGE_LINES:][-_MAX_EDGE_LINES:]]


def _without_figures(line: TextLine) -> str:
    return _DIGITS.sub("#", " ".join(line.text.split()))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
