"""Headers and footers of the pages of a PDF, such as their numbers: they are no text of the document."""

import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from .text_lines import TextLine

# How many lines at the top and at the bottom may be header and footer if the other reader leaves them out.
_MAX_EDGE_LINES = 2
# Which part of the height at the top and at the bottom has those that are at the same place on several pages.
_EDGE = 0.1
# The same for those that the other reader leaves out: slides have few lines, so that most of them are outer ones.
_WIDE_EDGE = 0.2
_MIN_PAGES, _MIN_PLACED_PAGES, _MIN_SHARE_OF_SLIDES = 2, 3, 0.5
# In points: how far lines at the same place are from each other.
_SAME_PLACE = 4.0
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+")
# What a number of a page has beside it: "Page 3 of 7".
_MAX_WORDS_OF_NUMBER, _MAX_CHARACTERS_OF_NUMBER = 2, 24


@dataclass(frozen=True, slots=True)
class PageOfLines:
    """The lines of a page, its number and its height in points."""

    number: int
    lines: Sequence[TextLine]
    height: float


@dataclass(frozen=True, slots=True)
class Repeated:
    """The lines at the edges of several pages, without regard to figures.

    Attributes:
        texts: Those of two pages.
        places: Those at the same place of three pages → the height of this place and the first of the pages.
    """

    texts: frozenset[str]
    places: Mapping[str, tuple[float, int]]


def find_repeated(pages: Sequence[PageOfLines], *, are_slides: bool) -> Repeated:
    """Return the lines that are repeated at the edges of pages.

    Args:
        pages: The pages.
        are_slides: Whether the pages are wider than high: slides on each other may have the same title.
    """
    texts = Counter(text for page in pages for text in {_without_figures(line) for line in _outer_lines(page)})
    lines_by_text = defaultdict[str, list[tuple[TextLine, int]]](list)
    for page in pages:
        for line in page.lines:
            is_sentence = line.text.rstrip().endswith(".") and _DIGITS.search(line.text)  # a note with its number
            if _is_at_edge(line, page) and not is_sentence:
                lines_by_text[_without_figures(line)].append((line, page.number))
    places, least = {}, max(_MIN_PAGES, min(_MIN_PLACED_PAGES, len(pages)))
    for text, lines_with in lines_by_text.items():
        height = statistics.median(line.bottom for line, _ in lines_with)
        placed = [(line, number) for line, number in lines_with if abs(line.bottom - height) <= _SAME_PLACE]
        numbers = {number for _, number in placed}
        if len(numbers) >= max(least, _MIN_SHARE_OF_SLIDES * len(pages) if are_slides else 0) and _count_pages(placed):
            places[text] = height, min(numbers)
    min_pages = max(_MIN_PAGES, len(pages) * _MIN_SHARE_OF_SLIDES + 1 if are_slides else 0)
    return Repeated(frozenset(text for text, count in texts.items() if count >= min_pages), places)


def leave_out(page: PageOfLines, repeated: Repeated, page_text: str) -> list[TextLine]:
    """Return the lines of a page without its header and footer.

    What is at the same place of several pages stays on the first one, unless it is the number of the page.

    Args:
        page: The page.
        repeated: What `find_repeated` returned for the document.
        page_text: The text of the page as xberg read it: it leaves many headers and footers out.
    """
    placed = {line for line in page.lines if _is_at_edge(line, page) and _is_placed(line, repeated, page.number)}
    edges = [line for line in _outer_lines(page) if _without_figures(line) in repeated.texts]
    letters = _letters(page_text) if edges else ""
    left_out = placed.union(line for line in edges if _letters(line.text) not in letters)
    return [line for line in page.lines if line not in left_out]


def find_running(page: PageOfLines, repeated: Repeated) -> frozenset[TextLine]:
    """Return the lines at the edges of a page that are repeated on other pages."""
    return frozenset(
        line
        for line in page.lines
        if _is_at_edge(line, page) and (_is_at_place(line, repeated) or _without_figures(line) in repeated.texts)
    )


def leave_out_of_text(page_text: str, lines: Sequence[TextLine], kept: Sequence[TextLine]) -> str:
    """Return the text of a page as xberg read it, without the lines that were left out of the others."""
    left_out = {_letters(line.text) for line in lines} - {_letters(line.text) for line in kept}
    parts = sorted(left_out, key=len, reverse=True)
    return "\n".join(line for line in page_text.split("\n") if not _consists_of(_letters(line), parts))


def _consists_of(letters: str, parts: Sequence[str]) -> bool:
    """Return whether a line consists of parts. xberg reads lines beside each other as one."""
    rest = letters
    for part in parts:
        rest = rest.replace(part, "")
    return bool(letters) and not rest


def _is_placed(line: TextLine, repeated: Repeated, number: int) -> bool:
    if not _is_at_place(line, repeated):
        return False
    text = _without_figures(line)
    words = _WORD.findall(text)
    is_number = "#" in text and len(words) <= _MAX_WORDS_OF_NUMBER and len(text) <= _MAX_CHARACTERS_OF_NUMBER
    return is_number or number != repeated.places[text][1]


def _is_at_place(line: TextLine, repeated: Repeated) -> bool:
    place = repeated.places.get(_without_figures(line))
    return place is not None and abs(line.bottom - place[0]) <= _SAME_PLACE


def _count_pages(placed: Sequence[tuple[TextLine, int]]) -> bool:
    """Return whether the figures of a line count its pages, or are the same on all."""
    figures = [[int(figure[-9:]) for figure in _DIGITS.findall(line.text)] for line, _ in placed]
    for place in range(len(figures[0])):
        is_same = len({others[place] for others in figures}) == 1
        steps = {others[place] - number for others, (_, number) in zip(figures, placed, strict=True)}
        if not is_same and len(steps) > 1:
            return False
    return True


def _is_at_edge(line: TextLine, page: PageOfLines, edge: float = _EDGE) -> bool:
    return not edge * page.height < line.bottom < (1 - edge) * page.height


def _outer_lines(page: PageOfLines) -> list[TextLine]:
    by_height = sorted(page.lines, key=lambda line: line.bottom)
    outer = [*by_height[:_MAX_EDGE_LINES], *by_height[_MAX_EDGE_LINES:][-_MAX_EDGE_LINES:]]
    return [line for line in outer if _is_at_edge(line, page, _WIDE_EDGE)]


def _without_figures(line: TextLine) -> str:
    return _DIGITS.sub("#", " ".join(line.text.split()))


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
