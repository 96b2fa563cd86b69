"""Which parser reads what."""

from pathlib import Path, PurePosixPath

from rag.errors import UnsupportedFormat
from rag.types import Parsed

from . import markdown, text

_MARKDOWN_TYPES = {"text/markdown", "text/x-markdown"}
_MARKDOWN_SUFFIXES = {".md", ".markdown", ".mdx"}
# Besides text/*: types whose bytes are text for people to read.
_TEXT_TYPES = {"application/json", "application/xml", "application/x-ndjson", "application/yaml", "application/toml"}

# What clients call a file whose type they do not know; then its name decides.
_UNKNOWN_TYPE = "application/octet-stream"
_MAGIC = {b"%PDF-": "PDF", b"PK\x03\x04": "Office files", b"\xd0\xcf\x11\xe0": "Old Office files"}
_TEXT_SUFFIXES = _MARKDOWN_SUFFIXES | {".txt", ".rst", ".csv", ".json", ".xml", ".yaml", ".yml", ".toml"}


def parse(content: str, *, content_type: str, path: str) -> Parsed:
    """The text as it is searched and cited, with its headings where the format has them."""
    if _is_markdown(content_type, path):
        return markdown.parse(content)
    return text.parse(content)


def detect(head: bytes, *, content_type: str, name: str) -> str:
    """The MIME type that a file is read as, told by its beginning. Raises UnsupportedFormat."""
    mime = _mime(content_type)
    for magic, kind in _MAGIC.items():
        if head.startswith(magic):
            raise UnsupportedFormat(f"{kind} cannot be read yet. Send its text in `text`, or a text format.")
    if mime == _UNKNOWN_TYPE and _suffix(name) not in _TEXT_SUFFIXES:
        raise UnsupportedFormat(f"{mime} cannot be read yet. Send its text in `text`, or a text format.")
    if "/" in mime and not mime.startswith("text/") and mime not in {*_TEXT_TYPES, _UNKNOWN_TYPE}:
        raise UnsupportedFormat(f"{mime} cannot be read yet. Send its text in `text`, or a text format.")
    return media_type(content_type, name)


def read(file: Path, *, content_type: str, name: str) -> Parsed:
    """The file as it is searched and cited. Raises UnsupportedFormat, ParseFailed."""
    return parse(text.decode(file.read_bytes()), content_type=content_type, path=name)


def media_type(content_type: str, path: str) -> str:
    """The content type as given; without one, the MIME type of what it is read as."""
    return content_type or ("text/markdown" if _is_markdown("", path) else "text/plain")


def _is_markdown(content_type: str, path: str) -> bool:
    mime = _mime(content_type)
    if mime in _MARKDOWN_TYPES:
        return True
    # A declared type other than a plain one is believed; `documentation` and the like are not MIME types.
    undeclared = "/" not in mime or mime in ("text/plain", _UNKNOWN_TYPE)
    return undeclared and _suffix(path) in _MARKDOWN_SUFFIXES


def _suffix(path: str) -> str:
    return PurePosixPath(path.split("?")[0].split("#")[0]).suffix.lower()


def _mime(content_type: str) -> str:
    return content_type.split(";")[0].strip().lower()
