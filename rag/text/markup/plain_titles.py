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
# "2. Figures of the quarter", "5.2 Adding a site", "Article 4", "§ 7 Notice".
_NUMBER = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})[.)]?\s+(?=[^\W\d_a-z])")


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
    """Yield the indexes of short lines below an empty line and above a paragraph."""
    for number, line in enumerate(lines[:-1]):
        if (number and lines[number - 1].strip()) or not _is_title(line):
            continue
        is_alone = not lines[number + 1].strip()
        below = number + 1 + is_alone
        if below < len(lines) and (is_alone or _NUMBER.match(line)) and _begins_paragraph(lines[below]):
            yield number


def _begins_paragraph(line: str) -> bool:
    return len(line) >= _MIN_PARAGRAPH_CHARACTERS and not line[0].isspace()


def _is_title(line: str) -> bool:
    title = _NUMBER.sub("", line, count=1).rstrip()
    is_short = 0 < len(title) <= _MAX_TITLE_CHARACTERS and len(title.split()) <= _MAX_TITLE_WORDS
    return is_short and title[0].isupper() and (title[-1].isalnum() or title[-1] in "?)") and ":" not in title


def _style(line: str) -> str:
    match = _NUMBER.match(line)
    return "1" + ".1" * match["number"].count(".") if match else ""
