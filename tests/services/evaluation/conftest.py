"""Fixtures of the tests of golden questions and quality."""

from collections.abc import Iterator

import pytest

from rag.models import DataSource, EmbeddingModel
from tests.services.evaluation.helpers import ANIMALS, RandomVectorServer
from tests.support.factories import World, ingest_texts
from tests.support.servers.provider_server import ProviderServer


@pytest.fixture
def models(world: World) -> Iterator[dict[str, EmbeddingModel]]:
    """`old` and `equal` give the same vectors; `random` gives vectors that have nothing to do with the texts."""
    with ProviderServer().running() as server, RandomVectorServer().running() as random_server:
        yield {
            name: EmbeddingModel.objects.create(name=name, provider="openai", dimensions=384, base_url=base_url)
            for name, base_url in (
                ("old", server.base_url),
                ("equal", server.base_url),
                ("random", random_server.base_url),
            )
        }


@pytest.fixture
def source(world: World, models: dict[str, EmbeddingModel]) -> DataSource:
    """A source of the model `old` with a document about each animal."""
    source = world.source(embedding_model=models["old"])
    texts = {f"{animal}.txt": f"Everything about the {animal}.\nWhere the   {animal} lives." for animal in ANIMALS}
    ingest_texts(source, texts)
    return source
