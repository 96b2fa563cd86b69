"""The lines that open and close a block of code in Markdown (CommonMark 0.31, section 4.5)."""

import re

_MARKED_LINE = re.compile(r" {0,3}(?P<marks>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$")
_MIN_DIVIDER_CHARACTERS = 10


def find_opening_marks(line: str, line_above: str) -> str:
    """Return the marks that open a block of code; empty if the line opens none.

    Unlike in CommonMark, a line of tildes below a text that is not longer opens no block: reStructuredText underlines
    headings with it. Neither does a long one: that divides sections in plain texts.

    Args:
        line: The line, which is not within a block of code.
        line_above: The line before it; empty for the first one.
    """
    match = _MARKED_LINE.match(line.rstrip())
    if not match:
        return ""
    marks, title = match["marks"], line_above.strip()
    is_plain = marks[0] == "~" and not match["info"]
    is_underline = 0 < len(title) <= len(marks)
    return "" if is_plain and (is_underline or len(marks) >= _MIN_DIVIDER_CHARACTERS) else marks


def closes_block(line: str, opening_marks: str) -> bool:
    """Return whether a line closes a block of code: with the same character, at least as often, and nothing else."""
    match = _MARKED_LINE.match(line.rstrip())
    return match is not None and not match["info"] and match["marks"].startswith(opening_marks)
