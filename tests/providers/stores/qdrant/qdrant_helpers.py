"""What tests of the store in Qdrant share: what a user finds, and which points there are."""

import uuid
from typing import Any

from orgs.access.caller import Caller
from rag.models import Chunk, DataSource, EmbeddingModel
from rag.pipeline.embed_question import embed_question
from rag.providers import provider_factory
from rag.providers.stores.qdrant import collection
from rag.providers.stores.search_types import ScopeQuery
from rag.types import Mode, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World
from tests.support.servers.qdrant_server import QdrantServer


def found_by(world: World, name: str, *sources: DataSource) -> set[uuid.UUID]:
    """What a user finds of these sources by vector and by words, whatever they may query."""
    model = sources[0].embedding_model
    scope = SearchScope(tuple(source.pk for source in sources), model.pk)
    query = ScopeQuery(scope, embed_question("zebra", model=model))
    with identity.run_as(Caller(world.users[name]).database_identity):
        (candidates,) = provider_factory.chunk_store().search("zebra", [query], mode=Mode.HYBRID, limit=10)
    assert set(candidates.dense_ids) >= set(candidates.lexical_ids)
    return {candidate.chunk_id for candidate in candidates.chunks}


def chunk_of(source: DataSource) -> uuid.UUID:
    return Chunk.objects.get(source=source).pk


def points(qdrant: QdrantServer, model: EmbeddingModel) -> list[Any]:
    records, _ = qdrant.engine.scroll(collection.name(model.pk), limit=100, with_vectors=True)
    return list(records)
