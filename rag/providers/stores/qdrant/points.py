"""Copies chunks to Qdrant: a document's points are compared with its chunks, and what differs is written.

A point has a digest of everything that it was made of. So copying is idempotent, and repeating it costs little.
"""

import datetime
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from django.conf import settings
from django.db import connection

from rag.models import EmbeddingModel
from rag.models.content.pgvector_tables import EMBEDDING_TABLES
from ragsite.http.bodies.json_types import JsonObject

from . import collection, token_vectors
from .client import QdrantClient

# How many points one request reads, and writes. Qdrant accepts 32 MB: a vector of 3072 dimensions has about 35 KB of
# JSON, and up to 250 token vectors have 250 KB.
_READ_BATCH, _WRITE_BATCH = 1_000, 50
# The chunks that the model's collection has, with all that a point is made of. A source's own model has chunks without
# vectors too, for searches by words.
_CHUNKS = (
    "FROM rag_chunk AS chunk "
    "JOIN rag_document AS document ON document.id = chunk.document_id AND document.deleted_at IS NULL "
    "JOIN rag_datasource AS source ON source.id = chunk.source_id "
    "LEFT JOIN rag_chunkterms AS terms ON terms.chunk_id = chunk.id "
    "LEFT JOIN {table} AS vector ON vector.chunk_id = chunk.id AND vector.model_id = %(model)s "
    # Once for each chunk, in the collection of its source's own model.
    "LEFT JOIN rag_chunktokensignatures AS tokens ON tokens.chunk_id = chunk.id "
    "AND source.embedding_model_id = %(model)s AND %(with_tokens)s "
    "WHERE (vector.chunk_id IS NOT NULL OR (terms.chunk_id IS NOT NULL AND source.embedding_model_id = %(model)s)) "
)
_DIGEST = (
    "md5(concat_ws('|', source.organization_id, chunk.source_id, document.id, document.source_type, "
    "document.content_type, document.lang, document.tags::text, extract(epoch FROM document.date), "
    "md5(halfvec_send(vector.embedding)), md5(sparsevec_send(terms.weights)), md5(tokens.signatures)))"
)
_CONTENT = (
    "source.organization_id, chunk.source_id, document.id, document.source_type, document.content_type, "
    "document.lang, document.tags, document.date, vector.embedding::real[], terms.terms, terms.weights::text, "
    "tokens.signatures"
)


class _Content(NamedTuple):
    """The columns of _CONTENT. What the chunk does not have is None; `weights` belong to `terms`."""

    organization: uuid.UUID
    source: uuid.UUID
    document: uuid.UUID
    source_type: str
    content_type: str
    lang: str
    tags: list[str]
    date: datetime.datetime | None
    embedding: list[float] | None
    terms: list[int] | None
    weights: str
    signatures: bytes | None


def copy_documents(client: QdrantClient, document_ids: Sequence[uuid.UUID], models: Iterable[EmbeddingModel]) -> int:
    """Make the documents' points equal to their chunks in the collection of each model, and return how many changed.

    The calling code keeps other processes from copying the same documents.
    """
    collections = client.collections()
    changed = 0
    for model in models:
        name = collection.name(model.pk)
        if name not in collections:
            if not _digests(model, document_ids, with_tokens=False):
                continue
            client.create_collection(name, collection.description(model), collection.INDEXES)
        with_tokens = settings.QDRANT_TOKEN_VECTORS and client.has_vector(name, collection.TOKENS)
        chunk_digests = _digests(model, document_ids, with_tokens=with_tokens)
        stored_digests = dict(read_digests(client, name, document_ids))
        outdated = [pk for pk, digest in chunk_digests.items() if stored_digests.get(pk) != digest]
        for batch in in_batches(outdated, _WRITE_BATCH):
            client.upsert(name, _points(model, batch, with_tokens=with_tokens))
        superfluous = [pk for pk in stored_digests if pk not in chunk_digests]
        for batch in in_batches(superfluous, _READ_BATCH):
            client.delete(name, batch)
        changed += len(outdated) + len(superfluous)
    return changed


def in_batches(ids: Sequence[uuid.UUID], size: int) -> Iterator[Sequence[uuid.UUID]]:
    """Yield up to `size` ids at a time."""
    return (ids[start : start + size] for start in range(0, len(ids), size))


def _digests(model: EmbeddingModel, document_ids: Sequence[uuid.UUID], *, with_tokens: bool) -> dict[uuid.UUID, str]:
    query = f"SELECT chunk.id, {_DIGEST} {_chunks(model)} AND chunk.document_id = ANY(%(ids)s)"
    with connection.cursor() as cursor:
        cursor.execute(query, {"model": model.pk, "ids": list(document_ids), "with_tokens": with_tokens})
        return dict(cursor.fetchall())


def read_digests(client: QdrantClient, name: str, document_ids: Sequence[uuid.UUID]) -> Iterator[tuple[uuid.UUID, str]]:
    """Yield the id and the digest of each point of the documents."""
    of_documents = [{"key": "document", "match": {"any": [str(pk) for pk in document_ids]}}]
    offset = None
    while True:
        page, offset = client.scroll(name, conditions=of_documents, field="digest", limit=_READ_BATCH, offset=offset)
        yield from page.items()
        if offset is None:
            return


def _points(model: EmbeddingModel, chunk_ids: Sequence[uuid.UUID], *, with_tokens: bool) -> list[JsonObject]:
    query = f"SELECT chunk.id, {_DIGEST}, {_CONTENT} {_chunks(model)} AND chunk.id = ANY(%(ids)s)"
    with connection.cursor() as cursor:
        cursor.execute(query, {"model": model.pk, "ids": list(chunk_ids), "with_tokens": with_tokens})
        return [_point(chunk_id, digest, _Content(*content)) for chunk_id, digest, *content in cursor.fetchall()]


def _point(chunk_id: uuid.UUID, digest: str, content: _Content) -> JsonObject:
    vectors: JsonObject = {}
    if content.embedding:
        vectors[collection.DENSE] = content.embedding
    if content.terms:
        # The format of a sparse vector in pgvector, {1:0.5,7:1.2}/1000000000, in the order of the terms.
        values = [float(pair.partition(":")[2]) for pair in content.weights[1 : content.weights.index("}")].split(",")]
        vectors[collection.WORDS] = {"indices": content.terms, "values": values}
    if content.signatures:
        vectors[collection.TOKENS] = token_vectors.vectors_of(content.signatures)
    payload = {
        "organization": str(content.organization),
        "source": str(content.source),
        "document": str(content.document),
        "source_type": content.source_type,
        "content_type": content.content_type,
        "lang": content.lang,
        "tags": content.tags,
        "date": content.date.isoformat() if content.date else None,
        "digest": digest,
    }
    return {"id": str(chunk_id), "vector": vectors, "payload": payload}


def _chunks(model: EmbeddingModel) -> str:
    return _CHUNKS.format(table=connection.ops.quote_name(EMBEDDING_TABLES[model.dimensions]._meta.db_table))


def delete_leftovers(client: QdrantClient, model: EmbeddingModel) -> int:
    """Delete the points of the model's collection whose chunk does not exist, and return their number."""
    name, offset, count = collection.name(model.pk), None, 0
    if name not in client.collections():
        return 0
    while True:
        page, offset = client.scroll(name, conditions=(), field="digest", limit=_READ_BATCH, offset=offset)
        with connection.cursor() as cursor:
            cursor.execute("SELECT id FROM rag_chunk WHERE id = ANY(%s)", [list(page)])
            leftovers = list(page.keys() - {pk for (pk,) in cursor.fetchall()})
        if leftovers:
            client.delete(name, leftovers)
            count += len(leftovers)
        if offset is None:
            return count
