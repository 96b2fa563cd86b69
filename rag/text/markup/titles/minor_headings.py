"""Headings of a text that has no marks for them: subjects of mails, bold titles, and the questions of an FAQ."""

from collections.abc import Iterator, Sequence

from rag.text.markup.code_block_marks import closes_block, find_opening_marks
from rag.types import Heading

from .bold_titles import find_bold_titles
from .faq_questions import find_faq_questions, find_question_lines
from .mail_headers import find_mail_headers


def add_minor_headings(headings: Sequence[Heading], lines: Sequence[str], starts: Sequence[int]) -> tuple[Heading, ...]:
    """Return the headings of a text with its bold titles, below all others, and its questions, below these.

    The subjects of mails are above all that the mails contain.

    Args:
        headings: The other headings, in order.
        lines: The lines of the text, without their ends.
        starts: The offset of each line.
    """
    prose = list(_without_code_blocks(lines))
    bold_titles = _without_inner_questions(find_bold_titles(prose), prose)
    by_start = {heading.start: heading for heading in _with_subjects(headings, prose, starts)}
    for titles in (bold_titles, find_faq_questions(prose)):
        level = max((heading.level for heading in by_start.values()), default=0) + 1
        for number, title in titles:
            by_start.setdefault(starts[number], Heading(starts[number], level, title))
    return tuple(by_start[start] for start in sorted(by_start))


def _with_subjects(headings: Sequence[Heading], lines: Sequence[str], starts: Sequence[int]) -> list[Heading]:
    """Return the headings with the subjects of mails.

    If the text begins with a mail, its other headings are within the mails. Otherwise a mail is within a section, and
    the headings below it may begin the next one.
    """
    subjects = [(starts[header.lines.start], header.title) for header in find_mail_headers(lines)]
    if not subjects:
        return list(headings)
    before = [heading for heading in headings if heading.start < subjects[0][0]]
    if not before:
        within = [Heading(heading.start, heading.level + 1, heading.title) for heading in headings]
        return [*(Heading(start, 1, title) for start, title in subjects), *within]
    level = max(heading.level for heading in before) + 1
    return [*headings, *(Heading(start, level, title) for start, title in subjects)]


def _without_inner_questions(titles: Sequence[tuple[int, str]], lines: Sequence[str]) -> list[tuple[int, str]]:
    """Return bold titles without the questions of an FAQ, if one of the others has such a question as its first line.

    Otherwise a bold question is a title like the others.
    """
    questions = find_question_lines(lines)
    others = [(number, title) for number, title in titles if number not in questions]
    first_lines = {
        next((below for below in range(number + 1, len(lines)) if lines[below].strip()), number) for number, _ in others
    }
    return others if questions & first_lines else list(titles)


def _without_code_blocks(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines; those of blocks of code are empty."""
    opening_marks = line_above = ""
    for line in lines:
        if opening_marks:
            opening_marks = "" if closes_block(line, opening_marks) else opening_marks
            yield ""
        else:
            opening_marks = find_opening_marks(line, line_above)
            yield "" if opening_marks else line
        line_above = line
