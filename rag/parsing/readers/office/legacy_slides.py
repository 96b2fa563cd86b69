"""Presentations of PowerPoint 97 to 2003."""

import re

from rag.parsing import formats
from rag.parsing.readers import extracted_markdown
from rag.parsing.readers.xberg_adapter import extract
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a presentation: each slide is a page."""
    extracted = extract(content, formats.PPT, limits)
    slides = re.split(r"^-----$", extracted.markdown, flags=re.M)
    notes = re.compile(r"^\[\^\d+\]:\s*", re.M)
    numbered = [
        part for number, slide in enumerate(slides[1:], 1) for part in (str(number), notes.sub("Notes: ", slide))
    ]
    return extracted_markdown.join_pages([slides[0], *numbered], extracted_markdown.clean_title(extracted.title))
