"""Headings of markup languages that stay as they were written: AsciiDoc, Org and LaTeX."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_ASCIIDOC = re.compile(r"(={1,6})[ \t]+(\S.*)")
_ASCIIDOC_BLOCK = re.compile(r"(?:-{4,}|\.{4,}|/{4,}|\+{4,}|`{3,})[ \t]*")
_ORG = re.compile(r"(\*{1,8})[ \t]+(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED)[ \t]+)?(?:\[#[A-Z]\][ \t]*)?(\S.*)")
_ORG_TAGS = re.compile(r"[ \t]:[\w@#%:]{1,100}:[ \t]*$")
_ORG_BLOCK = re.compile(r"[ \t]*#\+(begin|end)_(?:src|example|quote|export)\b", re.I)
_ORG_TITLE = re.compile(r"#\+title:[ \t]*(\S.*)", re.I)
_TEX_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5}
_TEX = re.compile(
    r"[ \t]*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]{0,200}\])?\{(.{1,300})\}"
)
_TEX_TITLE = re.compile(r"[ \t]*\\title\{(.{1,300}?)\}[ \t]*$")
_TEX_COMMAND = re.compile(r"\\[A-Za-z]{1,30}[ \t]?|[{}~]")


@dataclass(frozen=True, slots=True)
class MarkupTitles:
    """What a text declares.

    Attributes:
        title: The title of the text; empty if it declares none.
        headings: The number of the line, the level and the title of each heading.
    """

    title: str
    headings: list[tuple[int, int, str]]


def find_asciidoc(lines: Sequence[str]) -> MarkupTitles:
    """Return the title and the headings of a text in AsciiDoc. Blocks of code have none."""
    headings: list[tuple[int, int, str]] = []
    block = ""
    for number, line in enumerate(lines):
        if _ASCIIDOC_BLOCK.fullmatch(line):
            block = "" if block == line.strip() else block or line.strip()
        elif not block and (match := _ASCIIDOC.fullmatch(line)):
            headings.append((number, len(match[1]), match[2].strip()))
    return MarkupTitles(next((title for _, level, title in headings if level == 1), ""), headings)


def find_org(lines: Sequence[str]) -> MarkupTitles:
    """Return the title and the headings of a text in Org mode. Blocks of code have none."""
    headings: list[tuple[int, int, str]] = []
    title, is_block = "", False
    for number, line in enumerate(lines):
        if block := _ORG_BLOCK.match(line):
            is_block = block[1].lower() == "begin"
        elif declared := _ORG_TITLE.fullmatch(line):
            title = title or declared[1].strip()
        elif not is_block and (match := _ORG.fullmatch(line)):
            headings.append((number, min(len(match[1]), 6), _ORG_TAGS.sub("", match[2]).strip()))
    return MarkupTitles(title, headings)


def find_tex(lines: Sequence[str]) -> MarkupTitles:
    """Return the title and the headings of a text in LaTeX."""
    headings: list[tuple[int, int, str]] = []
    title = ""
    for number, line in enumerate(lines):
        if declared := _TEX_TITLE.match(line):
            title = title or _plain(declared[1])
        elif (match := _TEX.match(line)) and (name := _plain(match[2].split("}\\", 1)[0])):
            headings.append((number, _TEX_LEVELS[match[1]], name))
    return MarkupTitles(title, headings)


def _plain(tex: str) -> str:
    return " ".join(_TEX_COMMAND.sub(" ", tex).split())
