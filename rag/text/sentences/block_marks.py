"""The lines that open and close blocks of code in Markdown, and those of notes and tabs, which are text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# More than three tildes are the line below a heading of reStructuredText.
_MARK = re.compile(r"```|~~~(?!~)")
# A directive of MyST whose content is text, such as "```{note}". "```{r}" is code in R Markdown.
_TEXT_DIRECTIVE = re.compile(
    r"(?P<marks>`{3,}|~{3,})\{(?:admonition|attention|card|caution|danger|deprecated|details|dropdown|error"
    r"|grid(?:-item(?:-card)?)?|hint|important|margin|note|seealso|sidebar|tab(?:-item|-set)?|tip|topic|versionadded"
    r"|versionchanged|warning)\}"
)


@dataclass(frozen=True, slots=True)
class BlockMarks:
    """The lines with marks of blocks in a text, or in a part of one.

    Attributes:
        code: The indexes of the lines that open or close blocks of code.
        text: The indexes of those around text, such as a note.
        starts_in_code: Whether the first line is within a block of code, so that the first mark closes it.
    """

    code: frozenset[int]
    text: frozenset[int]
    starts_in_code: bool


def find_block_marks(lines: Sequence[str]) -> BlockMarks:
    """Return the marks of blocks among the lines of a text, which have no white space around them."""
    code, text, open_marks = [], [], []
    is_code = False
    for number, line in enumerate(lines):
        if not _MARK.match(line):
            continue
        directive = None if is_code else _TEXT_DIRECTIVE.match(line)
        if directive:
            open_marks.append(directive["marks"])
            text.append(number)
        elif not is_code and open_marks and line == open_marks[-1]:
            open_marks.pop()
            text.append(number)
        else:
            is_code = not is_code
            code.append(number)
    return BlockMarks(frozenset(code), frozenset(text), _starts_in_code(lines, code))


def _starts_in_code(lines: Sequence[str], marks: Sequence[int]) -> bool:
    """Return whether a part of a text begins within a code block: whether its first mark rather ends a block."""
    evidence = [_opening_evidence(lines, number) for number in marks]
    return sum(evidence[1::2]) > sum(evidence[::2])


def _opening_evidence(lines: Sequence[str], number: int) -> int:
    """Return a positive number if a mark looks like the start of a code block, a negative one if like its end."""
    if lines[number] not in ("```", "~~~"):  # only a start names a language
        return 3
    # An empty line stands before a start and after an end; code is directly at the mark.
    before, after = lines[max(0, number - 1) : number], lines[number + 1 : number + 2]
    evidence = 0
    if after:
        evidence += 1 if after[0] else -1
    if before:
        evidence += -1 if before[0] else 1
    return evidence
