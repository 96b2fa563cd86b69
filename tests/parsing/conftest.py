"""Fixtures of the parsing tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rag.parsing import parse
from rag.types import ParsedDocument

Read = Callable[..., ParsedDocument]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A function that parses a file: read(content, name)."""

    def read(content: bytes, name: str, content_type: str = "", *, ocr: bool = False) -> ParsedDocument:
        file = tmp_path / "original"
        file.write_bytes(content)
        return parse.parse_file(file, content_type=content_type, name=name, ocr=ocr)

    return read
