"""Headings of Markdown in a text that is not declared as Markdown: `## Opening hours`.

Many clients send Markdown as plain text. A line of a script or of a configuration also begins with `#`, so a heading
has to stand alone and to be no sentence, and the text has to use headings as a document does.
"""

import re
from collections.abc import Sequence

from rag.text.markup.code_block_marks import closes_block, find_opening_marks

_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*")
_MAX_TITLE_CHARACTERS = 120
_NO_TITLE_ENDINGS = (".", ",", ";", ":")


def find_markdown_headings(lines: Sequence[str]) -> list[tuple[int, str, int]]:
    """Return the index, the title and the level (1…6) of each heading.

    The list is empty if the text has no subheading, and does not begin with a heading of a line of its own.

    Args:
        lines: The lines of the text, without their ends.
    """
    headings = [heading for heading in _marked_lines(lines) if _stands_alone(lines, heading)]
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    has_title = any(number == first and not "".join(lines[number + 1 : number + 2]).strip() for number, *_ in headings)
    return headings if has_title or any(level > 1 for *_, level in headings) else []


def _marked_lines(lines: Sequence[str]) -> list[tuple[int, str, int]]:
    """Return the lines that begin with the mark of a heading, outside of blocks of code."""
    marked, opening_marks, line_above = [], "", ""
    for number, line in enumerate(lines):
        if opening_marks:
            opening_marks = "" if closes_block(line, opening_marks) else opening_marks
        elif not (opening_marks := find_opening_marks(line, line_above)) and line.startswith("#"):
            match = _HEADING.fullmatch(line[: 2 * _MAX_TITLE_CHARACTERS])
            if match and len(match[2]) <= _MAX_TITLE_CHARACTERS:
                marked.append((number, match[2], len(match[1])))
        line_above = line
    return marked


def _stands_alone(lines: Sequence[str], heading: tuple[int, str, int]) -> bool:
    """Return whether a marked line is a title below an empty line or a heading, and not one of several remarks."""
    number, title, level = heading
    above, below = ("".join(lines[other : other + 1]) if other >= 0 else "" for other in (number - 1, number + 1))
    is_below_heading = above.startswith("#" * (level - 1) + " ") if level > 1 else False
    is_remark = title.endswith(_NO_TITLE_ENDINGS) or not any(map(str.isalpha, title))
    return not is_remark and (not above.strip() or is_below_heading) and not below.startswith("#" * level + " ")
