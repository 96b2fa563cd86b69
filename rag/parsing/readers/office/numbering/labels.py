"""The labels of paragraphs, such as "1." and "§ 3", as text: those of list items begin lines of the list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .write_number import write_number

# Stands before the label of an item until the bullet is removed that xberg writes, a character that no font has.
MARK = "\ue92b"
MAX_LEVELS = 10
_BULLET_BEFORE_MARK = re.compile(rf"^([ \t]*)[-+*][ \t]+{MARK}", re.M)
# Below "1. " the text of an item begins at the third place, below "- " at the second one.
_INDENTED = re.compile(r"^((?: {2})+)(?=[-+*] )", re.M)
_PLACE = re.compile(r"%(\d{1,2})")
# "1.", "a)", "(iv)": an item of a list has nothing else before its text.
_ITEM = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]|[ivxlc]{2,7}|[IVXLC]{2,7})[.)]")
# "Step 1:", "①", "R1)": an item that needs a bullet.
_OTHER_ITEM = re.compile(r"[^\n]{0,40}[:)]|\W?[^\W\d_]?\d{1,3}\.|[①-⑳]")
# "2.1", "2.1.", "A.1": a clause, which is a paragraph of its own.
_CLAUSE = re.compile(r"\w{1,7}(?:[.-]\w{1,7}){1,8}[.)]?")
_MAX_LABEL_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Level:
    """How the numbers of a level are written.

    Attributes:
        number_format: The format, as `write_number` knows it; "bullet", or "none" for no number.
        text: The label, with `%1` for the number of the highest level.
        start: The first number.
        restart: The level, counted from 1, below which any paragraph of another level makes it start again.
        is_legal: Whether the numbers of all levels are written in digits.
    """

    number_format: str = "none"
    text: str = ""
    start: int = 1
    restart: int = MAX_LEVELS
    is_legal: bool = False

    @property
    def is_bullet(self) -> bool:
        """Whether the level has a sign instead of a number."""
        return self.number_format == "bullet" or (bool(self.text.strip()) and not any(map(str.isalnum, self.text)))


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a paragraph.

    Attributes:
        text: The label; empty for a bullet, and for a paragraph whose number is not shown.
        level: The level of the list, from 0.
        list_id: Which list it belongs to.
        is_bullet: Whether it is a sign instead of a number.
    """

    text: str
    level: int
    list_id: str = ""
    is_bullet: bool = False

    @property
    def is_item(self) -> bool:
        """Whether the paragraph is an item of a list; otherwise it is a clause, which is a paragraph of its own."""
        if self.is_bullet or _ITEM.fullmatch(self.text):
            return True
        return bool(_OTHER_ITEM.fullmatch(self.text)) and not _CLAUSE.fullmatch(self.text) and "§" not in self.text

    @property
    def as_prefix(self) -> str:
        """What is written before the text of the paragraph."""
        return f"{MARK if _ITEM.fullmatch(self.text) else ''}{self.text} " if self.text else ""


class Counter:
    """The numbers of a list, by level."""

    def __init__(self) -> None:
        self._numbers: list[int | None] = [None] * MAX_LEVELS

    def restart(self, level: int, number: int | None = None) -> None:
        """Set the number of the last paragraph of a level; None lets it begin with its first number."""
        self._numbers[level] = number

    def count(self, level: int, levels: Sequence[Level]) -> None:
        """Count a paragraph of a level: those below start again, those above without a number have their first one."""
        for above in range(level):
            if self._numbers[above] is None:
                self._numbers[above] = levels[above].start
        number = self._numbers[level]
        self._numbers[level] = levels[level].start if number is None else number + 1
        for below in range(level + 1, MAX_LEVELS):
            if level < levels[below].restart:
                self._numbers[below] = None

    def label(self, level: int, levels: Sequence[Level], lang: str) -> str:
        """Return the label of the paragraph that was counted last."""
        labelled = levels[level]

        def write(place: re.Match[str]) -> str:
            above = int(place[1]) - 1
            if not 0 <= above <= level or (shown := levels[above]).number_format in ("bullet", "none"):
                return ""
            number_format = "decimal" if labelled.is_legal else shown.number_format
            return write_number(self._numbers[above] or 0, number_format, lang)

        return " ".join(_PLACE.sub(write, labelled.text).split())[:_MAX_LABEL_CHARACTERS]


def remove_bullets(markdown: str) -> str:
    """Return the Markdown of xberg without the bullets before labels, and without marks."""
    if MARK not in markdown:
        return markdown
    blocks = (
        _BULLET_BEFORE_MARK.sub(r"\1", _INDENTED.sub(_indent, block)).replace(MARK, "") if MARK in block else block
        for block in markdown.split("\n\n")
    )
    return "\n\n".join(blocks)


def _indent(line: re.Match[str]) -> str:
    return " " * (len(line[1]) // 2 * 3)
