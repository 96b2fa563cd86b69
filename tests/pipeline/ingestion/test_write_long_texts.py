"""Long documents are held, embedded and written in parts, with the result of writing them at once."""

import uuid

import numpy as np
import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from rag.models import Chunk, Document
from rag.models.content.pgvector_tables import Embedding384
from rag.pipeline import embed_documents
from rag.pipeline.ingestion import index, parse_chunk_embed, write_long_texts
from rag.pipeline.ingestion.chunk import chunk
from rag.pipeline.ingestion.compact_sequences import ChunkSequence, DigestSequence, find_first_of_equal
from rag.providers.stores import vector_files
from rag.providers.stores.pgvector import vectors
from rag.types import ChunkDraft, ChunkingOptions, Heading, Page, ParsedDocument, Submission
from ragsite.postgres.models import new_revision
from tests.support.factories import World, ingest_text

TEXT = "\n\n".join(f"Zébra {number} drinks water 🦓 from river {number % 7}. " * 8 for number in range(40))


def test_chunks_are_cut_out_of_the_text_as_they_were_found() -> None:
    parsed = ParsedDocument(
        TEXT, headings=(Heading(0, 1, "A"), Heading(900, 2, "B")), pages=(Page(0, 1), Page(1500, 2))
    )
    options = ChunkingOptions(size=64, overlap=16)
    expected = list(chunk(parsed, options))
    actual = ChunkSequence(TEXT, iter(expected))
    assert len(actual) == len(expected) > 20
    assert list(actual) == expected
    assert (actual[-1], actual[2:5]) == (expected[-1], expected[2:5])
    assert list(ChunkSequence("abc", [ChunkDraft(0, 0, 3, "abc", (), 1)])) == [ChunkDraft(0, 0, 3, "abc", (), 1)]
    with pytest.raises(IndexError):
        actual[len(expected)]


@given(st.lists(st.integers(0, 8), max_size=30))
def test_equal_chunks_are_found(numbers: list[int]) -> None:
    digests = [uuid.UUID(int=number << 64) for number in numbers]
    sequence = DigestSequence(digests)
    assert (list(sequence), sequence[1:3]) == (digests, digests[1:3])
    is_first, places = find_first_of_equal(digests)
    values = [digest for digest, first in zip(digests, is_first, strict=True) if first]
    assert values == list(dict.fromkeys(digests))
    assert [values[place] for place in places] == digests


def test_vectors_of_a_long_document_are_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_MAX_BYTES_IN_MEMORY", 1000)
    assert type(vector_files.allocate(3, 4)) is np.ndarray
    in_file = vector_files.allocate(1000, 4)
    assert isinstance(in_file, np.memmap)
    in_file[:] = np.arange(4000).reshape(1000, 4)
    vector_files.release_memory(in_file[500:])
    assert in_file[999].tolist() == np.arange(3996, 4000).astype(np.float16).tolist()


def test_without_space_for_the_file_vectors_are_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(vector_files, "_MAX_BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr("os.posix_fallocate", refuse)
    assert type(vector_files.allocate(1000, 4)) is np.ndarray


def test_a_text_written_in_parts_is_stored_whole(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    source = world.source()
    ingest_text(source, "at-once.txt", TEXT, title="T")
    monkeypatch.setattr(write_long_texts, "_PART_CHARACTERS", 100)
    monkeypatch.setattr(vectors, "_MAX_WRITTEN", 3)
    monkeypatch.setattr(vector_files, "_MAX_BYTES_IN_MEMORY", 1000)
    ingest_text(source, "in-parts.txt", TEXT, title="T")
    assert Document.objects.get(path="in-parts.txt").text == TEXT
    assert _stored("in-parts.txt") == _stored("at-once.txt")
    ingest_text(source, "in-parts.txt", TEXT.replace("Zébra 3 ", "Otter 3 "))
    assert Document.objects.get(path="in-parts.txt").text == TEXT.replace("Zébra 3 ", "Otter 3 ")


def test_a_text_whose_document_is_not_stored_is_an_error(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_long_texts, "_PART_CHARACTERS", 100)
    document = Document(source=world.source(), path="lost.txt", text=TEXT)
    with (
        pytest.raises(RuntimeError, match="not stored"),
        transaction.atomic(),
        write_long_texts.write_apart([document]),
    ):
        pass
    assert document.text == TEXT


def test_selected_vectors_of_a_long_document_stay_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_files, "_MAX_BYTES_IN_MEMORY", 1000)
    monkeypatch.setattr(embed_documents, "_RELEASE_EVERY", 300)
    in_file = vector_files.allocate(1000, 4)
    in_file[:] = np.arange(4000).reshape(1000, 4) % 2048
    indexes = np.array([5, *range(999), 5])
    selected = embed_documents.EmbeddedTexts(in_file, ()).select(indexes).vectors
    assert isinstance(selected, np.memmap)
    assert np.array_equal(selected, in_file[indexes])


def test_a_text_is_not_seen_before_all_of_it_is(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    source = world.source()
    ingest_text(source, "long.txt", "Before.")
    monkeypatch.setattr(write_long_texts, "_PART_CHARACTERS", 100)

    def fail(*arguments: object) -> None:
        raise OSError("lost")

    monkeypatch.setattr(write_long_texts, "_write", fail)
    prepared = parse_chunk_embed.prepare(
        Submission(path="long.txt", title="", text=TEXT),
        source=source,
        options=ChunkingOptions(64, 0),
        on_batch=lambda done: None,
    )
    with pytest.raises(OSError, match="lost"), transaction.atomic():
        index.index_documents({new_revision(): prepared}, source=source)
    assert Document.objects.get().text == "Before."
    assert [stored.text for stored in Chunk.objects.all()] == ["Before."]
    assert prepared.chunked.parsed.text == TEXT


def _stored(path: str) -> list[tuple[object, ...]]:
    vectors = {row.chunk_id: tuple(row.embedding) for row in Embedding384.objects.filter(document__path=path)}
    rows = Chunk.objects.filter(document__path=path).order_by("position").values_list("pk", "position", "text")
    return [(position, text, vectors[key]) for key, position, text in rows]
