"""Files with a text of many megabytes are read in parts, with the result of reading them at once."""

import io
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import ParseFailed
from rag.models import Chunk, DataSource, Document
from rag.parsing import parse
from rag.parsing.encodings import unicode_text
from rag.parsing.encodings.unicode_text import decode_unicode_file
from rag.pipeline.ingestion.chunk import chunk
from rag.pipeline.ingestion.compact_sequences import ChunkSequence
from rag.services.jobs.submit_documents import Upload, submit_documents
from rag.text.languages import detect_language
from rag.types import ChunkingOptions, LongText, ParsedDocument, Submission, read_lines_in_parts
from tests.support.factories import World, process_queue

TEXT = "\n\n".join(f"Zébra {number} drinks water 🦓 from river {number % 7}. " * 8 for number in range(40))
OPTIONS = ChunkingOptions(64, 16)


@pytest.fixture
def small_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files of more than 1,000 bytes be read as a LongText."""
    monkeypatch.setattr(unicode_text, "_MIN_LONG_BYTES", 1000)
    monkeypatch.setattr(unicode_text, "_READ_CHARACTERS", 1001)


@given(
    st.lists(st.sampled_from(["a" * 16_383, "é🦓" * 9_000, "\n", "b"]), max_size=6),
    st.integers(-70_000, 70_000),
    st.integers(-70_000, 70_000),
)
def test_parts_are_cut_out_as_those_of_a_string_are(parts: list[str], start: int, end: int) -> None:
    text, long_text = "".join(parts), LongText(parts)
    assert (len(long_text), long_text.utf8_bytes) == (len(text), len(text.encode()))
    assert long_text[start:end] == text[start:end]
    assert long_text[:] == text
    assert long_text[start:] == text[start:]


def test_parts_with_gaps_are_refused() -> None:
    with pytest.raises(ValueError, match="without gaps"):
        LongText(["abc"])[::2]


@given(st.lists(st.sampled_from(["word " * 60_000, "é" * 300_000, "\n", "line\r\n", "x\r"]), max_size=8))
def test_a_text_is_divided_where_lines_or_words_end(parts: list[str]) -> None:
    text = "".join(parts)
    divided = list(read_lines_in_parts(LongText(parts)))
    assert divided == list(read_lines_in_parts(text))
    assert "".join(divided) == text
    assert all(0 < len(part) <= 256 * 1024 for part in divided)
    for part in divided[:-1]:
        assert part.endswith("\n") or "\n" not in part
        assert part[-1] in "\n\r " or not part.strip("é")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("is_long", [False, True])
def test_a_file_is_decoded_in_parts(
    encoding: str, is_long: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if is_long:
        request.getfixturevalue("small_is_long")
    file = tmp_path / "text"
    text = "plain words, \r\n" * 100 + TEXT
    file.write_bytes(text.encode(encoding))
    decoded = decode_unicode_file(file)
    assert isinstance(decoded, LongText) == is_long
    assert decoded is not None
    assert decoded[:] == text
    file.write_bytes(TEXT.encode() + b"\xe9")
    assert decode_unicode_file(file) is None
    file.write_bytes(TEXT.encode() + b"\x00 and more")
    with pytest.raises(ParseFailed, match="NUL"):
        decode_unicode_file(file)


@pytest.mark.usefixtures("small_is_long")
def test_a_long_text_has_the_chunks_of_a_string(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    file.write_text(TEXT.replace("Zébra 3 ", "\x1b[31mZébra\x1b[0m 3 "))
    parsed = parse.parse_file(file, content_type="text/plain", name="long.txt")
    assert (parsed.text, parsed.content[:]) == ("", TEXT)
    assert list(chunk(parsed, OPTIONS)) == list(chunk(ParsedDocument(TEXT), OPTIONS))
    file.write_text(" \n" * 1000)
    with pytest.raises(ParseFailed, match="no text"):
        parse.parse_file(file, content_type="text/plain", name="long.txt")


def test_a_line_of_a_million_words_has_chunks() -> None:
    text = "word " * 250_000 + "é" * 1_200_000
    chunks = ChunkSequence(text, chunk(ParsedDocument(text), ChunkingOptions(2048, 0)))
    assert "".join(text[part.start : part.end] for part in chunks).replace(" ", "") == text.replace(" ", "")
    assert max(part.tokens for part in chunks) <= 2048


@pytest.mark.usefixtures("small_is_long")
@pytest.mark.parametrize("name", ["long.txt", "table.csv"])
def test_a_long_file_is_stored_whole(world: World, name: str) -> None:
    source = world.source()
    text = TEXT if name == "long.txt" else "name;river\n" + "".join(f"Zébra {n};🦓 {n}\n" for n in range(300))
    _upload(world, source, name, text)
    process_queue()
    document = Document.objects.get()
    stored = [document.text[row.start : row.end] == row.text for row in Chunk.objects.all()]
    assert len(stored) > 1
    assert all(stored)
    assert "Zébra 39" in document.text
    assert document.lang == detect_language(document.text)
    assert document.bytes == len(document.text.encode()) + len(text.encode())
    if name == "long.txt":
        assert document.text == TEXT


@pytest.mark.parametrize("letter", ["e", "🦓"])
def test_a_long_text_is_in_memory_once_while_it_is_read_and_chunked(
    letter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's objects only: what is allocated for the text, its chunks and their digests."""
    monkeypatch.setattr(unicode_text, "_MIN_LONG_BYTES", 5_000_000)
    file = tmp_path / "long.txt"
    file.write_text("".join(f"Line {number} of a long protocol of th{letter} river.\n" for number in range(130_000)))
    size = file.stat().st_size
    assert size > 5_000_000
    short = tmp_path / "short.txt"
    short.write_text("It loads the tokenizer, and all modules that are needed.")
    parsed = parse.parse_file(short, content_type="text/plain", name="short.txt")
    ChunkSequence(parsed.content, chunk(parsed, OPTIONS))
    tracemalloc.start()
    try:
        parsed = parse.parse_file(file, content_type="text/plain", name="long.txt")
        chunks = ChunkSequence(parsed.content, chunk(parsed, ChunkingOptions(512, 50)))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(chunks) > 1000
    assert peak < 2 * size


def _upload(world: World, source: DataSource, name: str, text: str) -> None:
    submission = Submission(path=name, title="", text="")
    upload = Upload(submission, lambda: io.BytesIO(text.encode()), name)
    submit_documents(source=source, documents=[upload], options=OPTIONS, actor=world.users["editor"])
