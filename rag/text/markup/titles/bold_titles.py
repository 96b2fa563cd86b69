"""Titles that are only bold: `**Opening hours**` on a line of its own, as exports of word processors have them."""

import re
from collections.abc import Sequence

_BOLD = re.compile(r"\*\*(?P<title>[^*\s](?:[^*]{0,118}[^*\s])?)\*\*:?\\?")
_NO_TITLE_ENDINGS = (".", ",", ";", "!", "。", "，", "；", "！")
# Fewer may be anything, and what is repeated, such as the names of speakers, are no titles.
_MIN_TITLES, _MIN_DISTINCT = 3, 0.9


def find_bold_titles(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the index and the title of each line that is bold as a whole, below an empty line.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The titles in order, without their marks; nothing if there are fewer than three, or if some are repeated.
    """
    titles = [
        (number, match["title"].removesuffix(":"))
        for number, line in enumerate(lines)
        if line[:2] == "**" and not (number and lines[number - 1].strip())
        if (match := _BOLD.fullmatch(line.rstrip())) and _is_title(match["title"])
    ]
    is_divided = len(titles) >= _MIN_TITLES and len({title for _, title in titles}) >= _MIN_DISTINCT * len(titles)
    return titles if is_divided else []


def _is_title(text: str) -> bool:
    """Return whether a bold line is a title, not a sentence or a field such as "Start: 19:00"."""
    return any(map(str.isalpha, text)) and not text.endswith(_NO_TITLE_ENDINGS) and ": " not in text
