"""Plain text with its headings."""

import itertools

from rag.text.markup.plain_structure import find_headings
from rag.text.markup.titles.markdown_in_plain_text import find_markdown_headings
from rag.text.markup.titles.minor_headings import add_minor_headings
from rag.text.markup.titles.plain_titles import find_plain_titles
from rag.types import Heading, ParsedDocument

# Longer texts are logs and tables; their lines would need as much memory as the text.
_MAX_STRUCTURED_CHARACTERS = 5_000_000


def parse_plain(content: str) -> ParsedDocument:
    """Return a document with this text, unchanged, and its headings. Its media type is empty: the calling code sets it.

    Headings are those of Markdown, underlined as in reStructuredText, those of a manual page, or short lines above
    paragraphs. As in reStructuredText, their order says which style belongs to which level. Bold titles and
    questions of an FAQ are below all of these.
    """
    if len(content) > _MAX_STRUCTURED_CHARACTERS:
        return ParsedDocument(text=content)
    lines = content.splitlines(keepends=True)
    starts = [0, *itertools.accumulate(map(len, lines))]
    lines = [line.rstrip("\r\n") for line in lines]
    marked = find_markdown_headings(lines)
    levels = {"=": 1, "-": 2} if marked else {}  # in Markdown, two styles of underlining have fixed levels
    styled = list(find_headings(lines)) or ([] if marked else find_plain_titles(lines))
    levelled = [(number, title, levels.setdefault(style, len(levels) + 1)) for number, title, style in styled]
    headings = [Heading(starts[number], level, title) for number, title, level in sorted([*marked, *levelled])]
    return ParsedDocument(text=content, headings=add_minor_headings(headings, lines, starts))
