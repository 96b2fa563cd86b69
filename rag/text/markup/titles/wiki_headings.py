"""Headings of wikis in a plain text: `== Opening hours ==` (MediaWiki, DokuWiki), `h2. Opening hours` (Textile)."""

import re
from collections.abc import Sequence

_BALANCED = re.compile(r"(={1,6})[ \t]{0,9}([^=\s](?:[^=\n]{0,118}[^=\s])?)[ \t]{0,9}(={1,6})[ \t]{0,9}")
_TEXTILE = re.compile(r"h([1-6])(?:\([^()\n]{0,100}\))?\.[ \t]{1,9}(\S[^\n]{0,119})")
# One line may be anything, such as a line between the parts of a log.
_MIN_HEADINGS = 2
# DokuWiki has the longest marks at the highest headings, and begins with one of them.
_HIGHEST_MARK, _MIN_HIGHEST = 6, 5


def find_wiki_headings(lines: Sequence[str]) -> list[tuple[int, str, int]]:
    """Return the index, the title and the level (1…6) of each heading; nothing if there are not several.

    Args:
        lines: The lines of the text, without their ends.
    """
    balanced = [
        (number, match[2], len(match[1]))
        for number, line in enumerate(lines)
        if line.startswith("=") and (match := _BALANCED.fullmatch(line)) and match[1] == match[3] and _is_name(match[2])
    ]
    if balanced and balanced[0][2] >= max(_MIN_HIGHEST, *(length for *_, length in balanced)):
        balanced = [(number, title, _HIGHEST_MARK + 1 - length) for number, title, length in balanced]
    textile = [
        (number, match[2].strip(), int(match[1]))
        for number, line in enumerate(lines)
        if line.startswith("h") and (match := _TEXTILE.fullmatch(line))
    ]
    return next((headings for headings in (balanced, textile) if len(headings) >= _MIN_HEADINGS), [])


def _is_name(title: str) -> bool:
    return any(map(str.isalpha, title))
