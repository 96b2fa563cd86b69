"""Helpers of the tests of re-embedding."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, EmbeddingModel, Reembedding
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from rag.services.queries import permitted_queries
from rag.services.queries.source_selection import SourceSelection
from rag.services.reembedding import background, lifecycle
from rag.types import Question
from tests.support.factories import World, ingest_texts
from tests.support.servers.provider_server import ProviderServer

State = Reembedding.State
ANIMALS = ("zebra", "lion", "otter", "heron", "badger", "lynx")


@contextmanager
def remote_model(name: str, dimensions: int, server: ProviderServer | None = None) -> Iterator[EmbeddingModel]:
    with (server or ProviderServer(dimensions)).running() as running:
        yield EmbeddingModel.objects.create(
            name=name, provider="openai", dimensions=dimensions, base_url=running.base_url
        )


def filled_source(world: World, model: EmbeddingModel) -> DataSource:
    source = world.source(embedding_model=model)
    ingest_texts(source, {animal: f"Everything about the {animal} and where the {animal} lives." for animal in ANIMALS})
    return source


def vectors(model: EmbeddingModel) -> set[uuid.UUID]:
    rows = EMBEDDING_TABLES[model.dimensions].objects.filter(model=model)
    return set(rows.values_list("chunk_id", flat=True))


def chunks() -> set[uuid.UUID]:
    return set(Chunk.objects.values_list("pk", flat=True))


def search(world: World, text: str) -> list[str]:
    reader = SourceSelection(Caller(world.users["member"]))
    return [passage.path for passage in permitted_queries.retrieve(Question(text=text, top_k=3), reader).passages]


def state(row: Reembedding) -> str:
    row.refresh_from_db()
    return row.state


def rebuild(source: DataSource, model: EmbeddingModel, **options: Any) -> Reembedding:
    row = lifecycle.start(source, model, **options)
    background.advance_due()
    row.refresh_from_db()
    return row
