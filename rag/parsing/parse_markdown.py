"""Reads Markdown, also that of other formats: its text stays unchanged, the offsets of its headings are recorded."""

import re
from itertools import pairwise

from markdown_it import MarkdownIt

from rag.text.markup import html_tags
from rag.text.markup.titles.minor_headings import add_minor_headings
from rag.types import Heading, ParsedDocument

# The line ends of markdown-it, whose line numbers are converted to offsets.
_LINE_END = re.compile(r"\r\n?|\n")
_MAX_TITLE_CHARACTERS = 200
_FRONT_MATTER = re.compile(r"\ufeff?(---|\+\+\+)[ \t]*\r?\n(.{0,20000}?)^(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.M | re.S)
_TITLE = re.compile(r"^title[ \t]*[:=][ \t]*(?P<quote>[\"']?)(?P<title>[^\r\n]+?)(?P=quote)[ \t]*\r?$", re.M | re.I)
# Only blocks are parsed: inline elements are not needed and take most of the time.
_parser = MarkdownIt("commonmark", {"maxNesting": 20}).disable("inline")
_renderer = MarkdownIt("commonmark")


def parse_markdown(content: str) -> ParsedDocument:
    """Return a document with this text, unchanged, its headings, and the title that its front matter declares.

    Its media type is empty: the calling code sets it.
    """
    front_matter, title = _FRONT_MATTER.match(content), None
    headings = _headings(content)
    if front_matter and ":" in front_matter[2] + front_matter[1].replace("+", ":"):
        title = _TITLE.search(front_matter[2])
        body_start = front_matter.end()
        headings = [
            Heading(heading.start + body_start, heading.level, heading.title)
            for heading in _headings(content[body_start:])
        ]
    return ParsedDocument(
        text=content,
        is_markdown=True,
        headings=tuple(headings),
        title=html_tags.remove_tags(title["title"]).strip()[:_MAX_TITLE_CHARACTERS] if title else "",
    )


def to_html(content: str) -> str:
    """Return a text as clients show it that render Markdown. It may contain scripts."""
    return str(_renderer.render(content))


def _headings(content: str) -> list[Heading]:
    line_starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
    tokens = _parser.parse(content)
    headings = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.map and inline.content.strip():
            title = _readable_title(inline.content)[:_MAX_TITLE_CHARACTERS]
            headings.append(Heading(line_starts[opening.map[0]], int(opening.tag[1]), title))
    return list(add_minor_headings(headings, _LINE_END.split(content), line_starts))


def _readable_title(title: str) -> str:
    """Return a heading without its anchors, which nobody reads: attributes at its end, and tags."""
    return html_tags.remove_tags(html_tags.remove_heading_attributes(title)).strip() or title.strip()
