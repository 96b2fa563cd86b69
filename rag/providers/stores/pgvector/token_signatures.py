"""Token signatures in a table of their own, read only for the few chunks that late interaction compares."""

import uuid
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from django.db import connection

from rag.models import Chunk
from rag.models.content.pgvector_tables import ChunkTokenSignatures
from rag.providers.stores.binary_copy import copy
from rag.types.token_vectors import TokenSignatures

_TABLE = ChunkTokenSignatures._meta.db_table
_COLUMNS = {"chunk_id": "uuid", "signatures": "bytea"}
# Of a token: one bit per dimension.
_TOKEN_BYTES = 48


def read(chunk_ids: Sequence[uuid.UUID]) -> dict[uuid.UUID, TokenSignatures]:
    """Return the signatures of those of the chunks that have any, in one query.

    By COPY, because Django's cursors receive bytes as hexadecimal digits: a third of the time.
    """
    query = f"COPY (SELECT chunk_id, signatures FROM {_TABLE} WHERE chunk_id = ANY(%s)) TO STDOUT (FORMAT BINARY)"
    with connection.cursor() as cursor, cursor.copy(query, [list(chunk_ids)]) as stream:
        stream.set_types(list(_COLUMNS.values()))
        signatures = {
            chunk_id: np.frombuffer(data, np.uint8).reshape(-1, _TOKEN_BYTES) for chunk_id, data in stream.rows()
        }
    return {chunk_id: rows for chunk_id, rows in signatures.items() if len(rows)}


def insert(signatures: Iterable[tuple[uuid.UUID, TokenSignatures]]) -> None:
    """Write the signatures of chunks that the same transaction has inserted."""
    copy(_TABLE, _COLUMNS, ((chunk_id, rows.tobytes()) for chunk_id, rows in signatures))


def add_missing(signatures: Mapping[uuid.UUID, TokenSignatures]) -> int:
    """Write the signatures of existing chunks that have none; return how many.

    Skips chunks that another transaction is deleting.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_TABLE} (chunk_id, signatures) SELECT chunk.id, given.signatures "
            "FROM unnest(%s::uuid[], %s::bytea[]) AS given (id, signatures) "
            "JOIN rag_chunk AS chunk ON chunk.id = given.id "
            "FOR KEY SHARE OF chunk SKIP LOCKED ON CONFLICT DO NOTHING",
            [list(signatures), [rows.tobytes() for rows in signatures.values()]],
        )
        return int(cursor.rowcount)


def next_without(source_id: uuid.UUID, *, after: uuid.UUID, limit: int) -> tuple[list[uuid.UUID], uuid.UUID | None]:
    """Return which of the source's next chunks have no signatures, and the last one looked at: None at the end.

    Two index-only queries, however long the chunks are.
    """
    chunks = Chunk.objects.filter(source=source_id, pk__gt=after)
    ids = list(chunks.order_by("pk").values_list("pk", flat=True)[:limit])
    existing = set(ChunkTokenSignatures.objects.filter(chunk__in=ids).values_list("chunk_id", flat=True))
    return [chunk_id for chunk_id in ids if chunk_id not in existing], ids[-1] if ids else None
