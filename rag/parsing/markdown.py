"""Markdown: the text stays as it was written, so that offsets hold; its headings are found beside it."""

import re
from itertools import pairwise

from markdown_it import MarkdownIt

from rag.types import Heading, ParsedDocument

# The same three line ends as markdown-it, whose line numbers are turned into offsets here.
_LINE_END = re.compile(r"\r\n?|\n")
# Blocks only: what stands inside a paragraph is of no interest here, and costs most of the time.
_parser = MarkdownIt("commonmark", {"maxNesting": 20}).disable("inline")


def parse_markdown(content: str) -> ParsedDocument:
    return ParsedDocument(text=content, is_markdown=True, headings=tuple(_headings(content)))


def _headings(content: str) -> list[Heading]:
    starts = [0, *(match.end() for match in _LINE_END.finditer(content))]
    tokens = _parser.parse(content)
    found = []
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open" and opening.map and inline.content.strip():
            found.append(Heading(starts[opening.map[0]], int(opening.tag[1]), inline.content.strip()[:200]))
    return found
