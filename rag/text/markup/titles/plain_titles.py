"""Titles of sections in a text without marks of headings: short lines between empty lines, or numbered ones.

Letters, policies, contracts and minutes that are sent as plain text are written like this.
"""

import re
from collections.abc import Iterator, Sequence

_MAX_TITLE_CHARACTERS, _MAX_TITLE_WORDS = 80, 12
# What follows a title is a paragraph: its first line is this long.
_MIN_PARAGRAPH_CHARACTERS = 50
# Fewer titles may be anything. Titles that are repeated are not those of sections but, for example, names of speakers.
_MIN_TITLES, _MIN_DISTINCT = 3, 2 / 3
# "2. Figures of the quarter", "5.2 Adding a site", "Article 4 Dogs", "§ 7 Notice".
_NUMBER = re.compile(
    r"(?:§\s?|(?:Article|Artikel|Artículo|Articolo|Artigo|Section|Sezione|Abschnitt|Hoofdstuk)\s)?"
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})[.)]?[ºª°]?\s+(?=[^\W\d_a-z])"
)
# Manuals indent the text below numbered titles; more is code.
_MAX_INDENT = 4
# Length of a title without an empty line below it, relative to the next line.
_MAX_LENGTH_ABOVE = 0.75


def find_plain_titles(lines: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return the index, the title and the style of each title that has no marks.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The titles in order, those of one style belong to the same level; nothing if the text does not have several
        sections.
    """
    titles = [(number, lines[number].strip(), _style(lines[number])) for number in _titles_above_paragraphs(lines)]
    is_divided = len(titles) >= _MIN_TITLES and len({title for _, title, _ in titles}) >= _MIN_DISTINCT * len(titles)
    return titles if is_divided else []


def _titles_above_paragraphs(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indexes of short lines below an empty line and above a paragraph or the title of a subsection."""
    titles: set[int] = set()
    for index in reversed(range(len(lines) - 1)):  # titles within a section are known before its own
        if (index and lines[index - 1].strip()) or not _is_title(lines[index]):
            continue
        below = next((following for following in range(index + 1, len(lines)) if lines[following].strip()), None)
        if below is None or below > index + 2:
            continue
        is_outer = below in titles and _title_number(lines[below]).startswith(f"{_title_number(lines[index])}.")
        if is_outer or _is_above_paragraph(lines[index], lines[below], is_alone=below > index + 1):
            titles.add(index)
    yield from sorted(titles)


def _is_above_paragraph(line: str, below: str, *, is_alone: bool) -> bool:
    """Return whether the line below a title begins a paragraph. Without an empty line between, the title has a number.

    A line that is hardly shorter than the one below is the first line of a wrapped paragraph.
    """
    is_numbered = bool(_title_number(line))
    if not is_alone and (not is_numbered or len(line.rstrip()) > _MAX_LENGTH_ABOVE * len(below.rstrip())):
        return False
    indent = len(below) - len(below.lstrip())
    return len(below) >= _MIN_PARAGRAPH_CHARACTERS and indent <= (_MAX_INDENT if is_numbered else 0)


def _title_number(line: str) -> str:
    """Return the number before a title; empty if there is none."""
    match = _NUMBER.match(line)
    return match["number"] if match else ""


def _is_title(line: str) -> bool:
    title = _NUMBER.sub("", line, count=1).rstrip()
    is_short = 0 < len(title) <= _MAX_TITLE_CHARACTERS and len(title.split()) <= _MAX_TITLE_WORDS
    is_row = "\t" in title  # of a table
    return (
        is_short
        and title[0].isupper()
        and (title[-1].isalnum() or title[-1] in "?)")
        and ":" not in title
        and not is_row
    )


def _style(line: str) -> str:
    number = _title_number(line)
    return "1" + ".1" * number.count(".") if number else ""
