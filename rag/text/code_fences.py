"""The lines that open and close a block of code in Markdown (CommonMark 0.31, section 4.5)."""

import re

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$")


def find_opening_marks(line: str, line_above: str) -> str:
    """Return the marks that open a block of code; empty if the line opens none.

    Unlike in CommonMark, a line of tildes below a text that is not longer is no fence: reStructuredText underlines
    headings with it.

    Args:
        line: The line, which is not within a block of code.
        line_above: The line before it; empty for the first one.
    """
    fence = _FENCE.match(line.rstrip())
    if not fence:
        return ""
    marks, title = fence["marks"], line_above.strip()
    is_underline = marks[0] == "~" and not fence["info"] and 0 < len(title) <= len(marks)
    return "" if is_underline else marks


def closes_block(line: str, opening_marks: str) -> bool:
    """Return whether a line closes a block of code: with the same character, at least as often, and nothing else."""
    fence = _FENCE.match(line.rstrip())
    return fence is not None and not fence["info"] and fence["marks"].startswith(opening_marks)
