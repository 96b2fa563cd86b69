"""Jupyter notebooks: the Markdown cells, and the code in fences. Outputs are left out."""

import json
from typing import Any

from rag.errors import ParseFailed
from rag.parsing import encodings, markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument


def read(content: bytes, limits: Limits) -> ParsedDocument:
    try:
        notebook = json.loads(encodings.decode_text(content))
        language = str(notebook.get("metadata", {}).get("language_info", {}).get("name", "python"))
        # Version 3 had its cells in worksheets.
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        written = [_cell(cell, language if language.isalnum() else "") for cell in cells]
    except (ValueError, RecursionError, AttributeError, KeyError, IndexError, TypeError):
        raise ParseFailed("The notebook is damaged or cut off. Save it again and send that.") from None
    return markdown.parse_markdown("\n\n".join(text for text in written if text.strip()))


def _cell(cell: Any, language: str) -> str:
    source = cell.get("source", cell.get("input", ""))
    text = (source if isinstance(source, str) else "".join(source)).strip("\n")
    if cell.get("cell_type") != "code" or not text:
        return text
    fence = "```" if "```" not in text else "````"
    return f"{fence}{language}\n{text}\n{fence}"
