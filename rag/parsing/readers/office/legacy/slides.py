"""Presentations of PowerPoint 97 to 2003."""

import re

from rag.parsing import formats
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .title import read_title


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a presentation: each slide is a page."""
    extracted = extract(content, formats.PPT, limits)
    preamble, *slides = re.split(r"^-----$", extracted.markdown, flags=re.M)
    pages = [re.sub(r"^\[\^\d+\]:\s*", "Notes: ", slide, flags=re.M) for slide in slides]
    title = read_title(content)
    return extracted_markdown.join_pages(enumerate(pages, 1), title, preamble=preamble)
