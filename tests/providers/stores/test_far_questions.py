"""Questions about something that hardly any chunk is about: the index of vectors does not lead to the nearest ones."""

import uuid

import numpy as np
from django.db import connection, transaction

from orgs.access.caller import Caller
from rag.models import Document, EmbeddingModel
from rag.providers.stores.candidates import ScopeQuery
from rag.providers.stores.document_versions import DocumentVersion
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.types import ChunkDraft, Mode, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World

# More than the index looks at (hnsw.ef_search), and than it compares when a vector is added (ef_construction).
LARGE, SMALL = 1_100, 200


def write(world: World) -> tuple[SearchScope, np.ndarray]:
    """Write a large group of chunks, a small one that is farther from the question, and beside it the nearest chunk.

    Returns:
        The scope, and the question's vector.
    """
    groups = np.zeros((LARGE + SMALL + 1, 384), np.float32)
    groups[:, 3:] = np.random.default_rng(1).standard_normal((len(groups), 381)) * 0.01
    groups[:LARGE, :2] += (0.30, 0.95)
    groups[LARGE:, 2] += 0.94
    groups[-1, 0] += 0.35
    vectors = groups / np.linalg.norm(groups, axis=1, keepdims=True)
    model = EmbeddingModel.objects.default()
    source = world.source("groups", embedding_model=model)
    document = Document.objects.create(
        source=source, path="groups", title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
        chunk_count=len(groups), revision=uuid.uuid4(), source_type="doc",
    )  # fmt: skip
    drafts = [ChunkDraft(place, place, place + 1, "x", (), 1) for place in range(len(groups))]
    digests = [uuid.uuid4() for _ in drafts]
    version = DocumentVersion(document, drafts, digests, range(len(groups)), vectors.astype(np.float16), is_new=True)
    PgVectorStore(exact_limit=0).write([version], model=model)
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with unchecked rows gets no index
        cursor.execute(
            "CREATE INDEX test_hnsw ON rag_embedding384 USING hnsw (embedding halfvec_cosine_ops) "
            "WITH (m = 16, ef_construction = 128)"
        )
        cursor.execute("ANALYZE rag_embedding384")
    return SearchScope((source.pk,), model.pk), np.eye(1, 384, dtype=np.float32)[0]


def test_its_nearest_chunk_is_found(world: World) -> None:
    scope, question = write(world)
    with transaction.atomic(), identity.run_as(Caller(world.users["member"]).database_identity):
        (candidates,) = PgVectorStore(exact_limit=0).search(
            "", [ScopeQuery(scope, question)], mode=Mode.DENSE, limit=10
        )
    cosines = [round(chunk.cosine, 2) for chunk in candidates.chunks]
    assert len({chunk.chunk_id for chunk in candidates.chunks}) == 10
    assert cosines[0] > 0.32 > cosines[1]
