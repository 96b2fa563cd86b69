"""Jupyter notebooks: Markdown cells, and code cells in fences. Outputs are ignored."""

import json
from typing import Any

from rag.errors import ParseFailed
from rag.parsing.encodings.decode_text import decode_text
from rag.parsing.parse_markdown import parse_markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from .extracted_markdown import with_chosen_title


def read(content: bytes, limits: Limits) -> ParsedDocument:
    """Read a notebook of version 3 or 4.

    Raises:
        ParseFailed: If the notebook is damaged.
    """
    try:
        notebook = json.loads(decode_text(content))
        language = str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))
        # Version 3 stores its cells in worksheets.
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        texts = [_render_cell(cell, language if language.isalnum() else "") for cell in cells]
    except (ValueError, RecursionError, AttributeError, KeyError, IndexError, TypeError):
        raise ParseFailed("The notebook is damaged or cut off. Save it again and send that.") from None
    return with_chosen_title(parse_markdown("\n\n".join(text for text in texts if text.strip())))


def _render_cell(cell: Any, language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = (source if isinstance(source, str) else "".join(source)).strip("\n")
    if cell.get("cell_type") == "heading" and text:  # of version 3
        return f"{'#' * min(max(int(cell.get('level', 1)), 1), 6)} {' '.join(text.split())}"
    if cell.get("cell_type") != "code" or not text:
        return text
    fence = "```" if "```" not in text else "````"
    return f"{fence}{language}\n{text}\n{fence}"
