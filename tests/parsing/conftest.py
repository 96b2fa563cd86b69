"""Fixtures of the parsing tests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag.errors import ParseFailed
from rag.parsing import parse
from rag.types import ParsedDocument

Read = Callable[..., ParsedDocument]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """A function that parses a file: read(content, name)."""

    def read(content: bytes, name: str, content_type: str = "", *, ocr: bool = False, lang: str = "") -> ParsedDocument:
        file = tmp_path / "original"
        file.write_bytes(content)
        return parse.parse_file(file, content_type=content_type, name=name, ocr=ocr, lang=lang)

    return read


@pytest.fixture
def valid_files_are_parsed_afterwards(read: Read, settings: Any) -> Iterator[None]:
    before = (settings.RAG_PARSE_TIMEOUT_SECONDS, settings.RAG_PARSE_MAX_MEMORY_MB)
    yield
    settings.RAG_PARSE_TIMEOUT_SECONDS, settings.RAG_PARSE_MAX_MEMORY_MB = before
    assert read(b"<html><body><p>Bees hum.</p></body></html>", "a.html").text == "Bees hum."


def error_message(read: Read, content: bytes, name: str) -> str:
    with pytest.raises(ParseFailed) as caught:
        read(content, name)
    return caught.value.message
