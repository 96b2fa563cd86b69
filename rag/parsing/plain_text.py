"""Plain text with its headings."""

import functools
import itertools
import re
from collections.abc import Callable, Sequence

from rag.text.markup.plain_structure import find_headings
from rag.text.markup.titles import markup_headings
from rag.text.markup.titles.markdown_in_plain_text import find_markdown_headings
from rag.text.markup.titles.minor_headings import add_minor_headings
from rag.text.markup.titles.plain_titles import find_plain_titles
from rag.text.markup.titles.wiki_headings import find_wiki_headings
from rag.types import Heading, LongText, ParsedDocument, read_lines_in_parts

from . import formats

# Longer texts are logs and tables; their lines would need as much memory as the text.
_MAX_STRUCTURED_CHARACTERS, _MAX_TITLE = 5_000_000, 200
# What programs write for terminals: colours and other commands, and letters that are struck over each other.
_TERMINAL_CODE = re.compile(
    r"\x1b(?:\[[0-?]{0,50}[ -/]{0,5}[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[()][0-9A-B])|[^\n]\x08"
)
_MARKUP: dict[str, Callable[[Sequence[str]], markup_headings.MarkupTitles]] = {
    formats.ASCIIDOC: markup_headings.find_asciidoc,
    formats.ORG: markup_headings.find_org,
    formats.TEX: markup_headings.find_tex,
}


def parse_markup(content: str, media_type: str) -> ParsedDocument:
    """Return a document with this text, unchanged, and the headings of its markup language, if that is known."""
    find_titles = _MARKUP.get(media_type)
    if find_titles is None or len(content) > _MAX_STRUCTURED_CHARACTERS:
        return ParsedDocument(content)
    lines = content.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    titles = find_titles([line.rstrip("\r\n") for line in lines])
    headings = tuple(Heading(starts[number], level, title[:_MAX_TITLE]) for number, level, title in titles.headings)
    return ParsedDocument(content, headings=headings, title=titles.title[:_MAX_TITLE])


def parse_long(content: LongText, media_type: str) -> ParsedDocument:
    """Return a document with a text that is too long for its headings to be found."""
    parts = functools.partial(read_lines_in_parts, content)
    if media_type in formats.PLAIN_TEXTS and any(map(_has_terminal_codes, parts())):
        content = LongText(map(_without_terminal_codes, parts()))
    return ParsedDocument("", media_type=media_type, long_text=content)


def parse_plain(content: str) -> ParsedDocument:
    """Return a document with this text and its headings. Its media type is empty: the calling code sets it.

    Headings are those of Markdown and of wikis, underlined as in reStructuredText, those of a manual page, or short
    lines above paragraphs. As in reStructuredText, their order says which style belongs to which level. Bold titles and
    questions of an FAQ are below all of these. Commands for terminals, such as those of colours, are left out.
    """
    content = _without_terminal_codes(content)
    if len(content) > _MAX_STRUCTURED_CHARACTERS:
        return ParsedDocument(text=content)
    lines = content.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    lines = [line.rstrip("\r\n") for line in lines]
    marked = find_markdown_headings(lines) or find_wiki_headings(lines)
    levels = {"=": 1, "-": 2} if marked else {}  # in Markdown, two styles of underlining have fixed levels
    styled = list(find_headings(lines)) or ([] if marked else find_plain_titles(lines))
    levelled = [(number, title, levels.setdefault(style, len(levels) + 1)) for number, title, style in styled]
    headings = [Heading(starts[number], level, title) for number, title, level in sorted([*marked, *levelled])]
    return ParsedDocument(text=content, headings=add_minor_headings(headings, lines, starts))


def _has_terminal_codes(content: str) -> bool:
    return "\x1b" in content or "\x08" in content


def _without_terminal_codes(content: str) -> str:
    return _TERMINAL_CODE.sub("", content) if _has_terminal_codes(content) else content
