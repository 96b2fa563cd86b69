"""Spreadsheets: Excel workbooks of all versions, and OpenDocument spreadsheets."""

from dataclasses import replace

from rag.parsing import formats, zip_files
from rag.parsing.readers import extracted_markdown
from rag.parsing.sandbox.limits import Limits
from rag.types import ParsedDocument

from . import open_document_slides, prepare_for_xberg
from .legacy_title import read_title


def read(content: bytes, limits: Limits, media_type: str) -> ParsedDocument:
    """Read a spreadsheet: a heading and a table for each sheet."""
    if media_type == formats.ODS and not content.startswith(zip_files.MAGIC):
        content = open_document_slides.pack_flat(content, media_type)
    if media_type != formats.XLS:
        zip_files.check_archive(content, limits)
    if media_type == formats.ODS:
        content = prepare_for_xberg.prepare_open_spreadsheet(content)
    parsed = extracted_markdown.read(content, media_type, limits)
    return replace(parsed, title=read_title(content)) if media_type == formats.XLS else parsed
