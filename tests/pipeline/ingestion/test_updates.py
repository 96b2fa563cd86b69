"""A new version of a document: only changes are embedded, and the result is that of a first ingestion."""

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.models import Chunk, DataSource, Document, EmbeddingModel, IngestionDocument
from rag.models.content.pgvector_tables import Embedding384
from rag.pipeline.ingestion import index, parse_chunk_embed
from rag.services.jobs.create_job import create_job
from rag.types import ChunkingOptions, Submission
from ragsite.postgres.models import uuid7
from tests.support import factories
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture
def model_provider() -> Iterator[ProviderServer]:
    with ProviderServer(dimensions=384).running() as server:
        yield server


@pytest.fixture
def source(live_world: World, model_provider: ProviderServer) -> DataSource:
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    return live_world.source(embedding_model=model)


def paragraphs(count: int) -> list[str]:
    return [f"# Part {number}\n\n" + f"Zebra number {number} drinks water. " * 60 for number in range(count)]


def take_embedded_texts(model_provider: ProviderServer) -> list[str]:
    """The texts that the provider has embedded since the last call."""
    texts = [text for request in model_provider.requests for text in request["input"]]
    model_provider.requests.clear()
    return texts


def stored_chunks(path: str) -> list[tuple[Any, ...]]:
    """The document's chunks with their vectors, without ids."""
    vectors = {row.chunk_id: tuple(row.embedding) for row in Embedding384.objects.filter(document__path=path)}
    chunks = Chunk.objects.filter(document__path=path).order_by("position")
    rows = chunks.values_list("pk", "position", "start", "end", "text", "headings", "tokens", "digest")
    return [(*row, vectors[key]) for key, *row in rows]


def test_an_edit_to_one_paragraph_embeds_only_its_chunks(source: DataSource, model_provider: ProviderServer) -> None:
    parts = paragraphs(12)
    ingest_text(source, "long.md", "\n\n".join(parts), title="Long")
    before = dict(Chunk.objects.values_list("digest", "pk"))
    assert len(take_embedded_texts(model_provider)) == len(before) >= 12
    parts[4] = parts[4].replace("Zebra", "Giraffe")
    assert ingest_text(source, "long.md", "\n\n".join(parts), title="Long").status == "updated"
    embedded = take_embedded_texts(model_provider)
    assert embedded
    assert all("Giraffe" in text for text in embedded)
    after = dict(Chunk.objects.values_list("digest", "pk"))
    kept = before.keys() & after.keys()
    assert len(kept) == len(before) - len(embedded)
    assert all(before[digest] == after[digest] for digest in kept), "they keep their rows and ids"


def test_new_text_at_the_start_moves_chunks_without_embedding(
    source: DataSource, model_provider: ProviderServer
) -> None:
    parts = paragraphs(6)
    ingest_text(source, "long.md", "\n\n".join(parts), title="Long")
    take_embedded_texts(model_provider)
    ingest_text(source, "long.md", "\n\n".join(["# New\n\n" + "A lion came. " * 80, *parts]), title="Long")
    assert all("lion" in text for text in take_embedded_texts(model_provider))
    document = Document.objects.get()
    for chunk in Chunk.objects.all():
        assert chunk.text == document.text[chunk.start : chunk.end]
    assert sorted(Chunk.objects.values_list("position", flat=True)) == list(range(document.chunk_count))


def test_repeated_text_is_embedded_once(source: DataSource, model_provider: ProviderServer) -> None:
    part = "# Same\n\n" + "The same words again. " * 90
    ingest_text(source, "twice.md", "\n\n".join([part] * 4), title="Twice")
    embedded = take_embedded_texts(model_provider)
    assert len(embedded) == len(set(embedded)) < Chunk.objects.count() == Embedding384.objects.count()


def test_a_new_title_with_new_content_embeds_all_chunks(source: DataSource, model_provider: ProviderServer) -> None:
    """The title is part of the embedded text."""
    parts = paragraphs(3)
    ingest_text(source, "long.md", "\n\n".join(parts), title="Old title")
    take_embedded_texts(model_provider)
    ingest_text(source, "long.md", "\n\n".join([*parts, "The end."]), title="New title")
    assert len(take_embedded_texts(model_provider)) == Chunk.objects.count()


def test_small_documents_of_a_batch_share_a_request(
    source: DataSource, live_world: World, model_provider: ProviderServer
) -> None:
    submissions = [Submission(path=f"{number}", title=f"{number}", text=f"Zebra {number}.") for number in range(8)]
    options = ChunkingOptions(512, 50)
    job = create_job(source=source, submissions=submissions, options=options, actor=live_world.users["editor"])
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    assert len(model_provider.requests) == 1
    rows = IngestionDocument.objects.all()
    assert {row.state for row in rows} == {IngestionDocument.State.DONE}
    assert all(set(row.timings) == {"parsing", "embedding", "indexing"} for row in rows)


def test_concurrent_writers_of_a_path_end_with_one_version(source: DataSource, model_provider: ProviderServer) -> None:
    """A writer starts again if the version whose vectors it wanted to keep was replaced."""
    parts = paragraphs(4)
    ingest_text(source, "x.md", "\n\n".join(parts), title="X")
    versions = ["\n\n".join([*parts, f"Ending {number}. " * 40]) for number in range(4)]

    def write(text: str) -> None:
        try:
            ingest_text(source, "x.md", text, title="X")
        finally:
            connection.close()

    model_provider.stall.clear()
    threads = [threading.Thread(target=write, args=(text,)) for text in versions]
    for thread in threads:
        thread.start()
    model_provider.stall.set()
    for thread in threads:
        thread.join()
    assert Document.objects.get().text in versions
    chunks_of_update = stored_chunks("x.md")
    ingest_text(source, "fresh.md", Document.objects.get(path="x.md").text, title="X")
    assert chunks_of_update == stored_chunks("fresh.md")


sections = st.lists(
    st.sampled_from(["# One\n\n" + "alpha. " * 60, "# Two\n\n" + "gamma delta. " * 45, "plain text. " * 20, "\n\n"]),
    min_size=1,
    max_size=8,
)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(versions=st.lists(sections, min_size=2, max_size=4))
def test_a_version_is_stored_as_after_a_first_ingestion(source: DataSource, versions: list[list[str]]) -> None:
    path, options = str(uuid.uuid4()), ChunkingOptions(64, 16)
    for version in versions:
        text = "\n\n".join([*version, "end"])
        paths = (path, "fresh-" + path) if version is versions[-1] else (path,)
        for document_path in paths:
            submission = Submission(path=document_path, title="T", text=text)
            prepared = parse_chunk_embed.prepare(submission, source=source, options=options, on_batch=lambda done: None)
            with transaction.atomic():
                index.index_documents({uuid7(): prepared}, source=source)
    assert stored_chunks(path) == stored_chunks("fresh-" + path)
