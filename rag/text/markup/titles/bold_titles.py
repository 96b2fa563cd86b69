"""Titles that are only bold: `**Opening hours**` on a line of its own, as exports of word processors have them."""

import re
from collections import Counter
from collections.abc import Sequence

_BOLD = re.compile(r"\*\*(?P<title>[^*\s](?:[^*]{0,118}[^*\s])?)\*\*:?\\?")
_NO_TITLE_ENDINGS = (".", ",", ";", "!", "。", "，", "；", "！")
# Fewer may be anything, and what is repeated is no title.
_MIN_TITLES = 3


def find_bold_titles(lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return the index and the title of each line that is bold as a whole, below an empty line.

    Args:
        lines: The lines of the text, without their ends.

    Returns:
        The titles in order, without their marks and those that are repeated; nothing if there are fewer than three.
    """
    titles = [
        (number, match["title"].removesuffix(":"))
        for number, line in enumerate(lines)
        if line[:2] == "**" and not (number and lines[number - 1].strip())
        if (match := _BOLD.fullmatch(line.rstrip())) and _is_title(match["title"])
    ]
    counts = Counter(title for _, title in titles)
    titles = [(number, title) for number, title in titles if counts[title] == 1]
    return titles if len(titles) >= _MIN_TITLES else []


def _is_title(text: str) -> bool:
    return any(map(str.isalpha, text)) and not text.endswith(_NO_TITLE_ENDINGS)
